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
  /** Those of many names of which something is known. */
  findMany(names: readonly string[]): Promise<readonly ObservedName[]>;
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
   * Keeps what a look gave and ends the claim.
   * @returns false when somebody else has kept a look since `before` was read: nothing is kept
   */
  save(before: ObservedName, after: ObservedName): Promise<boolean>;
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
}
