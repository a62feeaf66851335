import type { Account } from '../accounts/account.ts';
import type { Vault } from '../accounts/vault.ts';
import type { TeamSettings } from '../config/environment.ts';
import type { Log } from '../lib/log.ts';
import type { MandateStore } from '../mandates/ports.ts';
import type { CompareBudgets } from '../money/budget-comparison.ts';
import type { PriceOrder } from '../money/order-cost.ts';
import type { OrderCost } from '../money/prices.ts';
import type { EffectivePolicySource, StandInSource } from '../policy/ports.ts';
import type { ServiceClient } from '../service/client.ts';
import type { AvailableInterfaces } from '../service/interfaces.ts';
import type { Order } from './order.ts';
import type {
  Directory,
  FindAccount,
  FindEvidence,
  FindFirstExpiry,
  ImpactCheck,
  IncidentRecords,
  LookUpAtRegistry,
  LookUpDelegation,
  OrderSigning,
  OrderStore,
  RuleFacts,
} from './ports.ts';
import type { ServiceEndpoints } from './statement.ts';

/** Dependencies of requests, approvals and mandates. Built once, passed whole. */
export interface OrdersContext {
  readonly store: OrderStore;
  /**
   * Continues an order that this process has just committed: `app/reconcile.ts` calls `orders/advance.ts`. If the call
   * is lost, the loop there finds the row.
   */
  readonly advance: (order: Order) => void;
  readonly vault: Vault;
  readonly loadSettings: () => Promise<TeamSettings>;
  readonly signing: OrderSigning;
  readonly policy: EffectivePolicySource;
  readonly directory: Directory;
  readonly ruleFacts: RuleFacts;
  readonly standIns: StandInSource;
  readonly priceOrder: PriceOrder;
  /** The price of renewing names for a year, at a day's prices (UTC, YYYY-MM-DD). */
  readonly priceRenewals: (names: readonly string[], day: string) => Promise<OrderCost>;
  readonly compareBudgets: CompareBudgets;
  /** The budgets on a day (UTC, YYYY-MM-DD). */
  readonly budgetsOn: (day: string) => CompareBudgets;
  /** False if Slack can't look it up. */
  readonly isAdmin: (userId: string) => Promise<boolean>;
  readonly findFirstExpiry: FindFirstExpiry;
  /** Looks up what depends on an order's name; may take a moment. */
  readonly checkImpact: (order: Order, clickedAt: Date) => Promise<ImpactCheck>;
  /** The person was warned that the lookup at their approval had a new finding. */
  readonly recordImpactWarning: (orderId: string) => Promise<void>;
  /** When an approval was last refused because of such a lookup; undefined if never. */
  readonly findLastImpactWarning: (order: Order) => Promise<Date | undefined>;
  readonly incidents: IncidentRecords;
  readonly hasOpenIncident: (name: string) => Promise<boolean>;
  readonly mandates: MandateStore;
  readonly loadAffectedTags: (names: readonly string[]) => Promise<ReadonlyMap<string, readonly string[]>>;
  /** Undefined when the account is no longer linked. */
  readonly findAccount: FindAccount;
  /** The account for a person's orders; undefined when there is none. */
  readonly findDefaultAccount: (userId: string) => Promise<Account | undefined>;
  readonly listInterfaces: (account: Account) => AvailableInterfaces;
  /** The client with an account's credential; undefined when the account is gone. */
  readonly loadClient: (accountId: string) => Promise<ServiceClient | undefined>;
  readonly serviceEndpoints: ServiceEndpoints;
  readonly now: () => Date;
  readonly log: Log;
}

/** Adds what a worker needs to send orders and follow them up. */
export interface SendingContext extends OrdersContext {
  /** Called when the service has accepted an account's credential. */
  readonly recordAcceptedCredential: (accountId: string) => Promise<void>;
  /** Unique per process and start. */
  readonly workerId: string;
  /** How long this worker may be silent before it is considered dead, in milliseconds. */
  readonly leaseMs: number;
  /** How long after it was marked as sent a request may be sent, in milliseconds. */
  readonly maxSendDelayMs: number;
  /**
   * Milliseconds since 1970, to measure how long a request waits after it was marked as sent. A monotonic clock stops
   * while a virtual machine is suspended.
   */
  readonly wallClock: () => number;
  /** Reports a request's duration to the metrics. */
  readonly recordDuration: (task: string, outcome: string, seconds: number) => void;
  /** Updates the watch list after an item's success. Idempotent. */
  readonly updateWatchList: (order: Order, n: number) => Promise<void>;
  readonly findEvidence: FindEvidence;
  readonly lookUpAtRegistry: LookUpAtRegistry;
  readonly lookUpDelegation: LookUpDelegation;
  /** Aborts requests to the service at shutdown. */
  readonly stopSending: AbortSignal;
  /** Aborts lookups at shutdown. */
  readonly stopLookups: AbortSignal;
}
