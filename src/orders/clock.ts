/**
 * No lease and no wait of the bot reaches further ahead than this, in milliseconds. What stands further ahead was
 * noted by a clock that has been put back since.
 */
export const FARTHEST_MS = 20 * 60_000;

/** Whether a lease or a wait has come to its end; one that a wrong clock has noted counts as over. */
export function isOver(until: Date, now: Date): boolean {
  return until <= now || until.getTime() - now.getTime() > FARTHEST_MS;
}
