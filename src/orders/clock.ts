import { HOUR_MS, MINUTE_MS } from '../lib/duration.ts';

/** The longest lease or wait, except overnight waits. A time further ahead was written by a wrong clock. */
export const MAX_WAIT_MS = 20 * MINUTE_MS;

/** How long a notification may wait until morning: 9 hours, or 10 on the night when clocks are set back. */
export const MAX_NIGHT_WAIT_MS = 10 * HOUR_MS;

/** Whether a lease or wait is over. A time written by a wrong clock is treated as over. */
export function hasPassed(until: Date, now: Date): boolean {
  return until <= now || until.getTime() - now.getTime() > MAX_WAIT_MS;
}
