/**
 * The two clocks of the sandbox. Sessions, two-factor tokens and the request log use the real clock, like the client.
 * Domains, orders and the registry use the shifted clock, so that a demo can skip years.
 */
export interface SandboxClock {
  /** Milliseconds since the epoch, without the offset. */
  real(): number;
  /** The registry's time: milliseconds since the epoch, with the offset. */
  registry(): number;
  readonly offset: number;
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

/** The same day and time `years` later. 29 February becomes 28 February if necessary. */
export function addYears(time: number, years: number): number {
  const date = new Date(time);
  const month = date.getUTCMonth();
  date.setUTCFullYear(date.getUTCFullYear() + years);
  if (date.getUTCMonth() !== month) date.setUTCDate(0);
  return date.getTime();
}
