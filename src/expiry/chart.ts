import { formatCalendarDay } from '../zones/calendar-day.ts';

export interface MonthCount {
  readonly month: string;
  /** Such as `Mar 2027`. */
  readonly label: string;
  readonly count: number;
}

const MONTHS_IN_CHART = 12;
const monthFormat = new Intl.DateTimeFormat('en-US', { month: 'short', year: 'numeric', timeZone: 'UTC' });

/** @param month YYYY-MM */
export function formatShortMonth(month: string): string {
  return monthFormat.format(new Date(`${month}-01T00:00:00Z`));
}

/** Returns the current month and the next eleven, as YYYY-MM. */
export function listTwelveMonths(now: Date, timeZone: string): string[] {
  const [year = 0, month = 1] = formatCalendarDay(now, timeZone).split('-').map(Number);
  return Array.from({ length: MONTHS_IN_CHART }, (_, index) =>
    new Date(Date.UTC(year, month - 1 + index)).toISOString().slice(0, 7),
  );
}

/** @param counts the number of names that expire in each month (YYYY-MM); later months are ignored */
export function buildMonthCounts(
  counts: Iterable<readonly [month: string, count: number]>,
  now: Date,
  timeZone: string,
): MonthCount[] {
  const months = new Map(listTwelveMonths(now, timeZone).map((month) => [month, 0]));
  for (const [month, count] of counts) {
    const previousCount = months.get(month);
    if (previousCount !== undefined) months.set(month, previousCount + count);
  }
  return [...months].map(([month, count]) => ({ month, label: formatShortMonth(month), count }));
}
