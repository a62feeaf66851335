import { z } from 'zod';
import type { Amount } from './amount.ts';
import type { OrderCost } from './prices.ts';

/** Budget arithmetic in minor units. Sums are bigints, so nothing is rounded. Pure. */

export const BUDGET_SPANS = ['month', 'year'] as const;
export type BudgetSpan = (typeof BUDGET_SPANS)[number];

export interface Budget {
  readonly id: string;
  readonly tag: string | undefined;
  readonly span: BudgetSpan;
  readonly amount: Amount;
}

/** The month (`2026-11`) or year (`2026`) that contains the day. @param day YYYY-MM-DD */
export function getPeriod(span: BudgetSpan, day: string): string {
  return day.slice(0, span === 'month' ? 7 : 4);
}

export interface ReservedItem {
  readonly n: number;
  /** Undefined if the price is unknown, so that nothing is reserved. */
  readonly amount: Amount | undefined;
  readonly tags: readonly string[];
}

/** Amounts reserved when the order was last approved. */
export interface Reservation {
  readonly teamId: string;
  /** UTC, YYYY-MM-DD. The order counts toward the budgets of this day's month and year. */
  readonly day: string;
  readonly items: readonly ReservedItem[];
  /** The excess that an admin agreed to. If the excess is larger, nothing is reserved. */
  readonly agreedExcess: readonly BudgetOverrun[];
  /** Whether a budget applies. If so, the store compares again under a lock. */
  readonly hasBudget: boolean;
}

/** @param requestedItems the order's items, in the same sequence as the names in `cost` */
export function buildReservation(
  cost: OrderCost,
  requestedItems: readonly { readonly n: number; readonly name: string }[],
  { teamId, day }: { readonly teamId: string; readonly day: string },
  getTags: (name: string) => readonly string[],
): Reservation {
  const items = requestedItems.map(({ n, name }, index) => ({
    n,
    amount: cost.names[index]?.quote?.amount,
    tags: getTags(name),
  }));
  return { teamId, day, items, agreedExcess: [], hasBudget: true };
}

/** Sums the reserved amounts that have the budget's tag and currency. */
export function sumForBudget({ tag, amount: { currency } }: Budget, { items }: Reservation): bigint {
  return items.reduce((sum, { amount, tags }) => {
    const isCounted = amount?.currency === currency && (tag === undefined || tags.includes(tag));
    return isCounted ? sum + BigInt(amount.minor) : sum;
  }, 0n);
}

export interface BudgetStatus {
  readonly budget: Budget;
  readonly period: string;
  /** Total of the orders that succeeded, in minor units. */
  readonly booked: bigint;
  /** Total of the orders that are approved but unsent, or have an unknown outcome, in minor units. */
  readonly reserved: bigint;
}

export interface BudgetShare extends BudgetStatus {
  readonly orderAmount: bigint;
}

export function computeShares(statuses: readonly BudgetStatus[], reservation: Reservation): BudgetShare[] {
  return statuses
    .map((status) => ({ ...status, orderAmount: sumForBudget(status.budget, reservation) }))
    .filter(({ orderAmount }) => orderAmount > 0n);
}

/** The amount left in a budget before the order. Negative if the budget is already exceeded. */
export function computeRemaining({ budget, booked, reserved }: BudgetStatus): bigint {
  return BigInt(budget.amount.minor) - booked - reserved;
}

export const budgetOverrunSchema = z.object({
  /** Null for a budget that covers all names. */
  tag: z.string().nullable(),
  period: z.string(),
  currency: z.string(),
  leftMinor: z.int(),
  orderMinor: z.int(),
});

/** How far an order exceeds a budget, as stored with the order. */
export type BudgetOverrun = Readonly<z.output<typeof budgetOverrunSchema>>;

/** Whether an admin agreed to at least the same excess in each budget. */
export function isExcessApproved(
  overruns: readonly BudgetOverrun[],
  agreedOverruns: readonly BudgetOverrun[],
): boolean {
  return overruns.every((overrun) =>
    agreedOverruns.some(
      (agreedOverrun) =>
        agreedOverrun.tag === overrun.tag &&
        agreedOverrun.period === overrun.period &&
        agreedOverrun.currency === overrun.currency &&
        computeExcess(agreedOverrun) >= computeExcess(overrun),
    ),
  );
}

function computeExcess({ leftMinor, orderMinor }: BudgetOverrun): bigint {
  return BigInt(orderMinor) - BigInt(leftMinor);
}

/** The budgets that the order would exceed, and by how much. */
export function findBudgetOverruns(shares: readonly BudgetShare[]): BudgetOverrun[] {
  return shares
    .filter((share) => share.orderAmount > computeRemaining(share))
    .map((share) => ({
      tag: share.budget.tag ?? null,
      period: share.period,
      currency: share.budget.amount.currency,
      leftMinor: toSafeInteger(computeRemaining(share)),
      orderMinor: toSafeInteger(share.orderAmount),
    }));
}

/** @throws {RangeError} if the number isn't a safe integer */
export function toSafeInteger(minor: bigint): number {
  const number = Number(minor);
  if (!Number.isSafeInteger(number)) throw new RangeError('an amount is not a safe integer');
  return number;
}
