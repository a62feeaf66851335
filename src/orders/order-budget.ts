import { isDemoContext } from '../accounts/account.ts';
import { type BudgetOverrun, isExcessApproved, type Reservation } from '../money/budget.ts';
import type { BudgetedItems, CompareBudgets } from '../money/budget-comparison.ts';
import { getSendingDay } from '../money/order-cost.ts';
import type { OrderCost } from '../money/prices.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import { isPaused } from './bulk/waves.ts';
import type { OrdersContext } from './context.ts';
import { type Approval, findWaitingItems, isRequester, isWaitingForSendTime, type Order } from './order.ts';

/**
 * Checks an order against the team's budgets. An order that exceeds a budget needs an admin's approval in addition to
 * all other approvals.
 */

/** The amounts that an order would reserve in the budgets now. */
export interface BudgetUse {
  readonly price: OrderCost | undefined;
  readonly exceeded: readonly BudgetOverrun[];
  /** To be reserved on approval; undefined for an order without a price. */
  readonly reservation: Reservation | undefined;
}

/** Returns all items, or only the unsent ones if the order has already reserved amounts. */
export function pickBudgetedItems(order: Order): BudgetedItems {
  return isPaused(order) || isWaitingForSendTime(order)
    ? { items: findWaitingItems(order), replacedOrderId: order.id }
    : { items: order.items, replacedOrderId: undefined };
}

/** The cost of {@link pickBudgetedItems} on the day the order is sent, according to the current price list. */
export function computeOrderCost(
  { priceOrder }: OrdersContext,
  order: Order,
): Promise<OrderCost | undefined> {
  const { task, input, sendAfter } = order;
  return priceOrder({
    task,
    names: pickBudgetedItems(order).items.map(({ name }) => name),
    input,
    sendAfter,
  });
}

export function loadBudgetUse(context: OrdersContext, order: Order): Promise<BudgetUse> {
  return computeBudgetUse(context, order, pickBudgetedItems(order), computeOrderCost(context, order));
}

type BudgetedOrder = Pick<Order, 'sendAfter'> & {
  readonly account: Pick<Order['account'], 'context'>;
};

/** Returns a function that compares costs with the budgets of the day on which the order is sent. */
export function getBudgetComparer(context: OrdersContext, order: BudgetedOrder): CompareBudgets {
  const now = context.now();
  const day = getSendingDay(order, now);
  return day === getUtcDay(now) ? context.compareBudgets : context.compareBudgetsOn(day);
}

/** Demo orders don't count toward budgets. @param cost the items' cost, awaited while the budgets are loaded */
export async function computeBudgetUse(
  context: OrdersContext,
  order: BudgetedOrder,
  items: BudgetedItems,
  cost: OrderCost | undefined | Promise<OrderCost | undefined>,
): Promise<BudgetUse> {
  const comparison =
    cost === undefined || isDemoContext(order.account.context)
      ? undefined
      : await getBudgetComparer(context, order)(items, cost);
  return { price: await cost, exceeded: comparison?.exceeded ?? [], reservation: comparison?.reservation };
}

/** Finds the admins who agreed to exceed the budgets, except requesters. Pure. */
export function findExcessConsent(
  order: Order,
  { exceeded, reservation }: BudgetUse,
  admins: ReadonlySet<string>,
  approvals: readonly Pick<Approval, 'userId' | 'agreedExcess'>[],
) {
  const adminApprovals = approvals.filter(
    ({ userId }) => exceeded.length > 0 && admins.has(userId) && !isRequester(order, userId),
  );
  const consents = adminApprovals.filter(({ agreedExcess }) => isExcessApproved(exceeded, agreedExcess));
  const unawareApprovals = adminApprovals.filter((approval) => !consents.includes(approval));
  const agreedExcess = consents[0]?.agreedExcess ?? [];
  return {
    admins: consents.map(({ userId }) => userId),
    /** Admins who approved before the card showed the current excess. They may approve again. */
    unawareAdmins: unawareApprovals.map(({ userId }) => userId),
    reservation: reservation && { ...reservation, agreedExcess },
  };
}
