import { describe, expect, test } from 'vitest';
import { PRICED_TASKS, type Price } from '../../src/money/prices.ts';
import {
  addSpend,
  CONCEALED_KEY,
  calculateSpend,
  forecastRenewals,
  type Purchase,
  parseSpendPeriod,
  type Spend,
  type SpendLine,
} from '../../src/money/spend.ts';
import fc from '../support/properties.ts';

const newPrice = (changes: Partial<Price> = {}): Price => ({
  zone: 'rest',
  task: 'renew',
  period: 1,
  amount: { currency: 'EUR', minor: 1_800 },
  validFrom: '2026-01-01',
  source: 'Contract 7',
  ...changes,
});
const LIST = [
  newPrice(),
  newPrice({ validFrom: '2026-07-01', amount: { currency: 'EUR', minor: 2_000 } }),
  newPrice({ task: 'restore', amount: { currency: 'EUR', minor: 8_000 } }),
  newPrice({ zone: 'jp', amount: { currency: 'JPY', minor: 3_000 } }),
];
const newPurchase = (name: string, day: string, changes: Partial<Purchase> = {}): Purchase => ({
  name,
  task: 'renew',
  period: 1,
  requesterId: 'U0ALICE',
  at: new Date(`${day}T12:00:00Z`),
  ...changes,
});
const eur = (minor: number) => [{ currency: 'EUR', minor }];

describe('calculating the spend', () => {
  test('uses the prices of the day, and groups by month, task, zone and person', () => {
    const spend = calculateSpend(LIST, [
      newPurchase('cafe.rest', '2026-06-30'),
      newPurchase('bar.rest', '2026-07-01', { period: 2, requesterId: 'U0BOB' }),
      newPurchase('old.rest', '2026-07-02', { task: 'restore', period: undefined }),
      newPurchase('a.jp', '2026-07-03'),
      newPurchase('b.example', '2026-07-04'),
    ]);
    expect(spend.total).toEqual({
      nameCount: 5,
      unpricedCount: 1,
      sums: [...eur(13_800), { currency: 'JPY', minor: 3_000 }],
    });
    expect(spend.byMonth).toEqual([
      { key: '2026-06', nameCount: 1, unpricedCount: 0, sums: eur(1_800) },
      {
        key: '2026-07',
        nameCount: 4,
        unpricedCount: 1,
        sums: [...eur(12_000), { currency: 'JPY', minor: 3_000 }],
      },
    ]);
    const listSums = (lines: readonly SpendLine[]) => lines.map(({ key, sums }) => [key, sums]);
    expect(listSums(spend.byTask)).toEqual([
      ['renew', [...eur(5_800), { currency: 'JPY', minor: 3_000 }]],
      ['restore', eur(8_000)],
    ]);
    expect(listSums(spend.byZone)).toEqual([
      ['example', []],
      ['jp', [{ currency: 'JPY', minor: 3_000 }]],
      ['rest', eur(13_800)],
    ]);
    expect(listSums(spend.byPerson)).toEqual([
      ['U0ALICE', [...eur(9_800), { currency: 'JPY', minor: 3_000 }]],
      ['U0BOB', eur(4_000)],
    ]);
  });

  test('adds up to the same exact total in every grouping', () => {
    const purchases = fc.array(
      fc.record({
        name: fc.constantFrom('cafe.rest', 'a.jp', 'b.example'),
        task: fc.constantFrom(...PRICED_TASKS),
        period: fc.option(fc.integer({ min: 1, max: 10 }), { nil: undefined }),
        requesterId: fc.constantFrom('U0ALICE', 'U0BOB'),
        at: fc.date({ min: new Date('2025-12-01'), max: new Date('2026-12-31'), noInvalidDate: true }),
      }),
    );
    fc.assert(
      fc.property(purchases, fc.nat(), (allPurchases, splitIndex) => {
        const halves = [
          allPurchases.slice(0, splitIndex % (allPurchases.length + 1)),
          allPurchases.slice(splitIndex % (allPurchases.length + 1)),
        ];
        const sortAllSums = (spend: Spend) => JSON.parse(JSON.stringify(spend), sortSums);
        expect(
          sortAllSums(halves.map((half) => calculateSpend(LIST, half)).reduce(addSpend)),
          'sum of the two halves',
        ).toEqual(sortAllSums(calculateSpend(LIST, allPurchases)));
        const { total, byTag, byMandate, ...lists } = calculateSpend(LIST, allPurchases);
        expect([...byTag, ...byMandate]).toEqual([]);
        // Optional charges without a price aren't counted.
        const counted = allPurchases.filter(({ task }) => !['owner-change', 'authcode'].includes(task));
        expect(total.nameCount).toBe(counted.length);
        for (const lines of Object.values(lists)) {
          expect(lines.reduce((sum, { nameCount }) => sum + nameCount, 0)).toBe(total.nameCount);
          expect(lines.reduce((sum, { unpricedCount }) => sum + unpricedCount, 0)).toBe(total.unpricedCount);
          for (const { currency, minor } of total.sums) {
            const sumsInCurrency = lines.flatMap(({ sums }) =>
              sums.filter((sum) => sum.currency === currency),
            );
            expect(sumsInCurrency.reduce((sum, each) => sum + each.minor, 0)).toBe(minor);
          }
        }
      }),
    );
  });
});

