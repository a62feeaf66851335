const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * Reads a length of time as people write it in settings: `90s`, `15m`, `72h`, `7d`.
 * @returns milliseconds, or undefined when the text is something else or not positive
 */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9})\s*([smhd])$/.exec(text.trim());
  if (match === null) return undefined;
  const [, amount, unit] = match;
  const ms = Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS];
  return ms > 0 && ms <= 3_650 * UNIT_MS.d ? ms : undefined;
}

/** Writes milliseconds in the largest unit that keeps them whole: the inverse of {@link parseDuration}. */
export function formatDuration(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    if (ms >= UNIT_MS[unit] && ms % UNIT_MS[unit] === 0) return `${ms / UNIT_MS[unit]}${unit}`;
  }
  return `${Math.ceil(ms / 1_000)}s`;
}
