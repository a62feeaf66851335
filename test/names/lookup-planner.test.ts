import { describe, expect, test } from 'vitest';
import { createFact } from '../../src/names/facts.ts';
import { mergeObservation } from '../../src/names/history.ts';
import {
  createLookupPlanner,
  detectPendingChanges,
  isUrgent,
  type LookupKind,
  type ScheduledName,
  scheduleNextLookup,
} from '../../src/names/lookup-planner.ts';
import fc from '../support/properties.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW = new Date('2026-11-22T00:00:00Z');
const QUIET_NAME: ScheduledName = {
  expiresAt: undefined,
  isGuarded: false,
  isChanging: false,
  hasUnconfirmedChange: false,
};

function inDays(days: number): Date {
  return new Date(NOW.getTime() + days * DAY_MS);
}

function computeHours(kind: LookupKind, changes: Partial<ScheduledName>, random = 0): number {
  return (
    (scheduleNextLookup(kind, { ...QUIET_NAME, ...changes }, NOW, random).getTime() - NOW.getTime()) / HOUR_MS
  );
}

describe('the next lookup', () => {
  test.each<[string, Partial<ScheduledName>, number, number]>([
    ['of a quiet name', { expiresAt: inDays(300) }, 24, 168],
    ['of a name without a date', {}, 24, 168],
    ['within 60 days of expiry', { expiresAt: inDays(60) }, 4, 4],
    ['shortly after expiry', { expiresAt: inDays(-30) }, 4, 4],
    ['long after expiry', { expiresAt: inDays(-200) }, 24, 168],
    ['of a guarded name', { expiresAt: inDays(300), isGuarded: true }, 4, 4],
    ['of a name with a pending change', { expiresAt: inDays(300), isChanging: true }, 4, 4],
    ['of an unconfirmed change', { expiresAt: inDays(300), hasUnconfirmedChange: true }, 0.5, 0.5],
    [
      'of an unconfirmed change of a guarded name',
      { isGuarded: true, hasUnconfirmedChange: true },
      0.5,
      76 / 3_600,
    ],
    ['of a name that will soon be within 60 days of expiry', { expiresAt: inDays(62) }, 24, 48],
  ])('is due after the interval %s', (_case, changes, dns, registry) => {
    expect(computeHours('dns', changes)).toBe(dns);
    expect(computeHours('registry', changes)).toBe(registry);
  });

  test('has jitter, but is never late', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (random) => {
        const hours = computeHours('registry', {}, random);
        expect(hours).toBeGreaterThan(168 * 0.79);
        expect(hours).toBeLessThanOrEqual(168);
      }),
    );
    expect(computeHours('dns', {}, 0.5)).toBeLessThan(24);
  });
});

test('a pending status marks a name as changing, even if seen once', () => {
  const lookup = (day: number, status: string) => ({
    name: 'cafe.rest',
    at: inDays(day),
    facts: { statuses: createFact(['active', status]) },
  });
  const quietHistory = mergeObservation({}, lookup(0, 'client transfer prohibited')).history;
  expect(detectPendingChanges(quietHistory)).toEqual({ isChanging: false, hasUnconfirmedChange: false });
  const seenOnce = mergeObservation(quietHistory, lookup(1, 'pending transfer')).history;
  expect(detectPendingChanges(seenOnce)).toEqual({ isChanging: true, hasUnconfirmedChange: true });
  const seenTwice = mergeObservation(seenOnce, lookup(2, 'pending transfer')).history;
  expect(detectPendingChanges(seenTwice)).toEqual({ isChanging: true, hasUnconfirmedChange: false });
  expect(isUrgent({ ...QUIET_NAME, ...detectPendingChanges(seenTwice) }, NOW)).toBe(true);
  expect(isUrgent(QUIET_NAME, NOW)).toBe(false);
});

describe('the planner', () => {
  test('keeps the hourly limit of every host', () => {
    const lookups = fc.array(fc.record({ host: fc.constantFrom('a', 'b'), urgent: fc.boolean() }), {
      maxLength: 200,
    });
    fc.assert(
      fc.property(lookups, fc.integer({ min: 2, max: 60 }), (due, perHour) => {
        const planner = createLookupPlanner(perHour);
        const planned = due.map(({ host, urgent }) => ({
          host,
          at: planner.reserve(host, urgent, NOW).getTime(),
        }));
        for (const host of ['a', 'b']) {
          const times = planned.filter((lookup) => lookup.host === host).map(({ at }) => at);
          for (const from of times) {
            const countInHour = times.filter((at) => at >= from && at < from + HOUR_MS).length;
            // Each of the two lanes may start its hour a lookup early.
            expect(countInHour).toBeLessThanOrEqual(perHour + 2);
          }
        }
      }),
    );
  });

  test('runs lookups at once while the budget lasts, and catches up with the clock', () => {
    const planner = createLookupPlanner(2);
    expect(planner.reserve('a', true, NOW)).toEqual(NOW);
    expect(planner.reserve('a', true, NOW)).toEqual(new Date(NOW.getTime() + HOUR_MS - 30_000));
    expect(planner.reserve('b', true, NOW)).toEqual(NOW);
    expect(planner.reserve('a', true, inDays(1))).toEqual(inDays(1));
  });

  test('runs urgent lookups before routine ones', () => {
    const planner = createLookupPlanner(3_600);
    for (let n = 0; n < 100_000; n += 1) planner.reserve('registry', false, NOW);
    expect(planner.reserve('registry', true, NOW)).toEqual(NOW);
    expect(planner.reserve('registry', false, NOW).getTime() - NOW.getTime()).toBe(100_000 * 2_000 - 30_000);
  });

  test('runs the first 16 routine lookups at once, and the rest at the budget’s rate', () => {
    const planner = createLookupPlanner(3_600);
    const waits = Array.from({ length: 20 }, () => planner.reserve('registry', false, NOW).getTime());
    expect(waits.filter((at) => at === NOW.getTime())).toHaveLength(16);
    expect(waits.slice(16).map((at) => at - NOW.getTime())).toEqual([2_000, 4_000, 6_000, 8_000]);
  });

  test('schedules a million names in constant memory', () => {
    const hosts = Array.from({ length: 50 }, (_, n) => `registry${n}`);
    const planner = createLookupPlanner(3_600);
    const planLookups = (names: number) => {
      let latest = 0;
      for (let n = 0; n < names; n += 1) {
        const at = planner.reserve(hosts[n % hosts.length] ?? '', n % 20 === 0, NOW);
        latest = Math.max(latest, at.getTime());
      }
      return latest;
    };
    planLookups(10_000);
    const before = process.memoryUsage();
    const latest = planLookups(1_000_000);
    const after = process.memoryUsage();
    expect(latest).toBeGreaterThan(NOW.getTime());
    // Storing every name would take far more memory.
    expect(after.heapUsed - before.heapUsed).toBeLessThan(64 * 1_048_576);
  });
});
