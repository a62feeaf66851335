export const MASK = '[secret]';

const SECRET_NAMES = new Set(['password', 'auth', 'token', 'hash', 'authinfo', 'totpsecret']);
const SECRET_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie', 'x-service-sessionid']);

export function maskJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskJson);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    isSecretName(key) ? MASK : maskJson(inner),
  ]);
  return Object.fromEntries(entries);
}

/** Whether the log masks the value of this JSON key or XML element. */
export function isSecretName(name: string): boolean {
  return SECRET_NAMES.has(name.toLowerCase());
}

export function maskHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    SECRET_HEADERS.has(name) ? MASK : Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ]);
  return Object.fromEntries(entries);
}
