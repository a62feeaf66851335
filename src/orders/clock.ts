import { HOUR_MS, MINUTE_MS } from '../lib/duration.ts';
/**
 * No lease, and no wait of the bot but that for people's morning, reaches further ahead than this, in milliseconds. A later
 * moment was written by a clock that has been put back since.
 */
export const FARTHEST_MS = 20 * MINUTE_MS;

/** People who sleep are told in the morning: 9 hours later at most, 10 where clocks are put back in that night. */
export const LONGEST_NIGHT_MS = 10 * HOUR_MS;

/** Whether a lease or a wait is over. A moment that a wrong clock has written counts as over. */
export function isOver(until: Date, now: Date): boolean {
  return until <= now || until.getTime() - now.getTime() > FARTHEST_MS;
}
