import { constants, createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { Bytes } from './bytes.ts';
import type { Cryptography, HashName, SignatureAlgorithm } from './cryptography.ts';

const CURVES = { 'P-256': 'prime256v1', 'P-384': 'secp384r1' };

function isOf(algorithm: SignatureAlgorithm, key: KeyObject): boolean {
  switch (algorithm.name) {
    case 'Ed25519':
      return key.asymmetricKeyType === 'ed25519';
    case 'ECDSA':
      return (
        key.asymmetricKeyType === 'ec' &&
        key.asymmetricKeyDetails?.namedCurve === CURVES[algorithm.namedCurve]
      );
    case 'RSASSA-PKCS1-v1_5':
    case 'RSA-PSS':
      return key.asymmetricKeyType === 'rsa';
  }
}

const digest = (hash: HashName, data: Bytes): Bytes =>
  new Uint8Array(createHash(hash.replace('-', '')).update(data).digest());

/** Node's own cryptography. */
export const nodeCryptography: Cryptography = {
  digest,
  sha256: (data) => digest('SHA-256', data),
  verify(algorithm, spki, signature, data) {
    try {
      const key = createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
      const hash = algorithm.name === 'Ed25519' ? null : algorithm.hash.replace('-', '');
      const padded =
        algorithm.name === 'RSA-PSS'
          ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: algorithm.saltLength }
          : key;
      return isOf(algorithm, key) && verify(hash, data, padded, signature);
    } catch {
      return false;
    }
  },
};
