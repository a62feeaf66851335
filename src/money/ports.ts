import type { PricedAnswer } from './answered-amounts.ts';
import type { Budget, BudgetStanding } from './budget.ts';
import type { Price, PriceEdit } from './prices.ts';
import type { Purchase, RenewalCount, ZoneCount } from './spend.ts';

export interface ListedPrice extends Price {
  readonly id: string;
}

/** Where the price list is kept. Implemented by the store; whatever changes it leaves a line in the audit log. */
export interface PriceStore {
  /** By zone, task and period, the newest first. */
  list(): Promise<readonly ListedPrice[]>;
  /** The prices in some zones. An order needs no others, and a team may list thousands. */
  listOf(zones: readonly string[]): Promise<readonly ListedPrice[]>;
  /**
   * Makes edits, all or none.
   * @returns false when the list is not as it was when they were made
   */
  save(edits: readonly PriceEdit[], by: string, at: Date): Promise<boolean>;
}

/** Where budgets are kept. Implemented by the store; whatever changes them leaves a line in the audit log. */
export interface BudgetStore {
  /** That of all names first, then by tag; of each the month before the year. */
  list(): Promise<readonly Budget[]>;
  /**
   * How the budgets stand in the month and year of a day (YYYY-MM-DD), in the sequence of {@link list}.
   * @param without an order whose reservations for what it has not sent are left out
   */
  standings(day: string, without?: string): Promise<readonly BudgetStanding[]>;
  /** @returns `taken` when there is one of the same tag and span */
  add(budget: Omit<Budget, 'id'>, by: string, at: Date): Promise<'saved' | 'taken'>;
  /** Gives a budget another amount, in its currency. */
  setAmount(id: string, minor: number, by: string, at: Date): Promise<'saved' | 'same' | 'gone'>;
  remove(id: string, by: string, at: Date): Promise<'removed' | 'gone'>;
}

/** What was bought and what is ahead. Implemented by the store. */
export interface SpendStore {
  /** Names of live orders that cost money and were carried out from `from` until before `to`. */
  purchases(from: Date, to: Date): Promise<readonly Purchase[]>;
  /** How many names were sent in that time of which nobody knows whether they were carried out. */
  unknownOutcomes(from: Date, to: Date): Promise<number>;
  /** Names that expire from `from` until before `until`, without those that are let go. */
  renewals(from: Date, until: Date, timeZone: string): Promise<readonly RenewalCount[]>;
  /**
   * Names on which neither a website nor mail is seen, without those that are let go or were deleted: they cost nothing more.
   * A name that could not be looked at is none of them.
   */
  unused(): Promise<readonly ZoneCount[]>;
}

/** How often a person approved or denied, and after how long. */
export interface Decision {
  /** Slack user id. */
  readonly by: string;
  readonly kind: 'approved' | 'denied';
  readonly count: number;
  /** The median of the time from asking to deciding. */
  readonly seconds: number;
}

/** What reports on money tell beside the spending. Implemented by the store. */
export interface MoneyReportStore {
  /** What the service answered to names that cost money and were carried out, on live systems. */
  answers(from: Date, to: Date): Promise<readonly PricedAnswer[]>;
  /** Names of the watch list that were decided to be let go from `from` until before `to`. */
  lapsed(from: Date, to: Date): Promise<readonly string[]>;
  decisions(from: Date, to: Date): Promise<readonly Decision[]>;
}
