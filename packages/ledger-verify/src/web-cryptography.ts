import type { Bytes } from './bytes.ts';
import type { Cryptography, HashName } from './cryptography.ts';

const digest = async (hash: HashName, data: Bytes): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.digest(hash, data));

/** The cryptography of browsers (Web Cryptography API). */
export const webCryptography: Cryptography = {
  digest,
  sha256: (data) => digest('SHA-256', data),
  async verify(algorithm, spki, signature, data) {
    const signed =
      algorithm.name === 'ECDSA' ? rawOfDer(signature, NUMBER_BYTES[algorithm.namedCurve]) : signature;
    if (signed === undefined) return false;
    try {
      const imported = await crypto.subtle.importKey('spki', spki, algorithm, false, ['verify']);
      return await crypto.subtle.verify(algorithm, imported, signed, data);
    } catch (error) {
      // An old browser must not call a good signature wrong.
      if (error instanceof DOMException && error.name === 'NotSupportedError') throw error;
      return false;
    }
  },
};

const NUMBER_BYTES = { 'P-256': 32, 'P-384': 48 };

/**
 * An ECDSA signature as Web Cryptography wants it: r and s, so many bytes each.
 * @returns undefined for what is no DER of two numbers
 */
function rawOfDer(der: Bytes, bytes: number): Bytes | undefined {
  const raw = new Uint8Array(2 * bytes);
  let at = 2;
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return undefined;
  for (const end of [bytes, 2 * bytes]) {
    const size = der[at + 1] ?? 0;
    const number = der.subarray(at + 2, at + 2 + size);
    const digits = number[0] === 0 ? number.subarray(1) : number;
    if (der[at] !== 2 || number.length !== size || size === 0 || digits.length > bytes) return undefined;
    raw.set(digits, end - digits.length);
    at += 2 + size;
  }
  return at === der.length ? raw : undefined;
}
