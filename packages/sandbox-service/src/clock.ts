/**
 * The sandbox's two clocks. Sessions, two-factor tokens and the request log use the real one, like the client. Domains,
 * orders and the registry use the shifted one, so that a demo can skip years.
 */
export interface SandboxClock {
  /** Milliseconds since the epoch, not shifted. */
  real(): number;
  /** Milliseconds since the epoch as the registry sees them: real time and the offset. */
  registry(): number;
  readonly offset: number;
  /** Sets the registry's absolute offset from real time. */
  setOffset(ms: number): void;
}

export function createClock(now: () => number): SandboxClock {
  let offset = 0;
  return {
    real: now,
    registry: () => now() + offset,
    get offset() {
      return offset;
    },
    setOffset(ms) {
      if (!Number.isFinite(ms)) throw new RangeError('setting the sandbox clock: the offset is not a number');
      offset = ms;
    },
  };
}

export const MINUTE = 60_000;
export const DAY = 24 * 60 * MINUTE;

/** The same day and time `years` later; 29 February becomes 28 February in a year without one. */
export function addYears(time: number, years: number): number {
  const date = new Date(time);
  const month = date.getUTCMonth();
  date.setUTCFullYear(date.getUTCFullYear() + years);
  if (date.getUTCMonth() !== month) date.setUTCDate(0);
  return date.getTime();
}
