import { describe, expect, test } from 'vitest';
import { formatAmount, formatDecimal, sumByCurrency } from '../../src/money/amount.ts';
import {
  calculateCost,
  findQuote,
  getZone,
  isSameCost,
  PRICED_TASKS,
  type Price,
} from '../../src/money/prices.ts';
import fc from '../support/properties.ts';

const eur = (minor: number) => ({ currency: 'EUR', minor });
const newPrice = (changes: Partial<Price> = {}): Price => ({
  zone: 'rest',
  task: 'renew',
  period: 1,
  amount: eur(1_800),
  validFrom: '2026-11-01',
  source: 'Contract 7',
  ...changes,
});

const anyDay = fc
  .integer({ min: 0, max: 700 })
  .map((day) => new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10));
const anyPrice: fc.Arbitrary<Price> = fc.record({
  zone: fc.constantFrom('rest', 'example', 'co.uk'),
  task: fc.constantFrom(...PRICED_TASKS),
  period: fc.constantFrom(1, 2, 5),
  amount: fc.record({
    currency: fc.constantFrom('EUR', 'JPY', 'BHD'),
    minor: fc.integer({ min: 0, max: 1_000_000_000_000 }),
  }),
  validFrom: anyDay,
  source: fc.constantFrom('Contract 7', 'Web page'),
});
const anyNames = fc.array(fc.constantFrom('cafe.rest', 'bar.rest', 'a.example', 'b.co.uk', 'c.uk'), {
  minLength: 1,
  maxLength: 50,
});

describe('the price on a day', () => {
  test('is the latest one that is valid', () => {
    const list = [
      newPrice({ validFrom: '2026-06-01', amount: eur(1_500) }),
      newPrice({ validFrom: '2026-11-01', amount: eur(1_800) }),
      newPrice({ validFrom: '2027-01-01', amount: eur(2_000) }),
    ];
    const getMinorOn = (day: string) =>
      findQuote(list, { name: 'cafe.rest', task: 'renew' }, day)?.amount.minor;
    expect(['2026-05-31', '2026-06-01', '2026-10-31', '2026-11-01', '2027-01-01'].map(getMinorOn)).toEqual([
      undefined,
      1_500,
      1_500,
      1_800,
      2_000,
    ]);
  });

  test('is the price of the whole period, or the yearly price times the years', () => {
    const list = [newPrice(), newPrice({ period: 5, amount: eur(8_000) })];
    const quote = (period: number) =>
      findQuote(list, { name: 'cafe.rest', task: 'renew', period }, '2026-12-01');
    expect(quote(5)).toMatchObject({ amount: eur(8_000), times: 1 });
    expect(quote(2)).toMatchObject({ amount: eur(3_600), times: 2 });
  });

  test('counts once for a task without a period', () => {
    const list = [newPrice({ task: 'restore', amount: eur(8_000) })];
    expect(findQuote(list, { name: 'cafe.rest', task: 'restore', period: 3 }, '2026-12-01')).toMatchObject({
      amount: eur(8_000),
      times: 1,
    });
  });

  test('is unknown for a name in a zone below the listed one', () => {
    expect(getZone('cafe.com.de')).toBe('com.de');
    expect(
      findQuote([newPrice({ zone: 'de' })], { name: 'cafe.com.de', task: 'renew' }, '2026-12-01'),
    ).toBeUndefined();
  });
});

