import type { Bytes } from './bytes.ts';

/** Signature algorithms, named as in the Web Cryptography API. */
export type SignatureAlgorithm =
  | { readonly name: 'Ed25519' }
  | { readonly name: 'RSASSA-PKCS1-v1_5'; readonly hash: 'SHA-256' }
  | { readonly name: 'ECDSA'; readonly hash: 'SHA-256'; readonly namedCurve: 'P-256' };

export interface Cryptography {
  sha256(data: Bytes): Bytes | Promise<Bytes>;
  /**
   * @param spki the DER-encoded public key
   * @param signature in DER for ECDSA, as in WebAuthn
   * @returns false if the signature is invalid, or the key is for another algorithm
   */
  verify(
    algorithm: SignatureAlgorithm,
    spki: Bytes,
    signature: Bytes,
    data: Bytes,
  ): boolean | Promise<boolean>;
}
