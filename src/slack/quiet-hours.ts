/*
 * When a person is left alone: at night of their own time zone. Pure.
 */

const QUIET_FROM_HOUR = 22;
const QUIET_UNTIL_HOUR = 7;
/** Every time zone’s hours begin at a whole quarter of an hour. */
const STEP_MS = 15 * 60_000;
const DAY_MS = 86_400_000;

/**
 * Until when a message to a person waits: 7:00 of their time zone, where it is night there.
 * @param firstExpiry when the first name that it is about expires: tomorrow, or before, is too soon to wait
 * @returns undefined when nothing is to wait, or the time zone is none that this runtime knows
 */
export function quietUntil(now: Date, timeZone: string | undefined, firstExpiry?: Date): Date | undefined {
  const clock = timeZone === undefined ? undefined : clockOf(timeZone);
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

/** Tells the calendar day (YYYY-MM-DD) and the hour of a moment. */
function clockOf(
  timeZone: string,
): ((at: Date) => { readonly day: string; readonly hour: number }) | undefined {
  try {
    const day = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' });
    const hour = new Intl.DateTimeFormat('en', { timeZone, hour: 'numeric', hourCycle: 'h23' });
    return (at) => ({ day: day.format(at), hour: Number(hour.format(at)) });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
