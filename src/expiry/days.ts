import type { ExpirySource } from '../names/dates.ts';
import { calendarDay, dayNumber, numberedDay, utcDay } from '../zones/calendar-day.ts';

/** A calendar day as YYYY-MM-DD; such days compare as text. */
export type Day = string;

/**
 * Whole calendar days from one day to another; negative when `to` is earlier. Daylight saving does not
 * matter.
 */
export function daysBetween(from: Day, to: Day): number {
  return dayNumber(to) - dayNumber(from);
}

/** The day that lies some days after another, or before it. */
export function shiftDay(day: Day, days: number): Day {
  return numberedDay(dayNumber(day) + days);
}

/**
 * The calendar day on which people see a name expire.
 * @param expiresAt the moment; midnight UTC when a person gave only a day, which then stands as it was given.
 * @param timeZone IANA name.
 */
export function expiryDay(expiresAt: Date, source: ExpirySource, timeZone: string): Day {
  return source === 'person' ? utcDay(expiresAt) : calendarDay(expiresAt, timeZone);
}
