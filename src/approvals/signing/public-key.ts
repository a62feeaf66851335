import { createHash, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';

/**
 * Converts the public keys of passkeys between SPKI in DER (the stored format) and COSE (RFC 9052), which WebAuthn
 * uses.
 */

/** `SHA256:`, followed by the base64url hash of the SPKI. */
export type Fingerprint = `SHA256:${string}`;

export const FINGERPRINT_PATTERN = /^SHA256:[A-Za-z0-9_-]{43}$/;

/** @param spki in unpadded base64url */
export function computeFingerprint(spki: string): Fingerprint {
  return `SHA256:${createHash('sha256').update(Buffer.from(spki, 'base64url')).digest('base64url')}`;
}

/** COSE labels and values for ES256, EdDSA with Ed25519, and RS256 keys (RFC 9053, RFC 8230). */
const COSE = {
  kty: 1,
  alg: 3,
  okp: { kty: 1, alg: -8, crv: 6 },
  ec: { kty: 2, alg: -7, crv: 1 },
  rsa: { kty: 3, alg: -257 },
} as const;

export const ACCEPTED_ALGORITHMS: readonly number[] = [COSE.ec.alg, COSE.okp.alg, COSE.rsa.alg];

/** Converts to SPKI in unpadded base64url. @throws if the algorithm isn't in {@link ACCEPTED_ALGORITHMS} */
export function coseToSpki(cose: Uint8Array): string {
  const key = isoCBOR.decodeFirst<ReadonlyMap<number, unknown>>(Uint8Array.from(cose));
  const readBase64url = (label: number) => {
    const value = key.get(label);
    if (!(value instanceof Uint8Array)) throw new TypeError('COSE key parameter is missing');
    return Buffer.from(value).toString('base64url');
  };
  const toJwk = (): JsonWebKey => {
    switch (key.get(COSE.kty)) {
      case COSE.ec.kty:
        return { kty: 'EC', crv: 'P-256', x: readBase64url(-2), y: readBase64url(-3) };
      case COSE.okp.kty:
        return { kty: 'OKP', crv: 'Ed25519', x: readBase64url(-2) };
      default:
        return { kty: 'RSA', n: readBase64url(-1), e: readBase64url(-2) };
    }
  };
  if (!ACCEPTED_ALGORITHMS.includes(Number(key.get(COSE.alg))))
    throw new TypeError('unsupported COSE algorithm');
  return createPublicKey({ key: toJwk(), format: 'jwk' })
    .export({ format: 'der', type: 'spki' })
    .toString('base64url');
}

/** @throws for unsupported key types */
export function spkiToCose(spki: string): Uint8Array<ArrayBuffer> {
  const key = createPublicKey({ key: Buffer.from(spki, 'base64url'), format: 'der', type: 'spki' });
  return isoCBOR.encode(toCoseMap(key));
}

function toCoseMap(key: KeyObject): Map<number, number | Uint8Array> {
  const { kty, crv, x, y, n, e } = key.export({ format: 'jwk' });
  const decodeBase64url = (text: string | undefined) => new Uint8Array(Buffer.from(text ?? '', 'base64url'));
  if (crv === 'P-256')
    return new Map<number, number | Uint8Array>([
      [COSE.kty, COSE.ec.kty],
      [COSE.alg, COSE.ec.alg],
      [-1, COSE.ec.crv],
      [-2, decodeBase64url(x)],
      [-3, decodeBase64url(y)],
    ]);
  if (crv === 'Ed25519')
    return new Map<number, number | Uint8Array>([
      [COSE.kty, COSE.okp.kty],
      [COSE.alg, COSE.okp.alg],
      [-1, COSE.okp.crv],
      [-2, decodeBase64url(x)],
    ]);
  if (kty === 'RSA')
    return new Map<number, number | Uint8Array>([
      [COSE.kty, COSE.rsa.kty],
      [COSE.alg, COSE.rsa.alg],
      [-1, decodeBase64url(n)],
      [-2, decodeBase64url(e)],
    ]);
  throw new TypeError('unsupported public key type');
}
