import { type ExpirySource, pickLaterExpiry } from '../names/dates.ts';
import { calendarDay, dayFromNumber, dayNumber, utcDay } from '../zones/calendar-day.ts';

/** A calendar day as YYYY-MM-DD; such days can be compared as text. */
export type Day = string;

/** Calendar days between two days; negative when `to` is earlier. Daylight saving doesn't matter. */
export function daysBetween(from: Day, to: Day): number {
  return dayNumber(to) - dayNumber(from);
}

/** A day plus some days, possibly negative. */
export function shiftDay(day: Day, days: number): Day {
  return dayFromNumber(dayNumber(day) + days);
}

/**
 * The calendar day on which an expiry is shown.
 * @param expiresAt the time of expiry; midnight UTC if only a day is known, which is shown unchanged.
 * @param timeZone IANA name.
 */
export function expiryDay(expiresAt: Date, source: ExpirySource, timeZone: string): Day {
  return source === 'person' || source === 'whois' ? utcDay(expiresAt) : calendarDay(expiresAt, timeZone);
}

export function reminderEnd({
  expiresAt,
  renewedUntil,
}: {
  readonly expiresAt: Date;
  readonly renewedUntil?: Date | undefined;
}): Date {
  return pickLaterExpiry(expiresAt, renewedUntil);
}