describe('the cost of an order', () => {
  test('lists unknown prices and leaves them out of the sum', () => {
    const cost = calculateCost(
      [newPrice()],
      { task: 'renew', names: ['cafe.rest', 'b.example'] },
      '2026-12-01',
    );
    expect(cost).toMatchObject({
      sums: [eur(1_800)],
      unknown: 1,
      days: ['2026-11-01'],
      sources: ['Contract 7'],
    });
  });

  test('may be higher in zones with premium names and in unknown zones', () => {
    const mayCostMore = (name: string, task: 'renew' | 'restore') =>
      calculateCost([], { task, names: [name] }, '2026-12-01').mayCostMore;
    expect([
      mayCostMore('cafe.rest', 'renew'),
      mayCostMore('a.example', 'renew'),
      mayCostMore('cafe.rest', 'restore'),
    ]).toEqual([true, true, false]);
  });

  test('is the exact sum of the known prices in each currency, for random lists', () => {
    fc.assert(
      fc.property(
        fc.array(anyPrice),
        fc.constantFrom(...PRICED_TASKS),
        anyNames,
        fc.integer({ min: 1, max: 10 }),
        anyDay,
        (list, task, requestedNames, period, day) => {
          const cost = calculateCost(list, { task, names: requestedNames, period }, day);
          const knownQuotes = cost.names.flatMap(({ quote }) => quote ?? []);
          expect(cost.unknown + knownQuotes.length).toBe(requestedNames.length);
          for (const { currency, minor } of cost.sums) {
            const quotesInCurrency = knownQuotes.filter(({ amount }) => amount.currency === currency);
            expect(BigInt(minor)).toBe(
              quotesInCurrency.reduce((sum, { amount }) => sum + BigInt(amount.minor), 0n),
            );
          }
          expect(new Set(cost.sums.map(({ currency }) => currency)).size).toBe(cost.sums.length);
          for (const { quote, name } of cost.names) {
            // Every quote comes from a valid line of the list.
            const matchingPrices = list.filter(
              (each) => each.zone === getZone(name) && each.task === task && each.validFrom <= day,
            );
            if (quote === undefined) expect(matchingPrices.filter((each) => each.period === 1)).toEqual([]);
            else
              expect(matchingPrices.map((each) => each.amount.minor * quote.times)).toContain(
                quote.amount.minor,
              );
          }
        },
      ),
    );
  });

  test('doesn’t depend on the order of the price list', () => {
    // The store keeps only one price per key.
    const lists = fc.uniqueArray(anyPrice, {
      selector: ({ zone, task, period, validFrom }) => `${zone} ${task} ${period} ${validFrom}`,
    });
    fc.assert(
      fc.property(
        lists,
        fc.constantFrom(...PRICED_TASKS),
        anyNames,
        anyDay,
        (list, task, requestedNames, day) => {
          const order = { task, names: requestedNames };
          expect(calculateCost([...list].reverse(), order, day)).toEqual(calculateCost(list, order, day));
        },
      ),
    );
  });

  test('differs if a price changes or is no longer known', () => {
    const order = { task: 'renew', names: ['cafe.rest'] } as const;
    const before = calculateCost([newPrice()], order, '2026-12-01');
    expect(isSameCost(before, calculateCost([newPrice({ source: 'other' })], order, '2026-12-01'))).toBe(
      true,
    );
    expect(isSameCost(before, calculateCost([newPrice({ amount: eur(1_801) })], order, '2026-12-01'))).toBe(
      false,
    );
    expect(isSameCost(before, calculateCost([], order, '2026-12-01'))).toBe(false);
  });
});

describe('amounts', () => {
  test.each([
    [3_600, 'EUR', 'en-GB', '€36.00'],
    [3_600, 'EUR', 'de-DE', '36,00\u00a0€'],
    [1_234_567, 'JPY', 'en-GB', 'JP¥1,234,567'],
    [1_234, 'BHD', 'en-GB', 'BHD\u00a01.234'],
    [1_005, 'IQD', 'en-GB', 'IQD\u00a01.005'],
    [5, 'EUR', 'en-GB', '€0.05'],
    [-5, 'EUR', 'en-GB', '−€0.05'],
    [9_007_199_254_740_991, 'EUR', 'en-GB', '€90,071,992,547,409.91'],
  ])('%d %s in %s are formatted as %s', (minor, currency, locale, expected) => {
    expect(formatAmount({ currency, minor }, locale)).toBe(expected);
  });

  test('keep every digit in every locale', () => {
    const amounts = fc.record({
      currency: fc.constantFrom('EUR', 'JPY', 'BHD', 'USD', 'CLF'),
      minor: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    });
    const locales = fc.constantFrom('en-GB', 'en-US', 'de-DE', 'fr-FR', 'ja-JP', 'ar-EG', 'hi-IN');
    fc.assert(
      fc.property(amounts, locales, (amount, locale) => {
        const digits = (text: string) => text.replace(/\D/g, '');
        expect(digits(formatAmount(amount, locale))).toBe(digits(formatDecimal(amount)));
      }),
    );
  });

  test('are summed by currency, and an inexact sum throws', () => {
    expect(sumByCurrency([eur(1), { currency: 'JPY', minor: 5 }, eur(2)])).toEqual([
      eur(3),
      { currency: 'JPY', minor: 5 },
    ]);
    expect(() => sumByCurrency([eur(Number.MAX_SAFE_INTEGER), eur(1)])).toThrow(RangeError);
  });
});
