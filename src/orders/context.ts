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

/** The dependencies of requests, approvals and mandates. */
export interface OrdersContext {
  readonly store: OrderStore;
  /**
   * Advances an order that this process has just committed (`orders/advance.ts`). If the process ends first, the loop
   * in `app/reconcile.ts` advances the order.
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
  /** The cost of renewing names for a year, at the prices of a day (UTC, YYYY-MM-DD). */
  readonly priceRenewals: (names: readonly string[], day: string) => Promise<OrderCost>;
  readonly compareBudgets: CompareBudgets;
  /** Compares with the budgets of another day (UTC, YYYY-MM-DD). */
  readonly compareBudgetsOn: (day: string) => CompareBudgets;
  /** Also false while Slack can't look up the person. */
  readonly isAdmin: (userId: string) => Promise<boolean>;
  readonly findFirstExpiry: FindFirstExpiry;
  /** Looks up what depends on an order's name. Can take seconds. */
  readonly checkImpact: (order: Order, clickedAt: Date) => Promise<ImpactCheck>;
  /** Records that approvers were warned of a new impact. */
  readonly recordImpactWarning: (orderId: string) => Promise<void>;
  /** When approvers were last warned of a new impact; undefined if never. */
  readonly findLastImpactWarning: (order: Order) => Promise<Date | undefined>;
  readonly incidents: IncidentRecords;
  readonly hasOpenIncident: (name: string) => Promise<boolean>;
  readonly mandates: MandateStore;
  readonly loadAffectedTags: (names: readonly string[]) => Promise<ReadonlyMap<string, readonly string[]>>;
  /** Undefined if the account is no longer linked. */
  readonly findAccount: FindAccount;
  /** The account for a person's orders; undefined if there is none. */
  readonly findDefaultAccount: (userId: string) => Promise<Account | undefined>;
  readonly listInterfaces: (account: Account) => AvailableInterfaces;
  /** The client with an account's credential; undefined if the account is no longer linked. */
  readonly loadClient: (accountId: string) => Promise<ServiceClient | undefined>;
  readonly serviceEndpoints: ServiceEndpoints;
  readonly now: () => Date;
  readonly log: Log;
}

/** Adds the dependencies of a worker, which sends orders and follows up on them. */
export interface SendingContext extends OrdersContext {
  readonly recordAcceptedCredential: (accountId: string) => Promise<void>;
  /** Unique per process start. */
  readonly workerId: string;
  /** How long this worker may be silent before it is considered dead, in milliseconds. */
  readonly leaseMs: number;
  /** The longest delay between marking an item as sent and sending its request, in milliseconds. */
  readonly maxSendDelayMs: number;
  /**
   * Milliseconds since 1970, to measure {@link maxSendDelayMs}. A monotonic clock would stop while a virtual machine is
   * suspended.
   */
  readonly wallClock: () => number;
  /** Reports a request's duration to the metrics. */
  readonly recordRequestDuration: (task: string, outcome: string, seconds: number) => void;
  /** Updates the watch list after an item's success. Idempotent. */
  readonly updateWatchList: (order: Order, itemNumber: number) => Promise<void>;
  readonly findEvidence: FindEvidence;
  readonly lookUpAtRegistry: LookUpAtRegistry;
  readonly lookUpDelegation: LookUpDelegation;
  /** Aborts requests to the service at shutdown. */
  readonly sendingSignal: AbortSignal;
  /** Aborts lookups at shutdown. */
  readonly lookupSignal: AbortSignal;
}
