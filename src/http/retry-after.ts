/**
 * Parses `Retry-After` (RFC 9110, section 10.2.3).
 * @returns milliseconds after `now`, without an upper limit; undefined if invalid
 */
export function parseRetryAfter(header: string | string[] | undefined, now: number): number | undefined {
  const value = (Array.isArray(header) ? header[0] : header)?.trim();
  if (value === undefined || value === '') return undefined;
  if (/^\d{1,10}$/.test(value)) return Number(value) * 1000;
  const timestamp = Date.parse(value);
  return Number.isNaN(timestamp) || /^-?\d/.test(value) ? undefined : Math.max(0, timestamp - now);
}
