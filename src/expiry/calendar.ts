import type { ExpirySource } from '../names/dates.ts';
import { getExpiryDay, shiftDay } from './days.ts';

export interface CalendarName {
  readonly name: string;
  readonly expiresAt: Date;
  readonly source: ExpirySource;
  readonly isLapsing?: boolean | undefined;
  readonly hasMandate?: boolean | undefined;
}

export interface CalendarFeedOptions {
  readonly now: Date;
  /** IANA time zone that determines the day of an expiry. */
  readonly timeZone: string;
  /** Injected, because texts belong to the views. */
  readonly formatEvent: (name: CalendarName) => EventText;
}

export interface EventText {
  readonly summary: string;
  readonly description: string;
}

const MAX_LINE_OCTETS = 75;

/**
 * Formats the watch list as an iCalendar feed (RFC 5545) with one all-day event per name. An event keeps its
 * UID, so calendars move it after a renewal.
 * @returns the feed in chunks, so that a long list isn't kept in memory
 */
export async function* streamCalendarFeed(
  names: Iterable<CalendarName> | AsyncIterable<CalendarName>,
  options: CalendarFeedOptions,
): AsyncGenerator<string> {
  yield joinContentLines([
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Domain Steward//Expiry watch list//EN',
    'CALSCALE:GREGORIAN',
    'METHOD:PUBLISH',
    'NAME:Domain expiries',
    'X-WR-CALNAME:Domain expiries',
    'REFRESH-INTERVAL;VALUE=DURATION:P1D',
    'X-PUBLISHED-TTL:P1D',
  ]);
  for await (const name of names) yield formatCalendarEvent(name, options);
  yield joinContentLines(['END:VCALENDAR']);
}

function formatCalendarEvent(calendarName: CalendarName, options: CalendarFeedOptions): string {
  const { name, expiresAt, source } = calendarName;
  const day = getExpiryDay(expiresAt, source, options.timeZone);
  const { summary, description } = options.formatEvent(calendarName);
  return joinContentLines([
    'BEGIN:VEVENT',
    `UID:${name}@domain-steward`,
    `DTSTAMP:${options.now.toISOString().replace(/[-:]|\.\d+/g, '')}`,
    `DTSTART;VALUE=DATE:${day.replaceAll('-', '')}`,
    `DTEND;VALUE=DATE:${shiftDay(day, 1).replaceAll('-', '')}`,
    `SUMMARY:${escapeText(summary)}`,
    `DESCRIPTION:${escapeText(description)}`,
    'TRANSP:TRANSPARENT',
    'END:VEVENT',
  ]);
}

/** Escapes special characters of a text value (RFC 5545, section 3.3.11). */
function escapeText(text: string): string {
  return text.replace(/[\\;,]/g, '\\$&').replace(/\r\n|\r|\n/g, '\\n');
}

function joinContentLines(lines: readonly string[]): string {
  return lines.map((line) => `${foldLine(line)}\r\n`).join('');
}

/** Folds a line after at most 75 octets, but never within a character (RFC 5545, section 3.1). */
function foldLine(line: string): string {
  if (Buffer.byteLength(line) <= MAX_LINE_OCTETS) return line;
  const parts: string[] = [];
  let part = '';
  let partOctets = 0;
  for (const character of line) {
    const characterOctets = Buffer.byteLength(character);
    if (partOctets + characterOctets > MAX_LINE_OCTETS) {
      parts.push(part);
      part = '';
      // A continuation line begins with a space, which counts toward the 75 octets.
      partOctets = 1;
    }
    part += character;
    partOctets += characterOctets;
  }
  return [...parts, part].join('\r\n ');
}
