import { CronExpressionParser } from 'cron-parser';
import { MINUTE_MS } from '../lib/duration.ts';
import { calendarDay, firstMomentOf, latestTimeShown } from '../zones/calendar-day.ts';

/**
 * The latest time of a schedule that is not later than now.
 * @param cron five fields.
 * @param timeZone IANA name; a time that a clock change skips is the first moment after it, one that occurs twice counts
 *   once.
 * @throws Error when the line cannot be read.
 */
export function lastScheduled(cron: string, timeZone: string, now: Date): Date {
  // The fields say what clocks show. As UTC these times are neither skipped nor repeated; the library gets clock changes wrong.
  const after = new Date(latestTimeShown(now, timeZone).getTime() + MINUTE_MS);
  const times = CronExpressionParser.parse(cron, { currentDate: after, tz: 'UTC' });
  for (;;) {
    const at = firstMomentOf(times.prev().toDate(), timeZone);
    if (at <= now) return at;
  }
}

/**
 * The day (YYYY-MM-DD) of the latest time of a schedule, where that was in the month of now.
 * @returns undefined when nothing was scheduled in this month yet
 */
export function lastScheduledThisMonth(cron: string, timeZone: string, now: Date): string | undefined {
  const day = calendarDay(lastScheduled(cron, timeZone, now), timeZone);
  return day.slice(0, 7) === calendarDay(now, timeZone).slice(0, 7) ? day : undefined;
}
