/**
 * The two clocks of the sandbox. Sessions, two-factor tokens and the request log use the real clock, like the client.
 * Domains, orders and the registry use the shifted clock, so that a demo can skip years.
 */
export interface SandboxClock {
  /** Milliseconds since the epoch, without the offset. */
  realTime(): number;
  /** The registry's time: milliseconds since the epoch, with the offset. */
  registryTime(): number;
  setOffset(ms: number): void;
}

export function createClock(now: () => number): SandboxClock {
  let offsetMs = 0;
  return {
    realTime: now,
    registryTime: () => now() + offsetMs,
    setOffset(ms) {
      if (!Number.isFinite(ms))
        throw new RangeError('the offset of the sandbox clock must be a finite number');
      offsetMs = ms;
    },
  };
}

export const MINUTE_MS = 60_000;
export const DAY_MS = 24 * 60 * MINUTE_MS;

/** 29 February becomes 28 February if the later year isn't a leap year. */
export function addYears(time: number, years: number): number {
  const date = new Date(time);
  const month = date.getUTCMonth();
  date.setUTCFullYear(date.getUTCFullYear() + years);
  if (date.getUTCMonth() !== month) date.setUTCDate(0);
  return date.getTime();
}
