import { expect, test } from 'vitest';
import { ago, dateToken, dayLine, placeOfZone } from '../../page/dates.ts';

const at = Date.parse('2026-07-29T22:30:00Z');
const seconds = at / 1_000;
const HOUR = 3_600_000;

test.each([
  ['{date_short_pretty} {time}', 'Europe/London', 'today 11:30 PM'],
  ['{date_short_pretty} {time}', 'Asia/Tokyo', 'today 7:30 AM'],
  ['{date_num}', 'Asia/Tokyo', '2026-07-30'],
  ['{date_num}', 'America/New_York', '2026-07-29'],
  ['{date_long}', 'UTC', 'Wednesday, July 29, 2026'],
  ['on {date} at {time_secs}, {nothing}', 'UTC', 'on July 29, 2026 at 10:30:00 PM, {nothing}'],
])('formats %s for a reader in %s', (format, zone, text) => {
  expect(dateToken(seconds, format, at, zone)).toBe(text);
});

test('names a zone by its place', () => {
  expect(['America/New_York', 'Europe/Berlin', 'UTC'].map(placeOfZone)).toEqual([
    'New York',
    'Berlin',
    'UTC',
  ]);
});

test('uses yesterday, today and tomorrow by the reader’s time zone', () => {
  const inThreeHours = at + 3 * HOUR;
  expect(dateToken(seconds, '{date_pretty}', inThreeHours, 'UTC')).toBe('yesterday');
  expect(dateToken(seconds, '{date_pretty}', inThreeHours, 'Asia/Tokyo')).toBe('today');
  expect(dateToken(inThreeHours / 1_000, '{date_short_pretty}', at, 'UTC')).toBe('tomorrow');
  expect(dateToken(seconds, '{date_short_pretty}', at + 72 * HOUR, 'UTC')).toBe('Jul 29, 2026');
});

test('formats the days between messages', () => {
  expect(dayLine(at, at, 'UTC')).toBe('Today');
  expect(dayLine(at, at + 24 * HOUR, 'UTC')).toBe('Yesterday');
  expect(dayLine(at, at + 100 * HOUR, 'UTC')).toBe('Wednesday, July 29');
  expect(dayLine(at, at + 9_000 * HOUR, 'UTC')).toBe('Wednesday, July 29, 2026');
});

test.each([
  [0, 'just now'],
  [59_000, 'just now'],
  [5 * 60_000, '5 minutes ago'],
  [3 * HOUR, '3 hours ago'],
  [49 * HOUR, '2 days ago'],
  [-24 * HOUR, 'tomorrow'],
])('formats an age of %d ms', (ms, words) => {
  expect(ago(at, at + ms)).toBe(words);
});
