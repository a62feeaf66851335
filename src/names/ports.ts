import type { Alarm, NewAlarm } from './alarm.ts';
import type { LedgerEntry } from './alarms.ts';
import type { DependentName } from './dependents.ts';
import type { NameHistory } from './history.ts';
import type { Impact } from './impact.ts';

/** A name that is looked at again and again, and what the looks have shown. */
export interface ObservedName {
  /** In ASCII. */
  readonly name: string;
  /** Grows by one with every change: the compare-and-swap is on it. */
  readonly version: number;
  readonly history: NameHistory;
  readonly ledger: readonly LedgerEntry[];
  readonly nextDnsAt: Date;
  readonly nextRegistryAt: Date;
  /** The look at the registry has its moment in the registry's budget already. */
  readonly isRegistryReserved: boolean;
  /** Goes before others. */
  readonly isUrgent: boolean;
}

/** What is known of names. Implemented by the store. */
export interface ObservationStore {
  /** @returns undefined when nobody has looked at it yet, or it is not watched */
  find(name: string): Promise<ObservedName | undefined>;
  /** Has every watched name looked at, and forgets what is known of those that are watched no more. */
  followWatchList(now: Date): Promise<void>;
  /** Has a watched name looked at as soon as possible. */
  requestLook(name: string, now: Date): Promise<void>;
  /**
   * Claims names whose look is due and that nobody is at: for as long as the lease, which goes by the database's clock.
   * @returns names, urgent ones first, the longest due first
   */
  claimDue(now: Date, leaseMs: number, limit: number): Promise<readonly string[]>;
  /**
   * Keeps what a look gave, with the alarms that it raises in the same transaction, and ends the claim.
   * @returns false when somebody else has kept a look since `before` was read: nothing is kept
   */
  save(before: ObservedName, after: ObservedName, alarms?: readonly NewAlarm[]): Promise<boolean>;
  /** Watched names whose records mention a name: those that hang on it are among them. */
  mentioning(name: string): Promise<readonly DependentName[]>;
}

/** What hangs on the name of an order. */
export interface OrderImpact {
  /** As it was when the order was asked for; undefined when that cannot be read any more. */
  readonly asked: Impact | undefined;
  /** As it is now. */
  readonly latest: Impact;
  /** The latest look had all the time that it needed; nobody waited for it. */
  readonly isThorough: boolean;
  readonly seenAt: Date;
}

/** Impacts of orders. Implemented by the store. */
export interface ImpactStore {
  impactOf(orderId: string): Promise<OrderImpact | undefined>;
  /**
   * Keeps the latest impact; of the first one also that it was the one that the order was asked with.
   * After a thorough look Slack is told how the order stands, though it has not changed.
   */
  saveImpact(orderId: string, impact: Impact, seenAt: Date, look: 'quick' | 'thorough'): Promise<void>;
  /** Keeps the nameservers that the name of an order has before it changes them: those that were kept first. */
  saveNameServers(orderId: string, nameServers: readonly string[]): Promise<void>;
  nameServersOf(orderId: string): Promise<readonly string[] | undefined>;
}

/** Alarms and where they stand in Slack. Implemented by the store. */
export interface AlarmStore {
  find(id: string): Promise<Alarm | undefined>;
  /** The latest first. */
  ofName(name: string, limit: number): Promise<readonly Alarm[]>;
  /**
   * Commits what a person made of an alarm, of which Slack has to be told from `now` on.
   * @returns false when somebody else was faster: read again
   */
  change(before: Alarm, after: Alarm, now: Date): Promise<boolean>;
  /** Claims alarms of which Slack has to be told and that nobody is at, the longest due first. @returns ids */
  claimTelling(now: Date, leaseMs: number, limit: number): Promise<readonly string[]>;
  /** The lease of an alarm goes on. */
  extendTelling(id: string, leaseMs: number): Promise<void>;
  /** Where the alarm's message stands. */
  recordMessage(id: string, message: { readonly channelId: string; readonly ts: string }): Promise<void>;
  /** Slack was told something besides the message. */
  recordTold(id: string, what: string): Promise<void>;
  /**
   * Lets go when all was told.
   * @param again when its message is to be brought up to date again; undefined: when something happens
   * @returns false when the alarm has changed meanwhile: there is more to tell
   */
  releaseTelling(alarm: Alarm, again: Date | undefined): Promise<boolean>;
  /** Telling did not work: it is tried again then. */
  postponeTelling(id: string, until: Date): Promise<void>;
}
