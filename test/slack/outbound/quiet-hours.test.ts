import { describe, expect, test } from 'vitest';
import { findQuietHoursEnd } from '../../../src/slack/outbound/quiet-hours.ts';

const at = (moment: string) => new Date(moment);

describe('a message to a person', () => {
  test.each([
    ['is sent at once during the day', '2026-11-23T12:00:00Z', 'Europe/Berlin', undefined],
    ['is sent at once a second before 22:00', '2026-11-23T20:59:59Z', 'Europe/Berlin', undefined],
    ['waits from 22:00 on', '2026-11-23T21:00:00Z', 'Europe/Berlin', '2026-11-24T06:00:00Z'],
    ['waits after midnight', '2026-11-24T01:23:45Z', 'Europe/Berlin', '2026-11-24T06:00:00Z'],
    ['is sent at once at 7:00', '2026-11-24T06:00:00Z', 'Europe/Berlin', undefined],
    [
      'waits for the morning in the person’s time zone',
      '2026-11-24T06:00:00Z',
      'America/New_York',
      '2026-11-24T12:00:00Z',
    ],
    [
      'waits in a time zone with a quarter-hour offset',
      '2026-11-23T18:00:00Z',
      'Asia/Kathmandu',
      '2026-11-24T01:15:00Z',
    ],
    [
      'waits for 7:00 when the clocks go forward',
      '2026-03-29T00:30:00Z',
      'Europe/Berlin',
      '2026-03-29T05:00:00Z',
    ],
    [
      'waits for 7:00 when the clocks go back',
      '2026-10-24T23:30:00Z',
      'Europe/Berlin',
      '2026-10-25T06:00:00Z',
    ],
    ['is sent at once if the time zone is unknown', '2026-11-24T01:00:00Z', undefined, undefined],
    ['is sent at once if the time zone is invalid', '2026-11-24T01:00:00Z', 'Mars/Olympus', undefined],
  ])('%s', (_, now, zone, until) => {
    expect(findQuietHoursEnd(at(now), zone)?.toISOString()).toBe(until?.replace('Z', '.000Z'));
  });

  test.each([
    ['is sent at once if the name expires tomorrow', '2026-11-25T20:00:00Z', undefined],
    ['is sent at once if the name expires today', '2026-11-24T20:00:00Z', undefined],
    ['waits if the name expires the day after tomorrow', '2026-11-25T23:00:00Z', '2026-11-24T06:00:00.000Z'],
  ])('at night %s', (_, expiry, until) => {
    const now = at('2026-11-24T01:00:00Z');
    expect(findQuietHoursEnd(now, 'Europe/Berlin', at(expiry))?.toISOString()).toBe(until);
  });
});
