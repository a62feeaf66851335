import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign as signWith,
  verify as verifyWith,
} from 'node:crypto';
import { Secret } from '../service/secret.ts';
import { sha256 } from './tree.ts';

export interface LedgerKey {
  /** `SHA256:` and the unpadded base64url hash of the SPKI. */
  readonly fingerprint: string;
  /** SPKI in base64. */
  readonly publicKey: string;
  /** @returns an Ed25519 signature in base64 */
  sign(text: string): string;
  verify(text: string, signature: string): boolean;
}

/** @param pkcs8 in base64 @throws if it isn't an Ed25519 key */
export function parseLedgerKey(pkcs8: Secret): LedgerKey {
  const privateKey = createPrivateKey({
    key: Buffer.from(pkcs8.reveal(), 'base64'),
    format: 'der',
    type: 'pkcs8',
  });
  if (privateKey.asymmetricKeyType !== 'ed25519') throw new Error('the ledger’s key isn’t an Ed25519 key');
  const publicKey = createPublicKey(privateKey);
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  return {
    fingerprint: `SHA256:${Buffer.from(sha256(spki)).toString('base64url')}`,
    publicKey: spki.toString('base64'),
    sign: (text) => signWith(null, Buffer.from(text), privateKey).toString('base64'),
    verify: (text, signature) =>
      verifyWith(null, Buffer.from(text), publicKey, Buffer.from(signature, 'base64')),
  };
}

/** @returns a new private key as PKCS #8 in base64 */
export function createLedgerKey(): Secret {
  const { privateKey } = generateKeyPairSync('ed25519');
  return new Secret(privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'));
}
