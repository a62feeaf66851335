import { expect, test } from 'vitest';
import {
  formatCalendarDay,
  formatDayNumber,
  isCalendarDay,
  parseDayNumber,
} from '../../src/zones/calendar-day.ts';
import fc, { runs } from '../support/properties.ts';

/** Includes fractional offsets, half-hour daylight saving, changes at midnight, and a skipped day. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'Africa/Cairo',
  'America/Havana',
  'America/St_Johns',
  'Pacific/Apia',
  'Pacific/Kiritimati',
  'Africa/Casablanca',
];
const HALF_HOUR_MS = 1_800_000;

const intlFormats = new Map(
  ZONES.map((timeZone) => [timeZone, new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })]),
);

test.each(ZONES)('the day in %s matches Intl through every clock change', (timeZone) => {
  const wrong: string[] = [];
  for (const year of [2011, 2027]) {
    for (let at = Date.UTC(year, 0, 1); at < Date.UTC(year + 1, 0, 1); at += HALF_HOUR_MS) {
      for (const moment of [new Date(at - 1), new Date(at)]) {
        const expected = intlFormats.get(timeZone)?.format(moment);
        if (formatCalendarDay(moment, timeZone) !== expected)
          wrong.push(`${moment.toISOString()} is ${expected}`);
      }
    }
  }
  expect(wrong.slice(0, 5)).toEqual([]);
});

test('the day of any time matches Intl', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date('1970-01-02'), max: new Date('2199-12-31'), noInvalidDate: true }),
      fc.constantFrom(...ZONES),
      (moment, timeZone) => formatCalendarDay(moment, timeZone) === intlFormats.get(timeZone)?.format(moment),
    ),
    { numRuns: runs(2_000) },
  );
});

test('day numbers convert to days and back', () => {
  expect(formatDayNumber(0)).toBe('1970-01-01');
  expect(parseDayNumber('2028-03-01') - parseDayNumber('2028-02-28')).toBe(2);
  for (let number = -1_000; number < 30_000; number += 1) {
    if (parseDayNumber(formatDayNumber(number)) !== number)
      expect.fail(`${formatDayNumber(number)} is not day ${number}`);
  }
});

test.each([
  ['2028-02-29', true],
  ['2027-02-29', false],
  ['2027-13-01', false],
  ['2027-6-1', false],
  ['2027-06-14T00:00:00Z', false],
])('%s is a calendar day: %s', (text, isDay) => {
  expect(isCalendarDay(text)).toBe(isDay);
});
