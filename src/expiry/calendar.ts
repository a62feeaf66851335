import type { ExpirySource } from '../names/dates.ts';
import { expiryDay, shiftDay } from './days.ts';

export interface CalendarName {
  readonly name: string;
  readonly expiresAt: Date;
  readonly source: ExpirySource;
  readonly isLapsing?: boolean | undefined;
  readonly hasMandate?: boolean | undefined;
}

export interface CalendarFormat {
  readonly now: Date;
  /** IANA time zone that determines the day of an expiry. */
  readonly timeZone: string;
  /** The event's text. Injected, because texts belong to the views. */
  readonly formatEvent: (name: CalendarName) => CalendarText;
}

export interface CalendarText {
  readonly summary: string;
  readonly description: string;
}

const MAX_OCTETS = 75;

/**
 * Writes the watch list as an iCalendar feed (RFC 5545): one all-day event per name on its expiry day, without alarms
 * or secrets. An event keeps its UID, so calendars move it after a renewal.
 * @returns the feed in chunks, so that a long list isn't kept in memory
 */
export async function* calendarFeed(
  names: Iterable<CalendarName> | AsyncIterable<CalendarName>,
  options: CalendarFormat,
): AsyncGenerator<string> {
  yield contentLines([
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
  for await (const name of names) yield calendarEvent(name, options);
  yield contentLines(['END:VCALENDAR']);
}

function calendarEvent(listed: CalendarName, options: CalendarFormat): string {
  const { name, expiresAt, source } = listed;
  const day = expiryDay(expiresAt, source, options.timeZone);
  const { summary, description } = options.formatEvent(listed);
  return contentLines([
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

function contentLines(lines: readonly string[]): string {
  return lines.map((line) => `${fold(line)}\r\n`).join('');
}

/** Folds a line to at most 75 octets, never inside a character (RFC 5545, section 3.1). */
function fold(line: string): string {
  if (Buffer.byteLength(line) <= MAX_OCTETS) return line;
  const folded: string[] = [];
  let part = '';
  let octets = 0;
  for (const character of line) {
    const size = Buffer.byteLength(character);
    if (octets + size > MAX_OCTETS) {
      folded.push(part);
      part = '';
      // A continued line begins with a space, which is part of the 75 octets.
      octets = 1;
    }
    part += character;
    octets += size;
  }
  return [...folded, part].join('\r\n ');
}
