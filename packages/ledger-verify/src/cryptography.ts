import type { Bytes } from './bytes.ts';

export type HashName = 'SHA-1' | 'SHA-256' | 'SHA-384' | 'SHA-512';

/** How something was signed, by the names of the Web Cryptography API. */
export type SignatureAlgorithm =
  | { readonly name: 'Ed25519' }
  | { readonly name: 'RSASSA-PKCS1-v1_5'; readonly hash: HashName }
  | { readonly name: 'RSA-PSS'; readonly hash: HashName; readonly saltLength: number }
  | { readonly name: 'ECDSA'; readonly hash: HashName; readonly namedCurve: 'P-256' | 'P-384' };

/** What is used of cryptography: Node has it (`node-cryptography.ts`), and every browser (`web-cryptography.ts`). */
export interface Cryptography {
  sha256(data: Bytes): Bytes | Promise<Bytes>;
  digest(hash: HashName, data: Bytes): Bytes | Promise<Bytes>;
  /**
   * @param spki the public key, DER
   * @param signature of ECDSA in DER, as WebAuthn and certificates have it
   * @returns false too for a key that is not of the algorithm
   */
  verify(
    algorithm: SignatureAlgorithm,
    spki: Bytes,
    signature: Bytes,
    data: Bytes,
  ): boolean | Promise<boolean>;
}
