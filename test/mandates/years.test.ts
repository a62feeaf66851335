import { describe, expect, test } from 'vitest';
import { groupBy } from '../../src/lib/collections.ts';
import { ANNOUNCEMENT_MS } from '../../src/mandates/acting.ts';
import { runs } from '../support/properties.ts';
import { seeded } from '../support/seeded.ts';
import { overCeilings, simulateYear, type Year } from './model.ts';

/*
 * The promises of mandates over 2,000 years of teams: prices and tags that change, people who leave, stops, kills, lost
 * responses, outages of Slack and registries, clocks that jump, restored databases.
 */

const SEED = Number(process.env['SEED'] ?? 43);

function years(): Year[] {
  return Array.from({ length: runs(2_000) }, (_, index) => simulateYear(seeded(SEED + index)));
}

describe('mandates over many years', () => {
  const all = years();

  test('never exceed a limit', () => {
    expect(all.flatMap(overCeilings)).toEqual([]);
  });

  test('never renew a name twice for one end', () => {
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

  test('never send without an announcement a day before', () => {
    const unsaid = all.flatMap(({ charges }) =>
      charges.filter(
        ({ at, announcedAt }) => announcedAt === undefined || at - announcedAt < ANNOUNCEMENT_MS,
      ),
    );
    expect(unsaid).toEqual([]);
  });

  test('never lose a name that they acted for without a message', () => {
    expect(all.flatMap(({ lost }) => lost)).toEqual([]);
  });

  test('never lose a name that they covered when it was due and whose renewal the service accepted', () => {
    expect(all.flatMap(({ lapsed }, year) => lapsed.map((name) => `year ${year}: ${name}`))).toEqual([]);
    const ends = groupBy(
      all.flatMap((year) => year.ends),
      (end) => end,
    );
    expect(ends.get('RENEWED')?.length).toBeGreaterThan(all.length / 2);
    expect([...ends.keys()]).toEqual(expect.arrayContaining(['STOPPED', 'FAILED', 'UNKNOWN']));
  });

  test('renew, and refuse for every reason of the model, so that the other tests prove something', () => {
    expect(all.flatMap(({ charges }) => charges).length).toBeGreaterThan(all.length / 2);
    const held = new Set(all.flatMap((year) => year.held));
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
