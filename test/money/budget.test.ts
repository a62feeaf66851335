import { describe, expect, test } from 'vitest';
import {
  type Budget,
  type BudgetStatus,
  buildReservation,
  computeRemaining,
  computeShares,
  findBudgetOverruns,
  getPeriod,
  type Reservation,
  sumForBudget,
  toSafeInteger,
} from '../../src/money/budget.ts';
import { calculateCost, type Price } from '../../src/money/prices.ts';
import fc from '../support/properties.ts';

const newBudget = (given: Partial<Budget> = {}): Budget => ({
  id: 'b',
  tag: undefined,
  span: 'month',
  amount: { currency: 'EUR', minor: 10_000 },
  ...given,
});
const newStatus = (given: Partial<BudgetStatus> = {}): BudgetStatus => ({
  budget: newBudget(),
  period: '2026-11',
  booked: 0n,
  reserved: 0n,
  ...given,
});

const DAY = { teamId: 'T', day: '2026-11-22' };
const toItems = (...names: string[]) => names.map((name, index) => ({ n: index + 1, name }));

const reservations = fc.record({
  teamId: fc.constant('T'),
  day: fc.constant('2026-11-22'),
  agreedExcess: fc.constant([]),
  hasBudget: fc.constant(true),
  items: fc
    .array(
      fc.record({
        amount: fc.option(
          fc.record({
            currency: fc.constantFrom('EUR', 'JPY'),
            minor: fc.integer({ min: 0, max: 1_000_000_000_000 }),
          }),
          { nil: undefined },
        ),
        tags: fc.subarray(['brand', 'shop', 'old']),
      }),
      { maxLength: 60 },
    )
    .map((items) => items.map((item, index) => ({ n: index + 1, ...item }))),
});

describe('an order’s share of a budget', () => {
  test('is the exact sum of its names with the tag and the currency', () => {
    fc.assert(
      fc.property(reservations, fc.constantFrom(undefined, 'brand', 'shop'), (reservation, tag) => {
        let sum = 0n;
        for (const { amount, tags } of reservation.items)
          if (amount?.currency === 'EUR' && (tag === undefined || tags.some((each) => each === tag)))
            sum += BigInt(amount.minor);
        expect(sumForBudget(newBudget({ tag }), reservation)).toBe(sum);
      }),
    );
  });

  test('is the same for any sequence of names, and however they are split into orders', () => {
    fc.assert(
      fc.property(reservations, fc.nat(60), (reservation, cut) => {
        const sumPart = (items: Reservation['items']) => sumForBudget(newBudget(), { ...reservation, items });
        const { items } = reservation;
        expect(sumPart(items.toReversed())).toBe(sumPart(items));
        expect(sumPart(items.slice(0, cut)) + sumPart(items.slice(cut))).toBe(sumPart(items));
      }),
    );
  });

  test('is empty if no price is known', () => {
    const cost = calculateCost([], { task: 'renew', names: ['cafe.rest', 'bar.rest'] }, '2026-11-22');
    const reservation = buildReservation(cost, toItems('cafe.rest', 'bar.rest'), DAY, () => ['brand']);
    expect(reservation.items.map(({ amount }) => amount)).toEqual([undefined, undefined]);
    const full = newStatus({ booked: 20_000n });
    expect(computeShares([full], reservation)).toEqual([]);
  });

  test('has the price and tags of each name, in the sequence of the items', () => {
    const price: Price = {
      zone: 'rest',
      task: 'renew',
      period: 1,
      amount: { currency: 'EUR', minor: 1_800 },
      validFrom: '2026-01-01',
      source: 'C',
    };
    const cost = calculateCost(
      [price],
      { task: 'renew', names: ['cafe.rest', 'b.example'], period: 2 },
      '2026-11-22',
    );
    const tagsOf = (name: string) => (name === 'cafe.rest' ? ['brand'] : []);
    expect(buildReservation(cost, toItems('cafe.rest', 'b.example'), DAY, tagsOf).items).toEqual([
      { n: 1, amount: { currency: 'EUR', minor: 3_600 }, tags: ['brand'] },
      { n: 2, amount: undefined, tags: [] },
    ]);
  });
});

describe('a budget', () => {
  test('is exceeded only if the booked, reserved and new amounts add up to more than it has', () => {
    const minor = fc.bigInt({ min: 0n, max: 2_000_000_000_000n });
    fc.assert(
      fc.property(reservations, minor, minor, fc.nat(1_000_000_000), (reservation, booked, reserved, has) => {
        const one = newStatus({
          budget: newBudget({ amount: { currency: 'EUR', minor: has } }),
          booked,
          reserved,
        });
        const shares = computeShares([one], reservation);
        const takes = sumForBudget(one.budget, reservation);
        const isOver = takes > 0n && booked + reserved + takes > BigInt(has);
        expect(findBudgetOverruns(shares)).toHaveLength(isOver ? 1 : 0);
        for (const { leftMinor, orderMinor } of findBudgetOverruns(shares)) {
          expect(BigInt(leftMinor)).toBe(computeRemaining(one));
          expect(BigInt(orderMinor)).toBe(takes);
        }
      }),
    );
  });

  test('isn’t exceeded when it is exactly used up, but by another cent', () => {
    const takes = (minor: number): Reservation => ({
      teamId: 'T',
      day: '2026-11-22',
      agreedExcess: [],
      hasBudget: true,
      items: [{ n: 1, amount: { currency: 'EUR', minor }, tags: [] }],
    });
    const one = newStatus({ booked: 4_000n, reserved: 5_999n });
    expect(findBudgetOverruns(computeShares([one], takes(1)))).toEqual([]);
    expect(findBudgetOverruns(computeShares([one], takes(2)))).toMatchObject([
      { leftMinor: 1, orderMinor: 2 },
    ]);
  });

  test('has the month or year of the day as its period', () => {
    expect([getPeriod('month', '2026-11-30'), getPeriod('year', '2026-11-30')]).toEqual(['2026-11', '2026']);
  });

  test('refuses sums beyond the safe integers', () => {
    expect(() => toSafeInteger(2n ** 53n)).toThrow(RangeError);
    expect(toSafeInteger(2n ** 53n - 1n)).toBe(Number.MAX_SAFE_INTEGER);
  });
});
