import { DAY_MS, MINUTE_MS } from '../../lib/duration.ts';

const QUIET_FROM_HOUR = 22;
const QUIET_UNTIL_HOUR = 7;
/** The offset of every time zone is a multiple of a quarter of an hour. */
const STEP_MS = 15 * MINUTE_MS;

/**
 * Finds the end of quiet hours, at 7:00 in the person's time zone.
 * @param firstExpiry earliest expiry of the names; if it is tomorrow or earlier, the message doesn't wait
 * @returns undefined if the message doesn't wait or the time zone isn't known
 */
export function findQuietEnd(now: Date, timeZone: string | undefined, firstExpiry?: Date): Date | undefined {
  const clock = timeZone === undefined ? undefined : createLocalClock(timeZone);
  if (clock === undefined || !isNight(clock(now).hour)) return undefined;
  if (firstExpiry !== undefined && clock(firstExpiry).day <= clock(new Date(now.getTime() + DAY_MS)).day)
    return undefined;
  let endMs = Math.ceil(now.getTime() / STEP_MS) * STEP_MS;
  while (isNight(clock(new Date(endMs)).hour)) endMs += STEP_MS;
  return new Date(endMs);
}

function isNight(hour: number): boolean {
  return hour >= QUIET_FROM_HOUR || hour < QUIET_UNTIL_HOUR;
}

/** @returns a function that returns the day (YYYY-MM-DD) and hour of a time, if the time zone is known */
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
