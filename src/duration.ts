/** Milliseconds of each unit, the longest first. */
const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** Ten years. */
const LONGEST_MS = 3_650 * 86_400_000;

/**
 * Reads a length of time as people write it in settings: `90s`, `15m`, `72h`, `7d`.
 * @returns milliseconds, or undefined when the text is something else or not positive
 */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,9})\s*([smhd])$/.exec(text.trim()) ?? [];
  const [, unitMs = 0] = UNITS.find(([name]) => name === unit) ?? [];
  const ms = Number(amount) * unitMs;
  return ms > 0 && ms <= LONGEST_MS ? ms : undefined;
}

/** Writes milliseconds in the largest unit that keeps them whole: the inverse of {@link parseDuration}. */
export function formatDuration(ms: number): string {
  for (const [unit, unitMs] of UNITS) {
    if (ms >= unitMs && ms % unitMs === 0) return `${ms / unitMs}${unit}`;
  }
  return `${Math.ceil(ms / 1_000)}s`;
}
