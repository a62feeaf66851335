import { expect, test } from 'vitest';
import { createOrderPricer, getSendingDay, type PricedOrder } from '../../src/money/order-cost.ts';
import type { ListedPrice } from '../../src/money/ports.ts';

const NOW = new Date('2026-03-01T09:00:00Z');
const newPrice = (task: ListedPrice['task']): ListedPrice => ({
  ...{ id: task, zone: 'rest', task, period: 1, amount: { currency: 'EUR', minor: 1_800 } },
  ...{ validFrom: '2026-01-01', source: '', changedBy: 'U0ADA', changedAt: NOW },
});
const calculateSum = async (listedPrices: readonly ListedPrice[], order: Partial<PricedOrder>) => {
  const list = async () => listedPrices;
  const prices = { list, listForZones: list, save: async () => true };
  const pricer = createOrderPricer({ prices, now: () => NOW });
  const cost = await pricer({ task: 'renew', names: ['a.rest', 'b.rest'], input: {}, ...order });
  return cost?.sums.map(({ minor }) => minor);
};

test.each<[what: string, order: Partial<PricedOrder>, sum: readonly number[] | undefined]>([
  ['a renewal', {}, [3_600]],
  ['a renewal for two years', { input: { period: 2 } }, [7_200]],
  ['a renewal with years per name', { input: { period: 2, periods: { 'a.rest': 1 } } }, [5_400]],
  ['a task with an optional charge and a price', { task: 'authcode' }, [3_600]],
  ['a task with an optional charge and no price', { task: 'owner-change' }, undefined],
  ['a charged task without a price', { task: 'restore' }, []],
  ['a task that is never charged', { task: 'nameservers' }, undefined],
])('calculates the cost of %s', async (_, order, sum) => {
  expect(await calculateSum([newPrice('renew'), newPrice('authcode')], order)).toEqual(sum);
});

test('an order is priced for its scheduled day, or for today if that day has passed', () => {
  const computeSendingDay = (sendAfter?: Date) => getSendingDay({ sendAfter }, NOW);
  expect([
    computeSendingDay(),
    computeSendingDay(new Date('2026-02-01')),
    computeSendingDay(new Date('2026-04-01')),
  ]).toEqual([...['2026-03-01', '2026-03-01', '2026-04-01']]);
});
