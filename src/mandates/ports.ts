import type { Amount } from '../money/amount.ts';
import type { OrderCreation } from '../orders/ports.ts';
import type { UsedAmounts } from './acting.ts';
import type { HoldReason } from './codes.ts';

export interface MandateName {
  readonly name: string;
  /** The effective expiry: the date of a renewal that the registry doesn't show yet, if that is later. */
  readonly expiresAt: Date;
  /** The registry shows this date, and nothing casts doubt on it. */
  readonly isDateCertain: boolean;
  readonly lastLookupAt: Date | undefined;
  readonly owner: string | undefined;
  /** Two people decided to let the name lapse. */
  readonly isLapsing: boolean;
  readonly deletedAt: Date | undefined;
}

/** A mandate's decision for one expiry of a name: it renews or holds the name. */
export interface MandateAct {
  readonly id: string;
  readonly name: string;
  readonly expiresAt: Date;
  readonly mandateId: string;
  readonly at: Date;
  /** The price; undefined if unknown. */
  readonly amount: Amount | undefined;
  /** Why the mandate doesn't renew the name; undefined if it does. */
  readonly held: HoldReason | undefined;
  /** The mandate's order or, for a held name, the regular order; undefined if there is none. */
  readonly orderId: string | undefined;
  /** When the mandate's order was announced. */
  readonly announcedAt: Date | undefined;
}

export type NewAct = Pick<MandateAct, 'name' | 'expiresAt' | 'mandateId' | 'at' | 'amount'>;

export type ActOutcome =
  | { readonly kind: 'saved'; readonly id: string }
  /** A mandate has already acted for this expiry. */
  | { readonly kind: 'taken' }
  /** A limit or budget is now exceeded: decide again. */
  | { readonly kind: 'limit_exceeded' }
  | { readonly kind: 'already_open'; readonly orderId: string };

export interface MandateStore {
  /**
   * Names that expire between two dates, aren't marked to lapse, and have no act for that expiry, soonest first.
   * @param after the last name of the previous page
   */
  listDue(
    from: Date,
    until: Date,
    after: Pick<MandateName, 'expiresAt' | 'name'> | undefined,
    limit: number,
  ): Promise<readonly MandateName[]>;
  /** The given names that aren't marked to lapse and have no act for their expiry, soonest first. */
  filterUpcoming(names: readonly string[]): Promise<readonly MandateName[]>;
  find(name: string): Promise<MandateName | undefined>;
  /** The given names that are watched and have an expiry date. */
  findMany(names: readonly string[]): Promise<readonly MandateName[]>;
  /** Watched names that match some patterns and aren't marked to lapse, sorted. */
  findMatchingNames(patterns: readonly string[]): Promise<readonly string[]>;
  /** Amounts used by a mandate's orders, except an omitted one. */
  loadUsedAmounts(mandateId: string, omittedOrderId?: string): Promise<UsedAmounts>;
  findLatestAccount(name: string): Promise<string | undefined>;
  /**
   * Saves a mandate's order, reserves its amount in the budgets and limits, and queues the notification. Checks
   * everything in the same transaction.
   */
  saveOrder(act: NewAct, creation: OrderCreation): Promise<ActOutcome>;
  /** Saves that a mandate doesn't renew a name, and queues the notification. */
  saveHeld(act: NewAct, holdReason: HoldReason): Promise<ActOutcome>;
  /** Holds a mandate's order: the name gets a regular order instead. @returns false if it was already held */
  hold(orderId: string, holdReason: HoldReason, at: Date): Promise<boolean>;
  /** Held names whose regular order is due, longest overdue first. */
  listDueForRegularOrder(now: Date, limit: number): Promise<readonly MandateAct[]>;
  /** Schedules a retry of a regular order that failed, with a delay that doubles each time. */
  delayRegularOrder(actId: string, at: Date): Promise<void>;
  /** The number of names whose regular order waits for a retry. */
  countDelayedOrders(): Promise<number>;
  /** Records a name's regular order. @param orderId undefined if no order is possible */
  recordRegularOrder(actId: string, orderId: string | undefined, at: Date): Promise<void>;
  listActs(mandateId: string, since: Date): Promise<readonly MandateAct[]>;
  /**
   * A mandate's spending from one day (inclusive) to another (exclusive), plus pending and unknown amounts, in minor
   * units.
   */
  loadSpending(
    mandateId: string,
    from: string,
    until: string,
  ): Promise<{ readonly booked: bigint; readonly reserved: bigint }>;
  findByOrder(orderId: string): Promise<MandateAct | undefined>;
  /** Acts that belong in a day's message, whether it has been posted or not. */
  listActsOfDay(day: string): Promise<readonly MandateAct[]>;
  /** Records that acts were announced in a message. */
  recordAnnounced(
    actIds: readonly string[],
    at: Date,
    message: { readonly channelId: string; readonly ts: string },
  ): Promise<void>;
  /** Queues an update of the message that announces an order. */
  requestUpdate(orderId: string, at: Date): Promise<void>;
  listInProgressIds(mandateId: string): Promise<readonly string[]>;
}
