const FIRST_YEAR = 1985;
const LAST_YEAR = 2200;
const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/i;

/**
 * Reads a time as RFC 3339 writes it, and nothing else: no day that a month does not have, no time without its
 * offset, no year that a registration cannot have.
 */
export function readRfc3339(value: unknown): Date | undefined {
  const parts = typeof value === 'string' ? RFC3339.exec(value.trim()) : null;
  if (!parts) return undefined;
  const [, year = '', month = '', day = '', hour = '', minute = '', second = '', , offset = ''] = parts;
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  const dayExists = !Number.isNaN(date.getTime()) && date.getUTCDate() === Number(day);
  const yearPlausible = Number(year) >= FIRST_YEAR && Number(year) <= LAST_YEAR;
  const offsetHours = offset.toUpperCase() === 'Z' ? 0 : Number(offset.slice(1, 3));
  const offsetMinutes = offset.toUpperCase() === 'Z' ? 0 : Number(offset.slice(4, 6));
  if (!dayExists || !yearPlausible || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) {
    return undefined;
  }
  if (offsetHours > 23 || offsetMinutes > 59) return undefined;
  const sign = offset.startsWith('-') ? -1 : 1;
  const minutes = Number(hour) * 60 + Number(minute) - sign * (offsetHours * 60 + offsetMinutes);
  return new Date(date.getTime() + minutes * 60_000 + Math.min(Number(second), 59) * 1000);
}
