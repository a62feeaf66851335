import { DAY_MS, MINUTE_MS } from '../../lib/duration.ts';

const QUIET_FROM_HOUR = 22;
const QUIET_UNTIL_HOUR = 7;
/** Every time zone's offset is a multiple of 15 minutes. */
const STEP_MS = 15 * MINUTE_MS;

/**
 * Finds the end of quiet hours, at 7:00 in the person's time zone.
 * @returns undefined if it isn't night, if a name expires by tomorrow, or if the time zone isn't known
 */
export function findQuietHoursEnd(
  now: Date,
  timeZone: string | undefined,
  earliestExpiry?: Date,
): Date | undefined {
  const clock = timeZone === undefined ? undefined : createLocalClock(timeZone);
  if (clock === undefined || !isNight(clock(now).hour)) return undefined;
  if (
    earliestExpiry !== undefined &&
    clock(earliestExpiry).day <= clock(new Date(now.getTime() + DAY_MS)).day
  )
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
