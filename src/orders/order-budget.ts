import { isDemoContext } from '../accounts/account.ts';
import { isExcessApproved, type MissingAmount, type Reservation } from '../money/budget.ts';
import type { BudgetedItems, CompareBudgets } from '../money/budget-comparison.ts';
import type { OrderCost } from '../money/prices.ts';
import { utcDay } from '../zones/calendar-day.ts';
import { isPaused } from './bulk/waves.ts';
import type { OrdersContext } from './context.ts';
import {
  type Approval,
  chosenTime,
  isRequester,
  type Order,
  pendingItems,
  waitsForScheduledTime,
} from './order.ts';

/**
 * Checks an order against the team's budgets. An order that exceeds one needs an admin's approval, in addition to all
 * others.
 */

/** The amounts that an order reserves in the budgets now. */
export interface BudgetUse {
  readonly price: OrderCost | undefined;
  readonly over: readonly MissingAmount[];
  /** Reserved on approval; undefined for a free order. */
  readonly reservation: Reservation | undefined;
}

/** All items, or the unsent ones of an order that has already reserved them. */
export function budgetedItems(order: Order): BudgetedItems {
  return isPaused(order) || waitsForScheduledTime(order)
    ? { items: pendingItems(order), resumed: order.id }
    : { items: order.items, resumed: undefined };
}

export function lookUpBudgets(context: OrdersContext, order: Order): Promise<BudgetUse> {
  const taken = budgetedItems(order);
  const names = taken.items.map(({ name }) => name);
  const { task, input, sendAfter } = order;
  const price = context.priceOf({ task, names, input, sendAfter });
  return checkBudgets(context, order, taken, price);
}

type Budgeted = Pick<Order, 'sendAfter' | 'mandated'> & {
  readonly account: Pick<Order['account'], 'context'>;
};

/** The budgets of the day on which an order is sent. */
export function budgetsFor(context: OrdersContext, order: Budgeted): CompareBudgets {
  const time = chosenTime(order);
  return time === undefined || time <= context.now()
    ? context.compareBudgets
    : context.budgetsOn(utcDay(time));
}

/** @param cost of these items; the budgets are read meanwhile. Demo systems cost nothing. */
export async function checkBudgets(
  context: OrdersContext,
  order: Budgeted,
  taken: BudgetedItems,
  cost: OrderCost | undefined | Promise<OrderCost | undefined>,
): Promise<BudgetUse> {
  const comparison =
    cost === undefined || isDemoContext(order.account.context)
      ? undefined
      : await budgetsFor(context, order)(taken, cost);
  return { price: await cost, over: comparison?.over ?? [], reservation: comparison?.reservation };
}

/** Consent to exceeding budgets, except by requesters. Pure. */
export function consentToExcess(
  order: Order,
  { over, reservation }: BudgetUse,
  admins: ReadonlySet<string>,
  approvals: readonly Pick<Approval, 'userId' | 'agreedExcess'>[],
) {
  const adminApprovals = approvals.filter(({ userId }) => admins.has(userId) && !isRequester(order, userId));
  const agreeing =
    over.length === 0
      ? []
      : adminApprovals.filter(({ agreedExcess }) => isExcessApproved(over, agreedExcess));
  const unaware = over.length === 0 ? [] : adminApprovals.filter((approval) => !agreeing.includes(approval));
  const agreedExcess = agreeing[0]?.agreedExcess ?? [];
  return {
    admins: agreeing.map(({ userId }) => userId),
    /** Admins who approved before the card showed the whole excess. They may approve again. */
    unaware: unaware.map(({ userId }) => userId),
    reservation: reservation && { ...reservation, agreedExcess },
  };
}
