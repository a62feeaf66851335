import {
  type BudgetShare,
  type Reservation,
  reservationOf,
  type Shortfall,
  sharesOf,
  shortfallsOf,
} from './budget.ts';
import { costInDetail, utcDayOf } from './order-cost.ts';
import type { BudgetStore } from './ports.ts';

/** The tags of names, by name in ASCII; a name that is not among them has none. */
export type TagsOf = (names: readonly string[]) => Promise<ReadonlyMap<string, readonly string[]>>;

/** What an order takes out of the budgets, and how they stand. */
export interface BudgetLook {
  readonly reservation: Reservation;
  /** The budgets that it takes something out of. */
  readonly shares: readonly BudgetShare[];
  /** The budgets among them that do not have as much. */
  readonly over: readonly Shortfall[];
}

/**
 * Looks whether the budgets of this moment have what an order costs.
 *
 * @param names of the order, in ASCII
 * @param cost what the order costs, as JSON, or a promise of it: the budgets are read meanwhile
 * @returns undefined for an order that has no price
 */
export type LookAtBudgets = (names: readonly string[], cost: unknown) => Promise<BudgetLook | undefined>;

/** Looks at the budgets of today (UTC). A look reserves nothing: the store compares again when it does. */
export function createBudgetLook(deps: {
  readonly teamId: string;
  readonly budgets: Pick<BudgetStore, 'standings'>;
  readonly tagsOf: TagsOf;
  readonly now: () => Date;
}): LookAtBudgets {
  return async (names, json) => {
    const { teamId } = deps;
    const day = utcDayOf(deps.now());
    const [price, standings, tags] = await Promise.all([
      json,
      deps.budgets.standings(day),
      deps.tagsOf(names),
    ]);
    const cost = costInDetail({ price });
    if (cost === undefined) return undefined;
    const reservation = reservationOf(cost, { teamId, day }, (name) => tags.get(name) ?? []);
    const shares = sharesOf(standings, reservation);
    return {
      reservation: { ...reservation, isLimited: shares.length > 0 },
      shares,
      over: shortfallsOf(shares),
    };
  };
}
