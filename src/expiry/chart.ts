import { formatCalendarDay } from '../zones/calendar-day.ts';

export interface MonthCount {
  readonly month: string;
  /** Display text, such as `Mar 2027`. */
  readonly label: string;
  readonly count: number;
}

const MONTHS = 12;
const monthLabel = new Intl.DateTimeFormat('en-US', { month: 'short', year: 'numeric', timeZone: 'UTC' });

/** `Nov 2026`, from YYYY-MM. */
export function shortMonth(month: string): string {
  return monthLabel.format(new Date(`${month}-01T00:00:00Z`));
}

/**
 * The current month and the next eleven, in order, as YYYY-MM.
 * @param timeZone IANA name; determines the current month
 */
export function nextTwelveMonths(now: Date, timeZone: string): string[] {
  const [year = 0, month = 1] = formatCalendarDay(now, timeZone).split('-').map(Number);
  return Array.from({ length: MONTHS }, (_, index) =>
    new Date(Date.UTC(year, month - 1 + index)).toISOString().slice(0, 7),
  );
}

/**
 * Renewals in each of the next twelve months, including months without any.
 * @param counts number of names that expire, by month (YYYY-MM); months outside the chart are ignored
 */
export function renewalsByMonth(
  counts: Iterable<readonly [month: string, count: number]>,
  now: Date,
  timeZone: string,
): MonthCount[] {
  const months = new Map(nextTwelveMonths(now, timeZone).map((month) => [month, 0]));
  for (const [month, count] of counts) {
    const previous = months.get(month);
    if (previous !== undefined) months.set(month, previous + count);
  }
  return [...months].map(([month, count]) => ({
    month,
    label: shortMonth(month),
    count,
  }));
}
