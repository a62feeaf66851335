import { DAY_MS, HOUR_MS, SECOND_MS } from '../lib/duration.ts';
import { formatCalendarDay } from '../zones/calendar-day.ts';
import { computeLifecycle } from '../zones/lifecycle.ts';
import { listDocumentedZones } from '../zones/rules.ts';
import { type Day, shiftDay } from './days.ts';
import { MARKS_AFTER_EXPIRY, MAX_DAYS_AFTER_EXPIRY, type ReminderMark } from './marks.ts';
import type { ReminderSchedule } from './plan.ts';

/** A range of expiry times in which names can be due for one threshold. */
export interface CandidateRange {
  readonly threshold: number;
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
}

/** Widens the ranges, because they are bounded by times but reminders are planned by day. */
const PADDING_DAYS = 2;
/** In any time zone, a day starts at most this many hours before or after the UTC day. */
const MAX_OFFSET_HOURS = 16;

/**
 * Returns the ranges in which names can be due, so that a digest doesn't have to read every name. The ranges
 * are slightly too wide; `planReminders` makes the exact decision. Names with a known deletion date are found
 * separately.
 */
export function listCandidateRanges(schedule: ReminderSchedule): CandidateRange[] {
  const thresholds = schedule.thresholds.toSorted((a, b) => a - b);
  const addDays = (days: number) => new Date(schedule.now.getTime() + days * DAY_MS);
  const today = formatCalendarDay(schedule.now, schedule.timeZone);
  const rangesBeforeExpiry = thresholds.map((threshold, index) => ({
    threshold,
    from: addDays((thresholds[index - 1] ?? -1) - PADDING_DAYS),
    until: computeExpiryLimit(shiftDay(today, threshold), schedule.timeZone),
  }));
  const expiredLimit = computeExpiryLimit(shiftDay(today, -1), schedule.timeZone);
  const rangesAfterExpiry = MARKS_AFTER_EXPIRY.flatMap((mark) => {
    const spans = listMarkSpans(mark);
    if (spans.length === 0) return [];
    const firstDay = Math.min(...spans.map(({ begin }) => begin));
    const lastDay = Math.max(...spans.map(({ end }) => end));
    const until = Math.min(addDays(-firstDay + PADDING_DAYS).getTime(), expiredLimit.getTime());
    return [{ threshold: mark.threshold, from: addDays(-lastDay - PADDING_DAYS), until: new Date(until) }];
  });
  return [...rangesBeforeExpiry, ...rangesAfterExpiry];
}

/** Returns the exact, exclusive end of the expiry times on a day. Another day would add many names. */
function computeExpiryLimit(day: Day, timeZone: string): Date {
  const nextDay = shiftDay(day, 1);
  const midnightUtc = Date.parse(nextDay);
  let lowerBound = midnightUtc - MAX_OFFSET_HOURS * HOUR_MS;
  let upperBound = midnightUtc + MAX_OFFSET_HOURS * HOUR_MS;
  while (upperBound - lowerBound > SECOND_MS) {
    const middle = Math.floor((lowerBound + upperBound) / 2);
    if (formatCalendarDay(new Date(middle), timeZone) < nextDay) lowerBound = middle;
    else upperBound = middle;
  }
  // An entered day is stored as midnight UTC and is the same day in every zone.
  return new Date(Math.max(upperBound, Date.parse(day) + 1));
}

/** Lists, for each documented zone, the days after the expiry on which the mark can be the latest mark. */
function listMarkSpans(mark: ReminderMark): { readonly begin: number; readonly end: number }[] {
  if (mark.phase === 'expired') return [{ begin: mark.daysAfterExpiry ?? 0, end: MAX_DAYS_AFTER_EXPIRY }];
  const expiresAt = new Date(0);
  return listDocumentedZones().flatMap((zone) => {
    const stage = computeLifecycle(zone, { expiresAt }, expiresAt).stages.find(
      ({ phase }) => phase === mark.phase,
    );
    if (stage === undefined) return [];
    const begin = (stage.from?.getTime() ?? 0) / DAY_MS;
    const end = stage.until === undefined ? MAX_DAYS_AFTER_EXPIRY : stage.until.getTime() / DAY_MS;
    return [{ begin: mark.daysToSafeDay === undefined ? begin : end - 1 - mark.daysToSafeDay, end }];
  });
}
