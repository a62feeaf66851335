import type { Bytes } from './bytes.ts';

/** How something was signed. */
export type SignatureAlgorithm = 'Ed25519' | 'ES256' | 'RS256';

/** What is used of cryptography: Node has it (`node-cryptography.ts`), and every browser (`web-cryptography.ts`). */
export interface Cryptography {
  sha256(data: Bytes): Bytes | Promise<Bytes>;
  /**
   * @param spki the public key, DER
   * @param signature of ES256 in DER, as WebAuthn has it
   * @returns false too for a key that is not of the algorithm
   */
  verify(
    algorithm: SignatureAlgorithm,
    spki: Bytes,
    signature: Bytes,
    data: Bytes,
  ): boolean | Promise<boolean>;
}
