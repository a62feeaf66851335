import { CronExpressionParser } from 'cron-parser';
import { MINUTE_MS } from '../lib/duration.ts';
import {
  formatCalendarDay,
  getLatestLocalTime,
  resolveLocalTime,
  toLocalTime,
} from '../zones/calendar-day.ts';

/**
 * The latest scheduled time up to now. If a clock change skips a local time, the first valid time after it counts. If a
 * local time occurs twice, only the first counts.
 * @param cron five fields
 * @param timeZone IANA name
 * @throws Error for an invalid expression
 */
export function lastScheduled(cron: string, timeZone: string, now: Date): Date {
  // Fields are local times, but are passed as UTC, so that none is skipped or repeated: the library mishandles clock
  // changes.
  const after = new Date(getLatestLocalTime(now, timeZone).getTime() + MINUTE_MS);
  const times = CronExpressionParser.parse(cron, { currentDate: after, tz: 'UTC' });
  for (;;) {
    const at = resolveLocalTime(times.prev().toDate(), timeZone);
    if (at <= now) return at;
  }
}

export function nextScheduled(cron: string, timeZone: string, after: Date): Date {
  const times = CronExpressionParser.parse(cron, { currentDate: toLocalTime(after, timeZone), tz: 'UTC' });
  for (;;) {
    const at = resolveLocalTime(times.next().toDate(), timeZone);
    if (at > after) return at;
  }
}

/**
 * The day (YYYY-MM-DD) of the latest scheduled time in this month.
 * @returns undefined if nothing was scheduled this month yet
 */
export function lastScheduledThisMonth(cron: string, timeZone: string, now: Date): string | undefined {
  const day = formatCalendarDay(lastScheduled(cron, timeZone, now), timeZone);
  return day.slice(0, 7) === formatCalendarDay(now, timeZone).slice(0, 7) ? day : undefined;
}
