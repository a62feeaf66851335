import type { Amount } from '../money/amount.ts';
import type { OrderCreation } from '../orders/ports.ts';
import type { Taken } from './acting.ts';
import type { HeldCode } from './codes.ts';

export interface MandateName {
  readonly name: string;
  /** The effective date: that of a renewal the registry doesn't show yet, if later. */
  readonly expiresAt: Date;
  /** The registry shows it, and nothing makes it doubtful. */
  readonly isDateCertain: boolean;
  readonly lookedAt: Date | undefined;
  /** Slack user id. */
  readonly owner: string | undefined;
  /** Two people decided to let it lapse. */
  readonly isLapsing: boolean;
  readonly deletedAt: Date | undefined;
}

/** A mandate's action, or inaction, for one expiry of a name. */
export interface MandateAct {
  readonly id: string;
  /** In ASCII. */
  readonly name: string;
  readonly expiresAt: Date;
  readonly mandateId: string;
  readonly at: Date;
  /** The price; undefined when not known. */
  readonly amount: Amount | undefined;
  /** Why it doesn't act; undefined while it does. */
  readonly held: HeldCode | undefined;
  /** Its order. For a held name the ordinary order; undefined while there is none. */
  readonly orderId: string | undefined;
  /** When the automatic order was announced. */
  readonly announcedAt: Date | undefined;
}

export type NewAct = Pick<MandateAct, 'name' | 'expiresAt' | 'mandateId' | 'at' | 'amount'>;

export type ActOutcome =
  | { readonly kind: 'kept'; readonly id: string }
  /** A mandate has already acted for this expiry. */
  | { readonly kind: 'taken' }
  /** A ceiling or budget is now exceeded: decide again. */
  | { readonly kind: 'over' }
  /** An order for the same name is open. */
  | { readonly kind: 'open_already'; readonly orderId: string };

/** Storage of mandates' acts. Implemented by the store. */
export interface MandateStore {
  /**
   * Names that expire between two moments, aren't let lapse, and have no act for this expiry, soonest first.
   * @param after the last name of the previous page
   */
  due(
    from: Date,
    until: Date,
    after: Pick<MandateName, 'expiresAt' | 'name'> | undefined,
    limit: number,
  ): Promise<readonly MandateName[]>;
  /** Those of some names that aren't let lapse and have no act for their expiry, soonest first. */
  aheadAmong(names: readonly string[]): Promise<readonly MandateName[]>;
  find(name: string): Promise<MandateName | undefined>;
  /** Those of some names that are watched and have a date. */
  findMany(names: readonly string[]): Promise<readonly MandateName[]>;
  /** Watched names that match some patterns and aren't let lapse, sorted. */
  namesFitting(patterns: readonly string[]): Promise<readonly string[]>;
  /** Amounts in use by a mandate's orders. @param without an order to leave out */
  takenBy(mandateId: string, without?: string): Promise<Taken>;
  latestAccount(name: string): Promise<string | undefined>;
  /**
   * Saves the order of a mandate, reserves its amount in the budgets and the ceilings, and queues the notification.
   * All of it is checked in the same transaction.
   */
  keepOrder(act: NewAct, creation: OrderCreation): Promise<ActOutcome>;
  /** Saves that a mandate doesn't act, and queues the notification. */
  keepHeld(act: NewAct, held: HeldCode): Promise<ActOutcome>;
  /** Holds an order of a mandate: the name gets an ordinary order instead. @returns false when already held */
  hold(orderId: string, held: HeldCode, at: Date): Promise<boolean>;
  /** Held names whose ordinary order is due, longest due first. */
  toAskFor(now: Date, limit: number): Promise<readonly MandateAct[]>;
  /** Retries an ordinary order that failed, with a delay that doubles each time. */
  askingFailed(actId: string, at: Date): Promise<void>;
  /** Number of names waiting for a retry. */
  failingToAsk(): Promise<number>;
  /** Records the ordinary order of a name; undefined: none is possible. */
  askedFor(actId: string, orderId: string | undefined, at: Date): Promise<void>;
  /** A mandate's acts since a moment, latest first. */
  actsBy(mandateId: string, since: Date): Promise<readonly MandateAct[]>;
  /** A mandate's spending from one day until before another, plus what is waiting or unknown, in minor units. */
  spentBy(
    mandateId: string,
    from: string,
    until: string,
  ): Promise<{ readonly booked: bigint; readonly reserved: bigint }>;
  findByOrder(orderId: string): Promise<MandateAct | undefined>;
  /** Acts of the message of a day, posted or not. */
  actsOf(day: string): Promise<readonly MandateAct[]>;
  /** Records that some acts were announced, with their message. */
  announced(
    actIds: readonly string[],
    at: Date,
    message: { readonly channelId: string; readonly ts: string },
  ): Promise<void>;
  /** Queues an update of the message that announces an order. */
  orderChanged(orderId: string, at: Date): Promise<void>;
  unsentOf(mandateId: string): Promise<readonly string[]>;
}
