import { afterAll, beforeAll, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import { createBudgetComparer } from '../../src/money/budget-comparison.ts';
import { createOrderPricer } from '../../src/money/order-cost.ts';
import { createBudgetStore } from '../../src/store/budgets.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { createPriceStore } from '../../src/store/prices.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { type MoneyRig, startRig } from './rig.ts';

/*
 * 150 concurrent approvals against one budget, on three replicas with separate connections to one database.
 */

const ORDERS = 150;
const REPLICAS = 3;
const TEAM_ID = 'T0STEWARD';

let m: MoneyRig;
beforeAll(async () => {
  m = await startRig();
});
afterAll(() => m.end());

test('150 concurrent approvals on three replicas never overspend a budget by a cent', async () => {
  // One cent less than 38 renewals of €10.00.
  await m.addBudget(37_999);
  const ids: string[] = [];
  for (let n = 0; n < ORDERS; n += 1)
    ids.push((await m.requestAccepted('renew', { names: [`n${n}.rest`], period: 1 })).id);
  const databases = Array.from({ length: REPLICAS }, () => openDatabase({ url: m.url }));
  const now = () => m.rig.now;
  const replicas = databases.map((database) => {
    const budgets = createBudgetStore(database, TEAM_ID);
    return {
      ...m.orders,
      store: createOrderStore(database, BOT_SIGNER),
      priceOrder: createOrderPricer({ prices: createPriceStore(database, TEAM_ID), now }),
      compareBudgets: createBudgetComparer({ teamId: TEAM_ID, budgets, now }),
    };
  });
  const outcomes = await Promise.all(
    ids.map((id, n) => {
      const replica = replicas[n % REPLICAS];
      if (replica === undefined) throw new Error('no replica');
      return approveOrder(replica, id, 'U0BOB');
    }),
  );
  expect(outcomes.filter(({ ok }) => !ok)).toEqual([]);
  const states = await m.rig.sql('SELECT state, count(*)::int AS count FROM orders GROUP BY 1 ORDER BY 1');
  expect(states).toEqual([
    { state: 'APPROVED', count: 37 },
    { state: 'PENDING', count: 113 },
  ]);
  const [sum] = await m.rig.sql(
    'SELECT sum(amount_minor)::int AS minor, count(*)::int AS rows FROM budget_reservations',
  );
  expect(sum).toEqual({ minor: 37_000, rows: 37 });
  await Promise.all(databases.map((database) => database.close()));
}, 120_000);
