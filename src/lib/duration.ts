export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const WEEK_MS = 7 * DAY_MS;

const UNITS = [
  ['d', DAY_MS],
  ['h', HOUR_MS],
  ['m', MINUTE_MS],
  ['s', SECOND_MS],
] as const;

const MAX_DURATION_MS = 3_650 * DAY_MS;

/** Parses `90s`, `15m`, `72h` or `7d`. @returns milliseconds; undefined if malformed or not positive */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,9})\s*([smhd])$/.exec(text.trim()) ?? [];
  const [, unitMs = 0] = UNITS.find(([name]) => name === unit) ?? [];
  const ms = Number(amount) * unitMs;
  return ms > 0 && ms <= MAX_DURATION_MS ? ms : undefined;
}

/** The inverse of {@link parseDuration}, in the largest unit that leaves no remainder. */
export function formatDuration(ms: number): string {
  for (const [unit, unitMs] of UNITS) {
    if (ms >= unitMs && ms % unitMs === 0) return `${ms / unitMs}${unit}`;
  }
  return `${Math.ceil(ms / SECOND_MS)}s`;
}
