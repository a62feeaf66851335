import { DAY_MS, MINUTE_MS } from '../../lib/duration.ts';

/* Quiet hours: the night in a person's own time zone. */

const QUIET_FROM_HOUR = 22;
const QUIET_UNTIL_HOUR = 7;
/** The offset of every time zone is a multiple of a quarter of an hour. */
const STEP_MS = 15 * MINUTE_MS;

/**
 * The end of quiet hours, at 7:00 in the person's time zone.
 * @param firstExpiry earliest expiry of the names; if it is by tomorrow, the message doesn't wait
 * @returns undefined if the message doesn't wait or the time zone isn't known
 */
export function findQuietEnd(now: Date, timeZone: string | undefined, firstExpiry?: Date): Date | undefined {
  const clock = timeZone === undefined ? undefined : createLocalClock(timeZone);
  if (clock === undefined || !isNight(clock(now).hour)) return undefined;
  if (firstExpiry !== undefined && clock(firstExpiry).day <= clock(new Date(now.getTime() + DAY_MS)).day)
    return undefined;
  let moment = Math.ceil(now.getTime() / STEP_MS) * STEP_MS;
  while (isNight(clock(new Date(moment)).hour)) moment += STEP_MS;
  return new Date(moment);
}

function isNight(hour: number): boolean {
  return hour >= QUIET_FROM_HOUR || hour < QUIET_UNTIL_HOUR;
}

/** Returns the calendar day (YYYY-MM-DD) and the hour of a time. Undefined if the time zone is unknown. */
function createLocalClock(
  timeZone: string,
): ((time: Date) => { readonly day: string; readonly hour: number }) | undefined {
  try {
    const day = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' });
    const hour = new Intl.DateTimeFormat('en', { timeZone, hour: 'numeric', hourCycle: 'h23' });
    return (time) => ({ day: day.format(time), hour: Number(hour.format(time)) });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
