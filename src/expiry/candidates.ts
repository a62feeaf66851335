import { DAY_MS, HOUR_MS, SECOND_MS } from '../lib/duration.ts';
import { formatCalendarDay } from '../zones/calendar-day.ts';
import { computeLifecycle } from '../zones/lifecycle.ts';
import { listDocumentedZones } from '../zones/rules.ts';
import { type Day, shiftDay } from './days.ts';
import { MARKS_AFTER_EXPIRY, MAX_DAYS_AFTER_EXPIRY, type Mark } from './marks.ts';
import type { ReminderSchedule } from './plan.ts';

/** A range of expiries in which names can be due for one threshold. */
export interface CandidateRange {
  readonly threshold: number;
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
}

/**
 * Ranges are instants, but reminders are planned by calendar day in any time zone. The two can differ by this many
 * days.
 */
const PAD_DAYS = 2;
/** In any time zone, a day starts at most this far from the UTC day, including daylight saving. */
const MAX_OFFSET_HOURS = 16;

/**
 * Ranges of expiry dates in which names can be due, so that a million names needn't be read. Each range finds the names
 * that expire in it and weren't reminded for its threshold and expiry. The ranges are slightly too wide;
 * `planReminders` makes the exact decision. Names with a known deletion date are found separately.
 */
export function candidateRanges(options: ReminderSchedule): CandidateRange[] {
  const thresholds = options.thresholds.toSorted((a, b) => a - b);
  const addDays = (days: number) => new Date(options.now.getTime() + days * DAY_MS);
  const today = formatCalendarDay(options.now, options.timeZone);
  const beforeExpiry = thresholds.map((threshold, index) => ({
    threshold,
    from: addDays((thresholds[index - 1] ?? -1) - PAD_DAYS),
    until: computeExpiryLimit(shiftDay(today, threshold), options.timeZone),
  }));
  const expiredLimit = computeExpiryLimit(shiftDay(today, -1), options.timeZone);
  const afterExpiry = MARKS_AFTER_EXPIRY.flatMap((mark) => {
    const spans = markSpans(mark);
    if (spans.length === 0) return [];
    const first = Math.min(...spans.map(({ begin }) => begin));
    const last = Math.max(...spans.map(({ end }) => end));
    const until = Math.min(addDays(-first + PAD_DAYS).getTime(), expiredLimit.getTime());
    return [{ threshold: mark.threshold, from: addDays(-last - PAD_DAYS), until: new Date(until) }];
  });
  return [...beforeExpiry, ...afterExpiry];
}

/**
 * The end, exclusive, of the expiries that are shown as this day. It must be exact, because one day more adds
 * many names to each read of a long list.
 */
function computeExpiryLimit(day: Day, timeZone: string): Date {
  const next = shiftDay(day, 1);
  const midnightUtc = Date.parse(next);
  let early = midnightUtc - MAX_OFFSET_HOURS * HOUR_MS;
  let late = midnightUtc + MAX_OFFSET_HOURS * HOUR_MS;
  while (late - early > SECOND_MS) {
    const middle = Math.floor((early + late) / 2);
    if (formatCalendarDay(new Date(middle), timeZone) < next) early = middle;
    else late = middle;
  }
  // An entered day is stored as midnight UTC and is the same day in every zone.
  return new Date(Math.max(late, Date.parse(day) + 1));
}

/** The days after the expiry during which a mark is the latest one, for each documented zone. */
function markSpans(mark: Mark): { readonly begin: number; readonly end: number }[] {
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
