import { getUtcDay } from '../zones/calendar-day.ts';
import {
  type BudgetOverrun,
  type BudgetShare,
  buildReservation,
  computeShares,
  findBudgetOverruns,
  type Reservation,
} from './budget.ts';
import type { BudgetStore } from './ports.ts';
import type { OrderCost } from './prices.ts';

export interface BudgetComparison {
  readonly reservation: Reservation;
  readonly shares: readonly BudgetShare[];
  readonly exceeded: readonly BudgetOverrun[];
}

export interface BudgetedItems {
  /** Names in ASCII. */
  readonly items: readonly { readonly n: number; readonly name: string }[];
  /** An order whose existing reservations for unsent items are replaced. */
  readonly replacedOrderId: string | undefined;
}

/**
 * Compares an order's cost with the current budgets.
 * @param cost may be a promise, so that budgets are loaded in parallel
 * @returns undefined for an order without a price
 */
export type CompareBudgets = (
  order: BudgetedItems,
  cost: OrderCost | undefined | Promise<OrderCost | undefined>,
) => Promise<BudgetComparison | undefined>;

/** The comparison reserves nothing. The store repeats the comparison when it reserves the amounts. */
export function createBudgetComparer(deps: {
  readonly teamId: string;
  readonly budgets: Pick<BudgetStore, 'loadStatusesForNames'>;
  readonly now: () => Date;
}): CompareBudgets {
  return async ({ items, replacedOrderId }, costPromise) => {
    const { teamId } = deps;
    const day = getUtcDay(deps.now());
    const names = items.map(({ name }) => name);
    const [cost, { statuses, tags }] = await Promise.all([
      costPromise,
      deps.budgets.loadStatusesForNames(names, day, replacedOrderId),
    ]);
    if (cost === undefined) return undefined;
    const reservation = buildReservation(cost, items, { teamId, day }, (name) => tags.get(name) ?? []);
    const shares = computeShares(statuses, reservation);
    return {
      reservation: { ...reservation, hasBudget: shares.length > 0 },
      shares,
      exceeded: findBudgetOverruns(shares),
    };
  };
}
