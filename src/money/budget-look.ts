import { utcDay } from '../zones/calendar-day.ts';
import {
  type BudgetShare,
  type Reservation,
  reservationOf,
  type Shortfall,
  sharesOf,
  shortfallsOf,
} from './budget.ts';
import type { BudgetStore } from './ports.ts';
import type { OrderCost } from './prices.ts';

/** The tags of names, by name in ASCII; a name that is not among them has none. */
export type TagsOf = (names: readonly string[]) => Promise<ReadonlyMap<string, readonly string[]>>;

/** What an order takes out of the budgets, and how they stand. */
export interface BudgetLook {
  readonly reservation: Reservation;
  readonly shares: readonly BudgetShare[];
  /** The budgets among them that do not have as much. */
  readonly over: readonly Shortfall[];
}

/** What of an order takes something out of the budgets. */
export interface BudgetedItems {
  /** By their numbers in the order, with their names in ASCII. */
  readonly items: readonly { readonly n: number; readonly name: string }[];
  /** The order, if it was paused and is to go on: what is reserved for what it has not sent is reserved anew. */
  readonly resumed: string | undefined;
}

/**
 * Looks whether the budgets of this moment have what an order costs.
 * @param cost what the items cost, or a promise of it: the budgets are read meanwhile
 * @returns undefined for an order that has no price
 */
export type LookAtBudgets = (
  order: BudgetedItems,
  cost: OrderCost | undefined | Promise<OrderCost | undefined>,
) => Promise<BudgetLook | undefined>;

/** Looks at the budgets of today (UTC). A look reserves nothing: the store compares again when it does. */
export function createBudgetLook(deps: {
  readonly teamId: string;
  readonly budgets: BudgetStore;
  readonly tagsOf: TagsOf;
  readonly now: () => Date;
}): LookAtBudgets {
  return async ({ items, resumed }, pricing) => {
    const { teamId } = deps;
    const day = utcDay(deps.now());
    const [cost, standings, tags] = await Promise.all([
      pricing,
      deps.budgets.standings(day, resumed),
      deps.tagsOf(items.map(({ name }) => name)),
    ]);
    if (cost === undefined) return undefined;
    const reservation = reservationOf(cost, items, { teamId, day }, (name) => tags.get(name) ?? []);
    const shares = sharesOf(standings, reservation);
    return {
      reservation: { ...reservation, isLimited: shares.length > 0 },
      shares,
      over: shortfallsOf(shares),
    };
  };
}
