import { describe, expect, test } from 'vitest';
import { computeDeadlines, shortenWait } from '../../src/orders/deadlines.ts';

const NOW = new Date('2026-11-22T09:00:00Z');
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const addToNow = (ms: number) => new Date(NOW.getTime() + ms);

describe('a wait', () => {
  test.each([
    ['is unchanged while no expiry is known', 4 * HOUR_MS, undefined, 4 * HOUR_MS],
    ['is unchanged for a name that expires later', 4 * HOUR_MS, addToNow(7 * DAY_MS + 1), 4 * HOUR_MS],
    ['is halved for a name that expires within 7 days', 4 * HOUR_MS, addToNow(7 * DAY_MS), 2 * HOUR_MS],
    ['is halved until 2 days before the expiry', 4 * HOUR_MS, addToNow(2 * DAY_MS + 1), 2 * HOUR_MS],
    ['is a quarter for a name that expires within 2 days', 4 * HOUR_MS, addToNow(2 * DAY_MS), HOUR_MS],
    ['is a quarter for a name that has expired', 4 * HOUR_MS, addToNow(-DAY_MS), HOUR_MS],
    ['is at least 15 minutes', 40 * MINUTE_MS, addToNow(DAY_MS), 15 * MINUTE_MS],
    ['is unchanged if it is set to less than 15 minutes', 2 * MINUTE_MS, addToNow(DAY_MS), 2 * MINUTE_MS],
  ])('%s', (_, wait, expiry, expected) => {
    expect(shortenWait(wait, NOW, expiry)).toBe(expected);
  });
});

test('a name that expires soon brings the reminder and escalation forward, not the deadline', () => {
  const waits = {
    ttlMs: 72 * HOUR_MS,
    remindAfterMs: 4 * HOUR_MS,
    escalateAfterMs: 24 * HOUR_MS,
  };
  expect(computeDeadlines(waits, NOW)).toEqual({
    expiresAt: addToNow(72 * HOUR_MS),
    remindAt: addToNow(4 * HOUR_MS),
    escalateAt: addToNow(24 * HOUR_MS),
  });
  expect(computeDeadlines(waits, NOW, addToNow(DAY_MS))).toEqual({
    expiresAt: addToNow(72 * HOUR_MS),
    remindAt: addToNow(HOUR_MS),
    escalateAt: addToNow(6 * HOUR_MS),
  });
});

test('a scheduled time limits the deadline, and shortens waits like an expiry', () => {
  const waits = { ttlMs: 72 * HOUR_MS, remindAfterMs: 4 * HOUR_MS, escalateAfterMs: 24 * HOUR_MS };
  const computeHours = (expiry: number | undefined, time: number) => {
    const firstExpiry = expiry === undefined ? undefined : addToNow(expiry * HOUR_MS);
    const { expiresAt, remindAt } = computeDeadlines(waits, NOW, firstExpiry, addToNow(time * HOUR_MS));
    return [expiresAt, remindAt].map((at) => (at.getTime() - NOW.getTime()) / HOUR_MS);
  };
  expect(computeHours(undefined, 24)).toEqual([24, 1]);
  expect(computeHours(undefined, 73)).toEqual([72, 2]);
  expect(computeHours(undefined, 0), 'a time that has passed').toEqual([72, 4]);
  expect(computeHours(24, 73), 'the expiry is sooner').toEqual([72, 1]);
  expect(computeHours(1_000, 24), 'the time is sooner').toEqual([24, 1]);
});