/** Sorts sums for a comparison, as the order of currencies doesn't matter. */
function sortSums(key: string, value: unknown): unknown {
  return key === 'sums' && Array.isArray(value) ? value.map((sum) => JSON.stringify(sum)).sort() : value;
}

test('hidden names count in the sums, but not under their tag, zone or person', () => {
  const tags = new Map([['cafe.rest', ['brand']]]);
  const all = [
    newPurchase('cafe.rest', '2026-07-01'),
    newPurchase('bar.rest', '2026-07-02', { requesterId: 'U0BOB' }),
  ];
  const spend = calculateSpend(LIST, all, tags, ({ name }) => name === 'cafe.rest');
  const listNameCounts = (lines: readonly SpendLine[]) => lines.map(({ key, nameCount }) => [key, nameCount]);
  expect(spend.total.sums).toEqual(eur(4_000));
  expect(listNameCounts(spend.byTask)).toEqual([['renew', 2]]);
  expect(listNameCounts(spend.byZone)).toEqual([
    [CONCEALED_KEY, 1],
    ['rest', 1],
  ]);
  expect(listNameCounts(spend.byPerson)).toEqual([
    [CONCEALED_KEY, 1],
    ['U0BOB', 1],
  ]);
  expect(spend.byTag).toEqual([]);
});

test('a name counts once under each of its tags', () => {
  const tags = new Map([
    ['cafe.rest', ['brand', 'shop', 'brand']],
    ['bar.rest', ['shop']],
  ]);
  const all = [
    newPurchase('cafe.rest', '2026-06-30'),
    newPurchase('bar.rest', '2026-06-30'),
    newPurchase('no.rest', '2026-06-30'),
  ];
  expect(calculateSpend(LIST, all, tags).byTag).toEqual([
    { key: 'brand', nameCount: 1, unpricedCount: 0, sums: eur(1_800) },
    { key: 'shop', nameCount: 2, unpricedCount: 0, sums: eur(3_600) },
  ]);
});

test('an optional charge counts only if it has a price', () => {
  const all = [newPurchase('cafe.rest', '2026-06-30', { task: 'authcode' })];
  expect(calculateSpend(LIST, all).total).toEqual({ nameCount: 0, unpricedCount: 0, sums: [] });
  const list = [...LIST, newPrice({ task: 'authcode', amount: { currency: 'EUR', minor: 500 } })];
  expect(calculateSpend(list, all).total).toEqual({ nameCount: 1, unpricedCount: 0, sums: eur(500) });
});

test('the forecast lists every month with its number of names', () => {
  const counts = [
    { month: '2026-12', zone: 'rest', count: 3 },
    { month: '2026-12', zone: 'example', count: 2 },
    { month: '2027-02', zone: 'jp', count: 1 },
    { month: '2028-01', zone: 'rest', count: 9 },
  ];
  expect(forecastRenewals(LIST, counts, ['2026-12', '2027-01', '2027-02'], '2026-11-22')).toEqual([
    { key: '2026-12', nameCount: 5, unpricedCount: 2, sums: eur(6_000) },
    { key: '2027-01', nameCount: 0, unpricedCount: 0, sums: [] },
    { key: '2027-02', nameCount: 1, unpricedCount: 0, sums: [{ currency: 'JPY', minor: 3_000 }] },
  ]);
});

test.each([
  ['2026', '2026-01-01', '2027-01-01'],
  ['2026-12', '2026-12-01', '2027-01-01'],
  ['2026-02', '2026-02-01', '2026-03-01'],
])('%s is a spend period', (text, from, to) => {
  expect(parseSpendPeriod(text)).toEqual({ text, from: new Date(from), to: new Date(to) });
});

test.each(['', '26', '2026-13', '2026-1', '2026-00', '1999', 'last', '2026-11-22'])(
  '%j is not a spend period',
  (text) => {
    expect(parseSpendPeriod(text)).toBeUndefined();
  },
);
