import type { Bytes } from './bytes.ts';

/** How something was signed, by the names of the Web Cryptography API. */
export type SignatureAlgorithm =
  | { readonly name: 'Ed25519' }
  | { readonly name: 'RSASSA-PKCS1-v1_5'; readonly hash: 'SHA-256' }
  | { readonly name: 'ECDSA'; readonly hash: 'SHA-256'; readonly namedCurve: 'P-256' };

export interface Cryptography {
  sha256(data: Bytes): Bytes | Promise<Bytes>;
  /**
   * @param spki the public key, DER
   * @param signature of ECDSA in DER, as WebAuthn has it
   * @returns false too for a key that is not of the algorithm
   */
  verify(
    algorithm: SignatureAlgorithm,
    spki: Bytes,
    signature: Bytes,
    data: Bytes,
  ): boolean | Promise<boolean>;
}
