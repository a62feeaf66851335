import { describe, expect, test } from 'vitest';
import type { Price } from '../../src/money/prices.ts';
import { compareCostAtRisk, computeCostAtRisk, listDelayStages } from '../../src/money/waiting.ts';
import fc from '../support/properties.ts';

const newPrice = (task: Price['task'], minor: number, validFrom = '2026-11-01'): Price => ({
  zone: 'rest',
  task,
  period: 1,
  amount: { currency: 'EUR', minor },
  validFrom,
  source: 'Contract 7',
});
const LIST = [newPrice('renew', 1_800), newPrice('restore', 8_000)];
const EXPIRES_AT = new Date('2027-03-01T12:00:00Z');
const atNoonOf = (day: string) => ({ now: new Date(`${day}T12:00:00Z`), timeZone: 'UTC' });
const listKinds = (stages: readonly { readonly kind: string }[]) => stages.map(({ kind }) => kind);

describe('the stages of a delayed renewal', () => {
  test('are renewal, late renewal, restore and loss', () => {
    expect(listDelayStages(LIST, 'cafe.rest', { expiresAt: EXPIRES_AT }, atNoonOf('2026-11-22'))).toEqual([
      {
        kind: 'renew',
        until: '2027-02-28',
        renewal: expect.objectContaining({ amount: { currency: 'EUR', minor: 1_800 } }),
      },
      { kind: 'at_own_risk', until: '2027-04-14', renewal: expect.anything() },
      {
        kind: 'restore',
        until: '2027-05-14',
        restore: expect.objectContaining({ amount: { currency: 'EUR', minor: 8_000 } }),
        renewal: expect.objectContaining({ amount: { currency: 'EUR', minor: 1_800 } }),
      },
      { kind: 'lost' },
    ]);
  });

  test('use the prices of the day on which they begin', () => {
    const list = [...LIST, newPrice('restore', 9_000, '2027-04-15')];
    const [, , restore] = listDelayStages(
      list,
      'cafe.rest',
      { expiresAt: EXPIRES_AT },
      atNoonOf('2026-11-22'),
    );
    expect(restore).toMatchObject({ restore: { amount: { minor: 9_000 } } });
  });

  test('begin with the name’s current phase', () => {
    const listStagesOn = (day: string, deletedAt?: Date) =>
      listKinds(listDelayStages(LIST, 'cafe.rest', { expiresAt: EXPIRES_AT, deletedAt }, atNoonOf(day)));
    expect(listStagesOn('2027-03-10')).toEqual(['at_own_risk', 'restore', 'lost']);
    expect(listStagesOn('2027-03-10', new Date('2027-03-05T00:00:00Z'))).toEqual(['restore', 'lost']);
    expect(listStagesOn('2027-05-17')).toEqual(['lost']);
    expect(listStagesOn('2027-06-17')).toEqual([]);
  });

  test('exclude renewal for deleted names, even in zones without documented periods', () => {
    const deletedAt = new Date('2027-02-20T00:00:00Z');
    const listRemainingStages = (name: string, deletionPhase: 'redemption' | 'pending_delete') =>
      listKinds(
        listDelayStages(
          LIST,
          name,
          { expiresAt: EXPIRES_AT, deletedAt, deletionPhase },
          atNoonOf('2027-02-22'),
        ),
      );
    expect(listRemainingStages('cafe.rest', 'redemption')).toEqual(['restore', 'lost']);
    expect(listRemainingStages('cafe.rest', 'pending_delete')).toEqual(['lost']);
    expect(listRemainingStages('cafe.example', 'redemption')).toEqual(['restore']);
    expect(listRemainingStages('cafe.example', 'pending_delete')).toEqual(['lost']);
  });

  test('have undefined, not zero, for unknown prices', () => {
    expect(listDelayStages([], 'cafe.rest', { expiresAt: EXPIRES_AT }, atNoonOf('2026-11-22'))).toMatchObject(
      [
        { kind: 'renew', renewal: undefined },
        { kind: 'at_own_risk', renewal: undefined },
        { kind: 'restore', restore: undefined, renewal: undefined },
        { kind: 'lost' },
      ],
    );
  });

  test('include only the current one if the zone’s periods aren’t documented', () => {
    expect(listDelayStages(LIST, 'cafe.example', { expiresAt: EXPIRES_AT }, atNoonOf('2026-11-22'))).toEqual([
      { kind: 'renew', until: undefined, renewal: undefined },
    ]);
  });

  test('are always in order, and end yesterday at the earliest', () => {
    const hours = fc.integer({ min: -24 * 400, max: 24 * 200 });
    const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'Pacific/Auckland', 'America/Los_Angeles');
    fc.assert(
      fc.property(hours, zones, (hoursAfterExpiry, timeZone) => {
        const now = new Date(EXPIRES_AT.getTime() + hoursAfterExpiry * 3_600_000);
        const stages = listDelayStages(LIST, 'cafe.rest', { expiresAt: EXPIRES_AT }, { now, timeZone });
        expect(
          ['renew', 'at_own_risk', 'restore', 'lost'].filter((kind) => listKinds(stages).includes(kind)),
        ).toEqual(listKinds(stages));
        const untils = stages.flatMap((step) => (step.kind === 'lost' ? [] : (step.until ?? [])));
        expect([...untils].sort()).toEqual(untils);
        // On the day on which a stage ends, its last whole day was yesterday.
        const yesterday = new Date(now.getTime() - 48 * 3_600_000).toISOString().slice(0, 10);
        for (const until of untils) expect(until >= yesterday).toBe(true);
      }),
    );
  });
});

describe('the cost at risk', () => {
  const eur = (minor: number) => ({ currency: 'EUR', minor });
  const listStages = (list: readonly Price[]) =>
    listDelayStages(list, 'cafe.rest', { expiresAt: EXPIRES_AT }, atNoonOf('2026-11-22'));

  test('is a restore plus a renewal, as far as they have prices', () => {
    expect(computeCostAtRisk(listStages(LIST))).toEqual(eur(9_800));
    expect(computeCostAtRisk(listStages([newPrice('renew', 1_800)]))).toEqual(eur(1_800));
    expect(computeCostAtRisk(listStages([]))).toBeUndefined();
  });

  test('is sorted by currency, highest first, with unknown costs last', () => {
    const amounts = fc.array(
      fc.option(fc.record({ currency: fc.constantFrom('EUR', 'JPY', 'USD'), minor: fc.nat() }), {
        nil: undefined,
      }),
    );
    fc.assert(
      fc.property(amounts, (costs) => {
        // Arrays sort undefined elements last without comparing them.
        const wrapped = costs.map((amount) => ({ amount }));
        const sorted = wrapped
          .toSorted((a, b) => compareCostAtRisk(a.amount, b.amount))
          .map(({ amount }) => amount);
        for (const [index, b] of sorted.entries()) {
          const a = sorted[index - 1];
          if (index === 0 || b === undefined) continue;
          expect(a).toBeDefined();
          if (a?.currency === b.currency) expect(a.minor).toBeGreaterThanOrEqual(b.minor);
        }
        const currencyRuns = sorted.flatMap((each, index) =>
          each !== undefined && each.currency !== sorted[index - 1]?.currency ? [each.currency] : [],
        );
        expect(currencyRuns).toEqual([...new Set(currencyRuns)].sort());
      }),
    );
  });
});
