import { describe, expect, test } from 'vitest';
import { groupBy } from '../../src/lib/collections.ts';
import { ANNOUNCEMENT_PERIOD_MS } from '../../src/mandates/acting.ts';
import { runs } from '../support/properties.ts';
import { seededRandom } from '../support/seeded.ts';
import { listLimitViolations, type SimulatedYear, simulateYear } from './model.ts';

/*
 * Invariants of mandates over 2,000 simulated years with changing prices and tags, people who leave, stops,
 * kills, lost responses, Slack and registry outages, clock jumps and restored databases.
 */

const SEED = Number(process.env['SEED'] ?? 43);

function simulateYears(): SimulatedYear[] {
  return Array.from({ length: runs(2_000) }, (_, index) => simulateYear(seededRandom(SEED + index)));
}

describe('mandates over many simulated years', () => {
  const all = simulateYears();

  test('never exceed a limit', () => {
    expect(all.flatMap(listLimitViolations)).toEqual([]);
  });

  test('never renew a name twice for one expiry', () => {
    const twice = all.flatMap(({ charges }, year) =>
      charges
        .filter((charge, index) =>
          charges.slice(0, index).some(({ name, end }) => name === charge.name && end === charge.end),
        )
        .map(({ name }) => `year ${year}: ${name}`),
    );
    expect(twice).toEqual([]);
  });

  test('never renew a name that the registry showed as renewed days ago', () => {
    const early = all.flatMap(({ charges }, year) =>
      charges
        .filter(({ end, at, changedAt }) => end - at > 60 * 86_400_000 && at - changedAt > 3 * 86_400_000)
        .map(({ name, end, at }) => `year ${year}: ${name}, ${(end - at) / 86_400_000} days early`),
    );
    expect(early).toEqual([]);
  });

  test('never send after a stop', () => {
    const late = all.flatMap(({ charges, stoppedAt }) =>
      charges.filter(({ orderId }) => stoppedAt.has(orderId)),
    );
    expect(late).toEqual([]);
  });

  test('never send an order without an announcement a day before', () => {
    const unannounced = all.flatMap(({ charges }) =>
      charges.filter(
        ({ at, announcedAt }) => announcedAt === undefined || at - announcedAt < ANNOUNCEMENT_PERIOD_MS,
      ),
    );
    expect(unannounced).toEqual([]);
  });

  test('never lose a name they acted for without a message', () => {
    expect(all.flatMap(({ unreported }) => unreported)).toEqual([]);
  });

  test('never let a due name expire without renewing it or notifying people', () => {
    expect(all.flatMap(({ lapsed }, year) => lapsed.map((name) => `year ${year}: ${name}`))).toEqual([]);
    const ends = groupBy(
      all.flatMap((year) => year.outcomes),
      (end) => end,
    );
    expect(ends.get('RENEWED')?.length).toBeGreaterThan(all.length / 2);
    expect([...ends.keys()]).toEqual(expect.arrayContaining(['STOPPED', 'FAILED', 'UNKNOWN']));
  });

  test('renew names, and hold renewals for every reason, so that the tests above aren’t vacuous', () => {
    expect(all.flatMap(({ charges }) => charges).length).toBeGreaterThan(all.length / 2);
    const held = new Set(all.flatMap((year) => year.holdReasons));
    expect([...held].sort()).toEqual(
      expect.arrayContaining([
        'budget_empty',
        'date_in_doubt',
        'incident_open',
        'owner_left',
        'policy_asks_more',
        'price_above',
        'price_unknown',
        'renewed_meanwhile',
        'total_spent',
        // Too rare for a quick run.
        ...(all.length < 2_000 ? [] : ['moved_out', 'not_announced', 'too_late']),
      ]),
    );
  });
});
