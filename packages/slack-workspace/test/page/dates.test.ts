import { expect, test } from 'vitest';
import { formatDateToken, formatDayDivider, formatRelativeTime, getZonePlace } from '../../page/dates.ts';

const timeMs = Date.parse('2026-07-29T22:30:00Z');
const timeSeconds = timeMs / 1_000;
const HOUR_MS = 3_600_000;

test.each([
  ['{date_short_pretty} {time}', 'Europe/London', 'today 11:30 PM'],
  ['{date_short_pretty} {time}', 'Asia/Tokyo', 'today 7:30 AM'],
  ['{date_num}', 'Asia/Tokyo', '2026-07-30'],
  ['{date_num}', 'America/New_York', '2026-07-29'],
  ['{date_long}', 'UTC', 'Wednesday, July 29, 2026'],
  ['on {date} at {time_secs}, {nothing}', 'UTC', 'on July 29, 2026 at 10:30:00 PM, {nothing}'],
])('formats %s for a reader in %s', (format, zone, text) => {
  expect(formatDateToken(timeSeconds, format, timeMs, zone)).toBe(text);
});

test('names a zone by its place', () => {
  expect(['America/New_York', 'Europe/Berlin', 'UTC'].map(getZonePlace)).toEqual([
    'New York',
    'Berlin',
    'UTC',
  ]);
});

test('uses yesterday, today and tomorrow in the reader’s time zone', () => {
  const threeHoursLater = timeMs + 3 * HOUR_MS;
  expect(formatDateToken(timeSeconds, '{date_pretty}', threeHoursLater, 'UTC')).toBe('yesterday');
  expect(formatDateToken(timeSeconds, '{date_pretty}', threeHoursLater, 'Asia/Tokyo')).toBe('today');
  expect(formatDateToken(threeHoursLater / 1_000, '{date_short_pretty}', timeMs, 'UTC')).toBe('tomorrow');
  expect(formatDateToken(timeSeconds, '{date_short_pretty}', timeMs + 72 * HOUR_MS, 'UTC')).toBe(
    'Jul 29, 2026',
  );
});

test('formats the day dividers between messages', () => {
  expect(formatDayDivider(timeMs, timeMs, 'UTC')).toBe('Today');
  expect(formatDayDivider(timeMs, timeMs + 24 * HOUR_MS, 'UTC')).toBe('Yesterday');
  expect(formatDayDivider(timeMs, timeMs + 100 * HOUR_MS, 'UTC')).toBe('Wednesday, July 29');
  expect(formatDayDivider(timeMs, timeMs + 9_000 * HOUR_MS, 'UTC')).toBe('Wednesday, July 29, 2026');
});

test.each([
  [0, 'just now'],
  [59_000, 'just now'],
  [5 * 60_000, '5 minutes ago'],
  [3 * HOUR_MS, '3 hours ago'],
  [49 * HOUR_MS, '2 days ago'],
  [-24 * HOUR_MS, 'tomorrow'],
])('formats an age of %d ms', (ageMs, words) => {
  expect(formatRelativeTime(timeMs, timeMs + ageMs)).toBe(words);
});
