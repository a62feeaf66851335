import { CronExpressionParser } from 'cron-parser';
import { calendarDay } from '../zones/calendar-day.ts';

/**
 * The latest time of a schedule that is not later than now.
 * @param cron five fields.
 * @param timeZone IANA name; a time that a change of clocks leaves out is the first one after it.
 * @throws Error when the line cannot be read.
 */
export function lastScheduled(cron: string, timeZone: string, now: Date): Date {
  const second = new Date(now.getTime() + 1_000);
  const times = CronExpressionParser.parse(cron, { currentDate: second, tz: timeZone });
  const latest = times.prev().toDate();
  return latest <= now ? latest : times.prev().toDate();
}

/**
 * The day (YYYY-MM-DD) of the latest time of a schedule, where that was in the month of now.
 * @returns undefined when nothing was scheduled in this month yet
 */
export function lastScheduledThisMonth(cron: string, timeZone: string, now: Date): string | undefined {
  const day = calendarDay(lastScheduled(cron, timeZone, now), timeZone);
  return day.slice(0, 7) === calendarDay(now, timeZone).slice(0, 7) ? day : undefined;
}
