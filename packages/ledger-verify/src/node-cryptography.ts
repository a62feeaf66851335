import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { Cryptography, SignatureAlgorithm } from './cryptography.ts';

function isKeyFor(algorithm: SignatureAlgorithm, key: KeyObject): boolean {
  switch (algorithm.name) {
    case 'Ed25519':
      return key.asymmetricKeyType === 'ed25519';
    case 'ECDSA':
      return key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
    case 'RSASSA-PKCS1-v1_5':
      return key.asymmetricKeyType === 'rsa';
  }
}

export const nodeCryptography: Cryptography = {
  sha256: (data) => new Uint8Array(createHash('sha256').update(data).digest()),
  verify(algorithm, spki, signature, data) {
    try {
      const key = createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
      const hash = algorithm.name === 'Ed25519' ? null : 'sha256';
      return isKeyFor(algorithm, key) && verify(hash, data, key, signature);
    } catch {
      return false;
    }
  },
};
