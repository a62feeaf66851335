import type { Amount } from '../../src/money/amount.ts';
import type { BudgetSpan } from '../../src/money/budget.ts';
import { createBudgetComparer } from '../../src/money/budget-comparison.ts';
import { createOrderPricer } from '../../src/money/order-cost.ts';
import { diffPrices } from '../../src/money/prices.ts';
import { pickBudgetedItems } from '../../src/orders/order-budget.ts';
import type { OrderRequest } from '../../src/orders/request-context.ts';
import { requestOrder } from '../../src/orders/request-order.ts';
import { createBudgetStore } from '../../src/store/budgets.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createPriceStore } from '../../src/store/prices.ts';
import { ALICE, startRig as startOrderRig } from '../orders/rig.ts';
import { createTestDatabase } from '../support/database.ts';
import { addBudgetTags } from '../support/money.ts';

const TEAM_ID = 'T0STEWARD';
const ADMINS: ReadonlySet<string> = new Set(['U0ADA', 'U0CAROL', 'U0ALICE']);

const eur = (minor: number): Amount => ({ currency: 'EUR', minor });

/** The order rig with prices and budgets. Renewing for a year costs €10.00, and restoring €80.00. */
export async function startRig() {
  const testDatabase = await createTestDatabase();
  const rig = await startOrderRig({ database: testDatabase });
  const database = openDatabase({ url: testDatabase.url });
  const prices = createPriceStore(database, TEAM_ID);
  const budgets = createBudgetStore(database, TEAM_ID);
  const tags = new Map<string, readonly string[]>();
  const now = () => rig.now;
  await prices.save(
    diffPrices(
      [],
      [
        { zone: 'rest', task: 'renew', period: 1, amount: eur(1_000), validFrom: '2026-01-01', source: 'C' },
        {
          zone: 'rest',
          task: 'restore',
          period: 1,
          amount: eur(8_000),
          validFrom: '2026-01-01',
          source: 'C',
        },
      ],
    ),
    'U0ADA',
    rig.now,
  );
  const money = {
    priceOrder: createOrderPricer({ prices, now }),
    compareBudgets: createBudgetComparer({
      teamId: TEAM_ID,
      budgets: addBudgetTags(budgets, async () => tags),
      now,
    }),
    isAdmin: async (userId: string) => ADMINS.has(userId),
  };
  const orders = { ...rig.orders, ...money };
  let deliveryCount = 0;

  return {
    rig,
    orders,
    money,
    prices,
    budgets,
    tags,
    database,
    url: testDatabase.url,
    async reset() {
      await rig.reset();
      tags.clear();
      await rig.sql('DELETE FROM budgets');
      await rig.sql('DELETE FROM budget_reservations');
    },
    async addBudget(minor: number, options: { readonly tag?: string; readonly span?: BudgetSpan } = {}) {
      const { tag, span = 'month' } = options;
      await budgets.add({ tag, span, amount: eur(minor) }, 'U0ADA', rig.now);
    },
    /** Alice requests a task, which must be accepted. */
    async requestAccepted(task: OrderRequest['task'], input: unknown, changes: Partial<OrderRequest> = {}) {
      deliveryCount += 1;
      const outcome = await requestOrder(orders, {
        task,
        input,
        secret: undefined,
        reason: undefined,
        requesterId: 'U0ALICE',
        account: rig.accounts.get(ALICE.id),
        channelId: 'C0DOMAINS',
        threadTs: undefined,
        deliveryId: `money:${deliveryCount}`,
        ...changes,
      });
      if (outcome.kind !== 'accepted') throw new Error(`order not accepted: ${outcome.kind}`);
      return outcome.order;
    },
    /** Records that the order's card showed by how much the order exceeds budgets. */
    async recordCardShown(orderId: string) {
      const order = await rig.read(orderId);
      const { task, input } = order;
      const budgeted = pickBudgetedItems(order);
      const names = budgeted.items.map(({ name }) => name);
      const comparison = await money.compareBudgets(budgeted, money.priceOrder({ task, names, input }));
      await rig.realStore.recordShownOverruns(orderId, comparison?.exceeded ?? []);
    },
    /** The booked and reserved amounts of today's budgets, in minor units. */
    async listStatuses(): Promise<[booked: bigint, reserved: bigint][]> {
      const statuses = await budgets.listStatuses(rig.now.toISOString().slice(0, 10));
      return statuses.map(({ booked, reserved }) => [booked, reserved]);
    },
    async end() {
      await database.close();
      await rig.end();
    },
  };
}

export type MoneyRig = Awaited<ReturnType<typeof startRig>>;
