import cronParser from 'cron-parser';

/**
 * The latest time of a schedule that is not later than now.
 *
 * @param cron five fields.
 * @param timeZone IANA name; a time that a change of clocks leaves out is the first one after it.
 * @throws Error when the line cannot be read.
 */
export function lastScheduled(cron: string, timeZone: string, now: Date): Date {
  const second = new Date(now.getTime() + 1_000);
  const times = cronParser.parseExpression(cron, { currentDate: second, tz: timeZone });
  const latest = times.prev().toDate();
  return latest <= now ? latest : times.prev().toDate();
}
