import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { Cryptography, SignatureAlgorithm } from './cryptography.ts';

function isOf(algorithm: SignatureAlgorithm, key: KeyObject): boolean {
  switch (algorithm) {
    case 'Ed25519':
      return key.asymmetricKeyType === 'ed25519';
    case 'ES256':
      return key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
    case 'RS256':
      return key.asymmetricKeyType === 'rsa';
  }
}

/** Node's own cryptography. */
export const nodeCryptography: Cryptography = {
  sha256: (data) => new Uint8Array(createHash('sha256').update(data).digest()),
  verify(algorithm, spki, signature, data) {
    try {
      const key = createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
      return isOf(algorithm, key) && verify(algorithm === 'Ed25519' ? null : 'sha256', data, key, signature);
    } catch {
      return false;
    }
  },
};
