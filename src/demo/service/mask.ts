/** What the request log may show: everything but secrets. */

export const MASK = '[secret]';

const SECRET_KEYS = new Set(['password', 'auth', 'token', 'hash', 'authinfo', 'totpsecret']);
const SECRET_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie', 'x-service-sessionid']);

/** A parsed JSON body with the values of secret keys replaced. */
export function maskJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskJson);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    SECRET_KEYS.has(key.toLowerCase()) ? MASK : maskJson(inner),
  ]);
  return Object.fromEntries(entries);
}

/** XML text with the contents of secret elements replaced. */
export function maskXml(text: string): string {
  return text.replace(/<(password|token|hash)(\s[^>]*)?>[\s\S]*?<\/\1\s*>/gi, (_, name: string) => {
    return `<${name}>${MASK}</${name}>`;
  });
}

/** Headers with the secret ones replaced. */
export function maskHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    SECRET_HEADERS.has(name) ? MASK : Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ]);
  return Object.fromEntries(entries);
}
