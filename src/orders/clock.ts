import { HOUR_MS, MINUTE_MS } from '../lib/duration.ts';
/** The longest lease or wait, in milliseconds, except for nights. A later time was written by a wrong clock. */
export const MAX_WAIT_MS = 20 * MINUTE_MS;

/** Notifications wait for the morning: 9 hours at most, 10 when clocks are set back that night. */
export const MAX_NIGHT_WAIT_MS = 10 * HOUR_MS;

/** Whether a lease or wait is over. A time written by a wrong clock is treated as over. */
export function hasPassed(until: Date, now: Date): boolean {
  return until <= now || until.getTime() - now.getTime() > MAX_WAIT_MS;
}
