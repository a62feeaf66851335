import type { Budget, BudgetStatus } from './budget.ts';
import type { Price, PriceEdit } from './prices.ts';
import type { Purchase, RenewalCount, ZoneCount } from './spend.ts';

export interface ListedPrice extends Price {
  readonly id: string;
}

/** Implemented by the store. Every change is logged. */
export interface PriceStore {
  /** Sorted by zone, task and period, newest first. */
  list(): Promise<readonly ListedPrice[]>;
  /** Loads only some zones, because a team may have thousands of prices. */
  listForZones(zones: readonly string[]): Promise<readonly ListedPrice[]>;
  /** Saves all edits or none. @returns false if the list has changed since the edits were made */
  save(edits: readonly PriceEdit[], by: string, at: Date): Promise<boolean>;
}

/** Implemented by the store. Every change is logged. */
export interface BudgetStore {
  /** The budget for all names comes first, then budgets by tag. Monthly budgets come before yearly ones. */
  list(): Promise<readonly Budget[]>;
  listStatuses(day: string): Promise<readonly BudgetStatus[]>;
  /**
   * Also loads the names' tags, in the same SQL statement.
   * @param omittedOrderId an order whose reservations for unsent items aren't counted
   */
  loadStatusesForNames(
    names: readonly string[],
    day: string,
    omittedOrderId?: string,
  ): Promise<{
    readonly statuses: readonly BudgetStatus[];
    readonly tags: ReadonlyMap<string, readonly string[]>;
  }>;
  /** @returns `taken` if a budget with the same tag and span exists */
  add(budget: Omit<Budget, 'id'>, by: string, at: Date): Promise<'saved' | 'taken'>;
  /** The currency stays the same. */
  setAmount(id: string, minor: number, by: string, at: Date): Promise<'saved' | 'same' | 'gone'>;
  remove(id: string, by: string, at: Date): Promise<'removed' | 'gone'>;
}

export interface SpendStore {
  /** Paid names of live orders that succeeded in [from, to). */
  listPurchases(from: Date, to: Date): Promise<readonly Purchase[]>;
  /** Counts names that were sent in [from, to) and have an unknown outcome. */
  countUnknownOutcomes(from: Date, to: Date): Promise<number>;
  /** Counts names that expire in [from, until), except those marked to lapse. */
  countRenewals(from: Date, until: Date, timeZone: string): Promise<readonly RenewalCount[]>;
  /**
   * Counts names with neither website nor mail, except those that were deleted, are marked to lapse, or have failed
   * lookups.
   */
  countUnusedNames(): Promise<readonly ZoneCount[]>;
}

/** A person's number of decisions, and how fast they were. */
export interface DecisionStatistics {
  readonly by: string;
  readonly kind: 'approved' | 'denied';
  readonly count: number;
  /** The median time from request to decision. */
  readonly seconds: number;
}

export interface MoneyReportStore {
  /** Names that people decided to let lapse in [from, to). */
  listLapsedNames(from: Date, to: Date): Promise<readonly string[]>;
  listDecisionStatistics(from: Date, to: Date): Promise<readonly DecisionStatistics[]>;
}
