import { CronExpressionParser } from 'cron-parser';
import { MINUTE_MS } from '../lib/duration.ts';
import {
  formatCalendarDay,
  getLatestLocalTime,
  resolveLocalTime,
  toLocalTime,
} from '../zones/calendar-day.ts';

/**
 * Returns the latest scheduled time up to now. A local time that a clock change skips counts as the first
 * valid time after the change. A local time that occurs twice counts only once, as its first occurrence.
 * @param cron five fields
 * @param timeZone IANA name
 * @throws Error for an invalid expression
 */
export function findLastScheduledTime(cron: string, timeZone: string, now: Date): Date {
  // Local times are passed as if they were UTC, because the library mishandles clock changes.
  const currentDate = new Date(getLatestLocalTime(now, timeZone).getTime() + MINUTE_MS);
  const times = CronExpressionParser.parse(cron, { currentDate, tz: 'UTC' });
  for (;;) {
    const time = resolveLocalTime(times.prev().toDate(), timeZone);
    if (time <= now) return time;
  }
}

export function findNextScheduledTime(cron: string, timeZone: string, after: Date): Date {
  const times = CronExpressionParser.parse(cron, { currentDate: toLocalTime(after, timeZone), tz: 'UTC' });
  for (;;) {
    const time = resolveLocalTime(times.next().toDate(), timeZone);
    if (time > after) return time;
  }
}

/** @returns the day as YYYY-MM-DD; undefined if nothing was scheduled this month yet */
export function findLastScheduledDayThisMonth(cron: string, timeZone: string, now: Date): string | undefined {
  const day = formatCalendarDay(findLastScheduledTime(cron, timeZone, now), timeZone);
  return day.slice(0, 7) === formatCalendarDay(now, timeZone).slice(0, 7) ? day : undefined;
}
