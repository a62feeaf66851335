import { isDemoContext } from '../accounts/account.ts';
import { isAgreedTo, type MissingAmount, type Reservation } from '../money/budget.ts';
import type { BudgetedItems } from '../money/budget-comparison.ts';
import type { OrderCost } from '../money/prices.ts';
import { isPaused } from './bulk/waves.ts';
import type { OrdersContext } from './context.ts';
import { type Approval, isRequester, type Order, pendingItems } from './order.ts';

/**
 * Checks an order against the team's budgets. An order that exceeds one needs an admin's approval, besides all
 * others.
 */

/** The amounts an order reserves of the budgets now. */
export interface BudgetUse {
  readonly price: OrderCost | undefined;
  readonly over: readonly MissingAmount[];
  /** Reserved on approval; undefined for a free order. */
  readonly reservation: Reservation | undefined;
}

/** All items count, or the unsent ones of a paused order. */
export function budgetedItems(order: Order): BudgetedItems {
  return isPaused(order)
    ? { items: pendingItems(order), resumed: order.id }
    : { items: order.items, resumed: undefined };
}

export function lookUpBudgets(context: OrdersContext, order: Order): Promise<BudgetUse> {
  const taken = budgetedItems(order);
  const names = taken.items.map(({ name }) => name);
  const price = context.priceOf({ task: order.task, names, input: order.input });
  return checkBudgets(context, order.account, taken, price);
}

/** @param cost of these items; the budgets are read meanwhile. Demo systems cost nothing. */
export async function checkBudgets(
  { compareBudgets }: OrdersContext,
  account: Order['account'],
  taken: BudgetedItems,
  cost: OrderCost | undefined | Promise<OrderCost | undefined>,
): Promise<BudgetUse> {
  const look =
    cost === undefined || isDemoContext(account.context) ? undefined : await compareBudgets(taken, cost);
  return { price: await cost, over: look?.over ?? [], reservation: look?.reservation };
}

/** Consent to exceeding budgets. Requesters don't count. Pure. */
export function consentToExcess(
  order: Order,
  { over, reservation }: BudgetUse,
  admins: ReadonlySet<string>,
  approvals: readonly Pick<Approval, 'userId' | 'agreedExcess'>[],
) {
  const asked = approvals.filter(({ userId }) => admins.has(userId) && !isRequester(order, userId));
  const agreeing =
    over.length === 0 ? [] : asked.filter(({ agreedExcess }) => isAgreedTo(over, agreedExcess));
  const unaware = over.length === 0 ? [] : asked.filter((approval) => !agreeing.includes(approval));
  const agreedExcess = agreeing[0]?.agreedExcess ?? [];
  return {
    admins: agreeing.map(({ userId }) => userId),
    /** Admins who approved before the card showed the whole excess. They may approve again. */
    unaware: unaware.map(({ userId }) => userId),
    reservation: reservation && { ...reservation, agreedExcess },
  };
}
