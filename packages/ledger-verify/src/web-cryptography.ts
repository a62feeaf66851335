import type { Bytes } from './bytes.ts';
import type { Cryptography } from './cryptography.ts';

/** The cryptography of browsers (Web Cryptography API). */
export const webCryptography: Cryptography = {
  sha256: async (data) => new Uint8Array(await crypto.subtle.digest('SHA-256', data)),
  async verify(algorithm, spki, signature, data) {
    const { key, how, form } = WEB_ALGORITHMS[algorithm];
    const signed = form(signature);
    if (signed === undefined) return false;
    try {
      const imported = await crypto.subtle.importKey('spki', spki, key, false, ['verify']);
      return await crypto.subtle.verify(how, imported, signed, data);
    } catch (error) {
      // An old browser must not call a good signature wrong.
      if (error instanceof DOMException && error.name === 'NotSupportedError') throw error;
      return false;
    }
  },
};

const same = (signature: Bytes): Bytes | undefined => signature;
const ED25519 = { name: 'Ed25519' };
const RS256 = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
const ES256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const WEB_ALGORITHMS = {
  Ed25519: { key: ED25519, how: ED25519, form: same },
  RS256: { key: RS256, how: RS256, form: same },
  ES256: { key: ES256, how: ES256, form: rawOfDer },
};

/** An ECDSA signature as Web Cryptography wants it: r and s, 32 bytes each. @returns undefined for what is no DER of two numbers */
function rawOfDer(der: Bytes): Bytes | undefined {
  const raw = new Uint8Array(64);
  let at = 2;
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return undefined;
  for (const end of [32, 64]) {
    const size = der[at + 1] ?? 0;
    const number = der.subarray(at + 2, at + 2 + size);
    const digits = number[0] === 0 ? number.subarray(1) : number;
    if (der[at] !== 2 || number.length !== size || size === 0 || digits.length > 32) return undefined;
    raw.set(digits, end - digits.length);
    at += 2 + size;
  }
  return at === der.length ? raw : undefined;
}
