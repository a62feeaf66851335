import { z } from 'zod';
import type { Amount } from './amount.ts';
import type { OrderCost } from './prices.ts';

/** Pure arithmetic in minor units. Sums are bigints, so nothing is rounded. */

export const BUDGET_SPANS = ['month', 'year'] as const;
export type BudgetSpan = (typeof BUDGET_SPANS)[number];

export interface Budget {
  readonly id: string;
  readonly tag: string | undefined;
  readonly span: BudgetSpan;
  readonly amount: Amount;
}

/** The month (`2026-11`) or year (`2026`). @param day YYYY-MM-DD */
export function getPeriod(span: BudgetSpan, day: string): string {
  return day.slice(0, span === 'month' ? 7 : 4);
}

export interface ReservedItem {
  readonly n: number;
  /** Undefined if the price is unknown. Then nothing is reserved. */
  readonly amount: Amount | undefined;
  readonly tags: readonly string[];
}

/** Amounts reserved at an order's last approval. */
export interface Reservation {
  readonly teamId: string;
  /** YYYY-MM-DD in UTC. Determines the month and year that the order counts towards. */
  readonly day: string;
  readonly items: readonly ReservedItem[];
  /** The excess that an admin approved. Nothing beyond it is reserved. */
  readonly agreedExcess: readonly MissingAmount[];
  /** At least one budget applies, so budgets are compared again under a lock. */
  readonly isLimited: boolean;
}

/** @param requested the order's items, in the order of the names in `cost` */
export function buildReservation(
  cost: OrderCost,
  requested: readonly { readonly n: number; readonly name: string }[],
  { teamId, day }: { readonly teamId: string; readonly day: string },
  getTags: (name: string) => readonly string[],
): Reservation {
  const items = requested.map(({ n, name }, index) => ({
    n,
    amount: cost.names[index]?.quote?.amount,
    tags: getTags(name),
  }));
  return { teamId, day, items, agreedExcess: [], isLimited: true };
}

/** Amounts in other currencies don't count towards a budget. */
export function sumInBudget({ tag, amount: { currency } }: Budget, { items }: Reservation): bigint {
  return items.reduce((sum, { amount, tags }) => {
    const counts = amount?.currency === currency && (tag === undefined || tags.includes(tag));
    return counts ? sum + BigInt(amount.minor) : sum;
  }, 0n);
}

export interface BudgetStatus {
  readonly budget: Budget;
  readonly period: string;
  /** Amounts of succeeded orders. */
  readonly booked: bigint;
  /** Amounts of orders that are approved but not carried out yet, or have an unknown outcome. */
  readonly reserved: bigint;
}

export interface BudgetShare extends BudgetStatus {
  readonly orderAmount: bigint;
}

export function computeShares(statuses: readonly BudgetStatus[], reservation: Reservation): BudgetShare[] {
  return statuses
    .map((status) => ({ ...status, orderAmount: sumInBudget(status.budget, reservation) }))
    .filter(({ orderAmount }) => orderAmount > 0n);
}

/** The remaining amount of a budget, before the order's own share. Negative if the budget is already exceeded. */
export function computeRemaining({ budget, booked, reserved }: BudgetStatus): bigint {
  return BigInt(budget.amount.minor) - booked - reserved;
}

export const storedMissingAmount = z.object({
  /** Null for the budget of all names. */
  tag: z.string().nullable(),
  period: z.string(),
  currency: z.string(),
  leftMinor: z.int(),
  takesMinor: z.int(),
});

/** How far an order exceeds a budget, as stored with the order. */
export type MissingAmount = Readonly<z.output<typeof storedMissingAmount>>;

/** Whether an admin has approved at least this excess of the same budgets. */
export function isExcessApproved(
  exceeded: readonly MissingAmount[],
  agreed: readonly MissingAmount[],
): boolean {
  return exceeded.every((missing) =>
    agreed.some(
      (approved) =>
        approved.tag === missing.tag &&
        approved.period === missing.period &&
        approved.currency === missing.currency &&
        computeExcess(approved) >= computeExcess(missing),
    ),
  );
}

function computeExcess({ leftMinor, takesMinor }: MissingAmount): bigint {
  return BigInt(takesMinor) - BigInt(leftMinor);
}

/** The budgets that are too small for the order, with the missing amounts. */
export function findMissingAmounts(shares: readonly BudgetShare[]): MissingAmount[] {
  return shares
    .filter((share) => share.orderAmount > computeRemaining(share))
    .map((share) => ({
      tag: share.budget.tag ?? null,
      period: share.period,
      currency: share.budget.amount.currency,
      leftMinor: toExactNumber(computeRemaining(share)),
      takesMinor: toExactNumber(share.orderAmount),
    }));
}

/** @throws {RangeError} if the number isn't a safe integer */
export function toExactNumber(minor: bigint): number {
  const number = Number(minor);
  if (!Number.isSafeInteger(number)) throw new RangeError('a sum is too large to be exact');
  return number;
}
