import { isDemoContext } from '../accounts/account.ts';
import { isAgreedTo, type Reservation, type Shortfall } from '../money/budget.ts';
import type { BudgetedItems } from '../money/budget-look.ts';
import type { OrderCost } from '../money/prices.ts';
import { isPaused } from './bulk/waves.ts';
import type { OrdersContext } from './context.ts';
import { type Approval, isRequester, type Order, waitingItems } from './order.ts';

/*
 * What the team's budgets say about an order. An order that exceeds one needs an admin's approval, besides
 * everybody else's that it needs.
 */

export interface BudgetCheck {
  /** Budgets that do not have what the order takes. */
  readonly over: readonly Shortfall[];
  /** The admins who agree to that, without those who ask; empty where it fits. */
  readonly admins: readonly string[];
  /** The admins who approved before the card said all of that. They may look and approve again. */
  readonly unaware: readonly string[];
  /** What is reserved when the order is let go; undefined for an order that costs nothing. */
  readonly reservation: Reservation | undefined;
}

type BudgetedOrder = Pick<Order, 'account' | 'requesterId' | 'earlierRequesters'> & BudgetedItems;

const NOTHING: BudgetCheck = { over: [], admins: [], unaware: [], reservation: undefined };

/** What of an order takes something out of the budgets: all of it, or what is still to be sent when it goes on. */
export function budgetedItems(order: Order): BudgetedItems {
  return isPaused(order)
    ? { items: waitingItems(order), resumed: order.id }
    : { items: order.items, resumed: undefined };
}

/**
 * Checks whether an order fits the budgets at this moment. Test systems cost nothing.
 * @param cost what it costs, or a promise of it
 * @param approvals of those who agree
 */
export async function checkBudgets(
  { lookAtBudgets, isAdmin }: OrdersContext,
  order: BudgetedOrder,
  cost: OrderCost | undefined | Promise<OrderCost | undefined>,
  approvals: readonly Pick<Approval, 'userId' | 'agreedExcess'>[],
): Promise<BudgetCheck> {
  if (cost === undefined || isDemoContext(order.account.context)) return NOTHING;
  const look = await lookAtBudgets(order, cost);
  if (look === undefined) return NOTHING;
  const { over, reservation } = look;
  const others = over.length === 0 ? [] : approvals.filter(({ userId }) => !isRequester(order, userId));
  const found = await Promise.all(others.map(({ userId }) => isAdmin(userId)));
  const asked = others.filter((_, index) => found[index]);
  const agreeing = asked.filter(({ agreedExcess }) => isAgreedTo(over, agreedExcess));
  const idsOf = (given: typeof asked) => given.map(({ userId }) => userId);
  return {
    over,
    admins: idsOf(agreeing),
    unaware: idsOf(asked.filter((approval) => !agreeing.includes(approval))),
    reservation: { ...reservation, agreedExcess: agreeing[0]?.agreedExcess ?? [] },
  };
}
