import { createHash } from 'node:crypto';

/**
 * Formats canonical JSON (RFC 8785). Omits undefined members.
 * @throws {TypeError} for values that JSON can't represent, such as invalid Unicode
 */
export function formatCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatCanonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => `${formatCanonicalJson(name)}:${formatCanonicalJson(member)}`);
    return `{${members.join(',')}}`;
  }
  const isJson =
    value === null ||
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value)) ||
    (typeof value === 'string' && !/\p{Surrogate}/u.test(value));
  if (!isJson) throw new TypeError('canonical JSON: unsupported value');
  return JSON.stringify(value);
}

/** SHA-256 (hex) of the canonical JSON. */
export function hashJson(value: unknown): string {
  return createHash('sha256').update(formatCanonicalJson(value)).digest('hex');
}
