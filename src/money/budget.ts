import { z } from 'zod';
import type { Amount } from './amount.ts';
import type { OrderCost } from './prices.ts';

/*
 * Budgets: what the team wants to spend at most in a month or a year, on all names or on those of a tag. Pure arithmetic on
 * minor units; sums are bigints, so that none is ever rounded.
 */

export const BUDGET_SPANS = ['month', 'year'] as const;
export type BudgetSpan = (typeof BUDGET_SPANS)[number];

export interface Budget {
  readonly id: string;
  /** The tag whose names it covers; undefined for all names. */
  readonly tag: string | undefined;
  readonly span: BudgetSpan;
  readonly amount: Amount;
}

/** The month (`2026-11`) or year (`2026`) of a budget that a day belongs to. @param day YYYY-MM-DD */
export function periodOf(span: BudgetSpan, day: string): string {
  return day.slice(0, span === 'month' ? 7 : 4);
}

/** What one name of an order takes out of the budgets. */
export interface ReservedItem {
  readonly n: number;
  /** Undefined: the price is not known, so nothing is counted. */
  readonly amount: Amount | undefined;
  readonly tags: readonly string[];
}

/** What an order takes out of the budgets from its last approval on. */
export interface Reservation {
  readonly teamId: string;
  /** YYYY-MM-DD in UTC. It decides in which month and year the order counts. */
  readonly day: string;
  readonly items: readonly ReservedItem[];
  /** What an admin agreed to exceed: beyond that, nothing is reserved. */
  readonly agreedExcess: readonly Shortfall[];
  /** A budget covers some of it, so that the budgets are compared once more, under a lock, when it is kept. */
  readonly isLimited: boolean;
}

/**
 * Reserves what an order costs, name by name.
 * @param asked the order's items, in the sequence in which the cost has their names
 */
export function reservationOf(
  cost: OrderCost,
  asked: readonly { readonly n: number; readonly name: string }[],
  { teamId, day }: { readonly teamId: string; readonly day: string },
  tagsOf: (name: string) => readonly string[],
): Reservation {
  const items = asked.map(({ n, name }, index) => ({
    n,
    amount: cost.names[index]?.quote?.amount,
    tags: tagsOf(name),
  }));
  return { teamId, day, items, agreedExcess: [], isLimited: true };
}

/** What a reservation takes out of a budget. Amounts of another currency are not counted against it. */
export function takenFrom({ tag, amount: { currency } }: Budget, { items }: Reservation): bigint {
  return items.reduce((sum, { amount, tags }) => {
    const counts = amount?.currency === currency && (tag === undefined || tags.includes(tag));
    return counts ? sum + BigInt(amount.minor) : sum;
  }, 0n);
}

/** How a budget stands in one month or year. */
export interface BudgetStanding {
  readonly budget: Budget;
  readonly period: string;
  /** Spent: names whose order was carried out. */
  readonly booked: bigint;
  /** Approved, and not yet carried out or of unknown outcome. */
  readonly reserved: bigint;
}

/** A budget that an order takes something out of. */
export interface BudgetShare extends BudgetStanding {
  readonly takes: bigint;
}

export function sharesOf(standings: readonly BudgetStanding[], reservation: Reservation): BudgetShare[] {
  return standings
    .map((standing) => ({ ...standing, takes: takenFrom(standing.budget, reservation) }))
    .filter(({ takes }) => takes > 0n);
}

/** What is left of a budget before an order takes its share; below zero when it is exceeded already. */
export function leftOf({ budget, booked, reserved }: BudgetStanding): bigint {
  return BigInt(budget.amount.minor) - booked - reserved;
}

export const storedShortfall = z.object({
  /** Null for the budget of all names. */
  tag: z.string().nullable(),
  period: z.string(),
  currency: z.string(),
  leftMinor: z.int(),
  /** What the order takes. */
  takesMinor: z.int(),
});

/** By how much an order exceeds a budget, as it is kept with the order. */
export type Shortfall = Readonly<z.output<typeof storedShortfall>>;

/** Whether all that is exceeded was agreed to: the same budgets, by as much or by more. */
export function isAgreedTo(over: readonly Shortfall[], agreed: readonly Shortfall[]): boolean {
  return over.every((excess) =>
    agreed.some(
      (known) =>
        known.tag === excess.tag &&
        known.period === excess.period &&
        known.currency === excess.currency &&
        excessOf(known) >= excessOf(excess),
    ),
  );
}

function excessOf({ leftMinor, takesMinor }: Shortfall): bigint {
  return BigInt(takesMinor) - BigInt(leftMinor);
}

/** The budgets that do not have as much as an order takes. */
export function shortfallsOf(shares: readonly BudgetShare[]): Shortfall[] {
  return shares
    .filter((share) => share.takes > leftOf(share))
    .map((share) => ({
      tag: share.budget.tag ?? null,
      period: share.period,
      currency: share.budget.amount.currency,
      leftMinor: exactNumber(leftOf(share)),
      takesMinor: exactNumber(share.takes),
    }));
}

/** A sum of minor units as a number. @throws {RangeError} when a number does not hold it exactly */
export function exactNumber(minor: bigint): number {
  const number = Number(minor);
  if (!Number.isSafeInteger(number)) throw new RangeError('a sum is too large to be exact');
  return number;
}
