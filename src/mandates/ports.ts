import type { Amount } from '../money/amount.ts';
import type { OrderCreation } from '../orders/ports.ts';
import type { Taken } from './acting.ts';
import type { HeldCode } from './codes.ts';

/** A watched name as mandates look at it. */
export interface MandateName {
  /** In ASCII. */
  readonly name: string;
  /** The date that counts: that of a renewal which the registry does not show yet, where that is later. */
  readonly expiresAt: Date;
  /** The registry shows it, and nothing makes it doubtful. */
  readonly isDateCertain: boolean;
  readonly lookedAt: Date | undefined;
  /** Slack user id. */
  readonly owner: string | undefined;
  /** Two people decided to let it go. */
  readonly isLapsing: boolean;
  readonly deletedAt: Date | undefined;
}

/** What a mandate did, or did not do, for one end of a name. */
export interface MandateAct {
  readonly id: string;
  /** In ASCII. */
  readonly name: string;
  /** The end that it is about. */
  readonly expiresAt: Date;
  readonly mandateId: string;
  readonly at: Date;
  /** What it costs; undefined when that is not known. */
  readonly amount: Amount | undefined;
  /** Why it does not act; undefined while it does. */
  readonly held: HeldCode | undefined;
  /** Its order; of a name that is held the ordinary one, undefined while there is none. */
  readonly orderId: string | undefined;
  /** When people were told of the order that is sent without asking. */
  readonly announcedAt: Date | undefined;
}

/** An act before it is kept. */
export type NewAct = Pick<MandateAct, 'name' | 'expiresAt' | 'mandateId' | 'at' | 'amount'>;

export type ActOutcome =
  | { readonly kind: 'kept'; readonly id: string }
  /** A mandate has acted for this end of the name. */
  | { readonly kind: 'taken' }
  /** A ceiling or a budget does not have it by now: decide again. */
  | { readonly kind: 'over' }
  /** An order for the same name is open. */
  | { readonly kind: 'open_already'; readonly orderId: string };

/** Where mandates keep what they do. Implemented by the store. */
export interface MandateStore {
  /**
   * Names that end between two moments, that nobody lets go and for whose end no mandate has acted, the soonest first.
   * @param after the name after which the next ones come
   */
  due(
    from: Date,
    until: Date,
    after: Pick<MandateName, 'expiresAt' | 'name'> | undefined,
    limit: number,
  ): Promise<readonly MandateName[]>;
  /** Those of some names that nobody lets go and for whose end no mandate has acted, the soonest first. */
  aheadAmong(names: readonly string[]): Promise<readonly MandateName[]>;
  find(name: string): Promise<MandateName | undefined>;
  /** Those of some names that are watched and have a date. */
  findMany(names: readonly string[]): Promise<readonly MandateName[]>;
  /** The names of the watch list that fit some patterns and that nobody lets go, in their sequence. */
  namesFitting(patterns: readonly string[]): Promise<readonly string[]>;
  /** What a mandate's orders have taken out of its ceilings. @param without an order that is left out */
  takenBy(mandateId: string, without?: string): Promise<Taken>;
  /** The account with which a name was registered, transferred or renewed last. */
  latestAccount(name: string): Promise<string | undefined>;
  /**
   * Keeps the order of a mandate, with what it takes out of the budgets and the mandate's ceilings, and has people told. All of
   * that is checked in the same transaction.
   */
  keepOrder(act: NewAct, creation: OrderCreation): Promise<ActOutcome>;
  /** Keeps that a mandate does not act, and has people told. */
  keepHeld(act: NewAct, held: HeldCode): Promise<ActOutcome>;
  /** An order that a mandate has made is not sent: the name is asked for in the ordinary way. @returns false when that is known */
  hold(orderId: string, held: HeldCode, at: Date): Promise<boolean>;
  /** Held names whose ordinary order is due, the longest due first. */
  toAskFor(now: Date, limit: number): Promise<readonly MandateAct[]>;
  /** Asking for a name failed: it is tried again after a pause that doubles each time. */
  askingFailed(actId: string, at: Date): Promise<void>;
  /** How many names wait to be asked for again after a failure. */
  failingToAsk(): Promise<number>;
  /** The name is asked for by an order; undefined: nobody can ask for it. */
  askedFor(actId: string, orderId: string | undefined, at: Date): Promise<void>;
  /** What a mandate did from a moment on, the latest first. */
  actsBy(mandateId: string, since: Date): Promise<readonly MandateAct[]>;
  /** What a mandate has spent from one day until before another, and what waits to be sent or is unknown, in minor units. */
  spentBy(
    mandateId: string,
    from: string,
    until: string,
  ): Promise<{ readonly booked: bigint; readonly reserved: bigint }>;
  findByOrder(orderId: string): Promise<MandateAct | undefined>;
  /** What was said, or is to be said, in the message of a day. */
  actsOf(day: string): Promise<readonly MandateAct[]>;
  /** People were told of some acts, by a message that stands there. */
  announced(
    actIds: readonly string[],
    at: Date,
    message: { readonly channelId: string; readonly ts: string },
  ): Promise<void>;
  /** Has the message that tells of an order brought up to date. */
  orderChanged(orderId: string, at: Date): Promise<void>;
  /** Ids of orders of a mandate that wait to be sent. */
  unsentOf(mandateId: string): Promise<readonly string[]>;
}
