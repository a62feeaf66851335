import type { Amount } from '../money/amount.ts';
import type { OrderCreation } from '../orders/ports.ts';
import type { UsedAmounts } from './acting.ts';
import type { HoldReason } from './codes.ts';

export interface MandateName {
  readonly name: string;
  /** The expiry at the registry or, if later, the expiry after a renewal that the registry doesn't show yet. */
  readonly expiresAt: Date;
  /** The registry shows this expiry date, and nothing contradicts it. */
  readonly isDateCertain: boolean;
  readonly lastLookupAt: Date | undefined;
  readonly owner: string | undefined;
  /** Two people decided to let the name lapse. */
  readonly isLapsing: boolean;
  readonly deletedAt: Date | undefined;
}

/** A mandate's decision to renew or hold a name, made once per expiry date. */
export interface MandateAct {
  readonly id: string;
  readonly name: string;
  readonly expiresAt: Date;
  readonly mandateId: string;
  readonly at: Date;
  /** The price; undefined if unknown. */
  readonly amount: Amount | undefined;
  /** Why the mandate doesn't renew the name; undefined if it renews the name. */
  readonly held: HoldReason | undefined;
  /** The mandate's renewal order or, for a held name, the regular order; undefined if there is none. */
  readonly orderId: string | undefined;
  /** When the renewal order was announced. */
  readonly announcedAt: Date | undefined;
}

export type NewAct = Pick<MandateAct, 'name' | 'expiresAt' | 'mandateId' | 'at' | 'amount'>;

export type ActOutcome =
  | { readonly kind: 'saved'; readonly id: string }
  /** A mandate has already acted for this expiry date. */
  | { readonly kind: 'taken' }
  /** A limit or budget is now exceeded: decide again. */
  | { readonly kind: 'limit_exceeded' }
  | { readonly kind: 'already_open'; readonly orderId: string };

export interface MandateStore {
  /**
   * Names that expire between two dates, aren't marked to lapse, and have no act for that expiry date, soonest first.
   * @param after the last name of the previous page
   */
  listDueNames(
    from: Date,
    until: Date,
    after: Pick<MandateName, 'expiresAt' | 'name'> | undefined,
    limit: number,
  ): Promise<readonly MandateName[]>;
  /** Filters out names that are marked to lapse or have an act for their expiry date. Sorted soonest first. */
  filterUnhandledNames(names: readonly string[]): Promise<readonly MandateName[]>;
  find(name: string): Promise<MandateName | undefined>;
  /** Omits names that aren't watched or have no expiry date. */
  findMany(names: readonly string[]): Promise<readonly MandateName[]>;
  /** Watched names that match any of the patterns and aren't marked to lapse, sorted. */
  findMatchingNames(patterns: readonly string[]): Promise<readonly string[]>;
  loadUsedAmounts(mandateId: string, omittedOrderId?: string): Promise<UsedAmounts>;
  findLatestAccountId(name: string): Promise<string | undefined>;
  /**
   * Saves a mandate's renewal order, reserves the amount in the budgets and limits, and queues the notification, all in
   * one transaction.
   */
  saveOrder(act: NewAct, creation: OrderCreation): Promise<ActOutcome>;
  /** Records that a mandate doesn't renew a name, and queues the notification. */
  saveHold(act: NewAct, holdReason: HoldReason): Promise<ActOutcome>;
  /** Replaces a mandate's renewal order with a regular order. @returns false if the order was already held */
  holdOrder(orderId: string, holdReason: HoldReason, at: Date): Promise<boolean>;
  /** Held names whose regular order is due, longest overdue first. */
  listDueForRegularOrder(now: Date, limit: number): Promise<readonly MandateAct[]>;
  /** Schedules another attempt to create a regular order. The delay doubles each time. */
  delayRegularOrder(actId: string, at: Date): Promise<void>;
  /** Counts names whose regular order couldn't be created yet. */
  countDelayedOrders(): Promise<number>;
  /** Records a name's regular order. @param orderId undefined if no order is possible */
  recordRegularOrder(actId: string, orderId: string | undefined, at: Date): Promise<void>;
  listActs(mandateId: string, since: Date): Promise<readonly MandateAct[]>;
  /**
   * A mandate's amounts from one day (inclusive) to another (exclusive), in minor units. `reserved` is for orders
   * without a known result.
   */
  loadSpending(
    mandateId: string,
    from: string,
    until: string,
  ): Promise<{ readonly booked: bigint; readonly reserved: bigint }>;
  findByOrder(orderId: string): Promise<MandateAct | undefined>;
  /** Acts that belong in a day's message, posted or not. */
  listActsOfDay(day: string): Promise<readonly MandateAct[]>;
  /** Records that acts were announced in a message. */
  recordAnnouncement(
    actIds: readonly string[],
    at: Date,
    message: { readonly channelId: string; readonly ts: string },
  ): Promise<void>;
  /** Queues an update of the message that announces an order. */
  requestMessageUpdate(orderId: string, at: Date): Promise<void>;
  listInProgressOrderIds(mandateId: string): Promise<readonly string[]>;
}
