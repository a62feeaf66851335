import { type ExpirySource, pickLaterExpiry } from '../names/dates.ts';
import { formatCalendarDay, formatDayNumber, getUtcDay, parseDayNumber } from '../zones/calendar-day.ts';

/** A calendar day as YYYY-MM-DD, so days can be compared as strings. */
export type Day = string;

/** @returns a negative number if `to` is earlier */
export function countDaysBetween(from: Day, to: Day): number {
  return parseDayNumber(to) - parseDayNumber(from);
}

/** @param days may be negative */
export function shiftDay(day: Day, days: number): Day {
  return formatDayNumber(parseDayNumber(day) + days);
}

/**
 * Returns the calendar day on which an expiry is shown.
 * @param expiresAt midnight UTC if only a day is known; that day is then shown in every time zone
 * @param timeZone IANA name
 */
export function getExpiryDay(expiresAt: Date, source: ExpirySource, timeZone: string): Day {
  return source === 'person' || source === 'whois'
    ? getUtcDay(expiresAt)
    : formatCalendarDay(expiresAt, timeZone);
}

export function getEffectiveExpiry({
  expiresAt,
  renewedUntil,
}: {
  readonly expiresAt: Date;
  readonly renewedUntil?: Date | undefined;
}): Date {
  return pickLaterExpiry(expiresAt, renewedUntil);
}
