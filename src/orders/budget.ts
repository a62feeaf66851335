import { isDemoContext } from '../accounts/account.ts';
import type { Reservation, Shortfall } from '../money/budget.ts';
import type { LookAtBudgets } from '../money/budget-look.ts';
import { isRequester, type Order } from './order.ts';

/*
 * What the team's budgets say about an order. An order that exceeds one needs an admin's approval, besides
 * everybody else's that it needs.
 */

export interface BudgetDeps {
  readonly lookAtBudgets?: LookAtBudgets;
  /** Whether a person is an admin at this moment; false where Slack does not tell. */
  readonly isAdmin?: (userId: string) => Promise<boolean>;
}

export interface BudgetCheck {
  /** Budgets that do not have what the order takes. */
  readonly over: readonly Shortfall[];
  /** Those who agree and are admins, without those who ask; empty where it fits. */
  readonly admins: readonly string[];
  /** What is reserved with the last approval; undefined for an order that costs nothing. */
  readonly reservation: Reservation | undefined;
}

/** What budgets look at in an order. */
interface BudgetedOrder extends Pick<Order, 'account' | 'requesterId' | 'earlierRequesters'> {
  readonly items: readonly { readonly name: string }[];
}

const NOTHING: BudgetCheck = { over: [], admins: [], reservation: undefined };

/**
 * Checks whether an order fits the budgets at this moment. Test systems cost nothing.
 * @param price what it costs, as JSON, or a promise of it
 * @param givers those who agree
 */
export async function checkBudgets(
  { lookAtBudgets, isAdmin }: BudgetDeps,
  order: BudgetedOrder,
  price: unknown,
  givers: readonly string[],
): Promise<BudgetCheck> {
  if (price === undefined || isDemoContext(order.account.context)) return NOTHING;
  const names = order.items.map(({ name }) => name);
  const look = await lookAtBudgets?.(names, price);
  if (look === undefined) return NOTHING;
  const { over, reservation } = look;
  const others = over.length === 0 ? [] : givers.filter((userId) => !isRequester(order, userId));
  const found = await Promise.all(others.map(async (userId) => (await isAdmin?.(userId)) === true));
  const admins = others.filter((_, index) => found[index]);
  return { over, admins, reservation: { ...reservation, mayExceed: admins.length > 0 } };
}
