import type { Account } from '../accounts/account.ts';
import type { SealedSecret } from '../accounts/vault.ts';
import type { BotSigner, CharterStatus, EffectiveRules, SigningLog } from '../approvals/charter.ts';
import type { StandIn } from '../approvals/progress.ts';
import type { ApprovalSignature, SignedSubject } from '../approvals/signing/approval.ts';
import type { Verifier } from '../approvals/signing/assertion.ts';
import type { KeyLog, KeyRing } from '../approvals/signing/key-ring.ts';
import type { TeamSettings } from '../config/environment.ts';
import type { FinalCheckFacts } from '../mandates/acting.ts';
import type { HoldReason } from '../mandates/codes.ts';
import type { BudgetOverrun, Reservation } from '../money/budget.ts';
import type { PricedOrder } from '../money/order-cost.ts';
import type { PolicyFacts } from '../policy/evaluate.ts';
import type { Policy } from '../policy/policy.ts';
import type { EffectivePolicySource, StandInSource } from '../policy/ports.ts';
import type { IsSignedByBot } from './log-limits.ts';
import type { Order, OrderItem, OrderState, OrderTaskName } from './order.ts';
import type { OrderLogEntry } from './order-events.ts';
import type { EvidenceHint, EvidenceProof } from './record-finding.ts';
import type { EarlierFinding, ShownIncident } from './refusal.ts';
import type { LogDifference, SendingDifference } from './summary.ts';

/** A change that is committed atomically. */
export interface OrderCommit {
  readonly before: Order;
  readonly after: Order;
  readonly log: readonly OrderLogEntry[];
  /** Preconditions of marking a request as sent; undefined for every other change. */
  readonly guard: SendingGuard | undefined;
  /** How long an unresponsive worker is considered alive, in milliseconds. */
  readonly leaseMs?: number;
  /** A secret result, to be shown once to the requester. */
  readonly revealableSecret?: { readonly n: number; readonly sealed: SealedSecret; readonly expiresAt: Date };
  /** The service's full answer for an item, with secrets masked. */
  readonly answer?: { readonly n: number; readonly answer: unknown };
  /** Required to send a mandate's order. Checked, and reserved again, in the same transaction. */
  readonly mandateUse?: MandateUse;
  /**
   * The order's amounts in the team's budgets. If the order will now be sent, they are reserved in the same
   * transaction, which fails if a budget is exceeded.
   */
  readonly reservation?: Reservation | undefined;
}

/** Preconditions of sending a mandate's order. */
export interface MandateUse {
  readonly reservation: Reservation;
  /** The order that created the mandate, with its signatures; undefined if the renewal needs none. */
  readonly signedMandate: Order | undefined;
  /**
   * Returns why the order must not be sent, according to rows that the transaction has locked. Pure.
   * @param mandate the mandate's order
   */
  readonly check: (mandate: Order | undefined, rows: FinalCheckRows) => HoldReason | undefined;
}

/** Facts about a name, read in the transaction that marks its order as sent. */
export type FinalCheckRows = Omit<FinalCheckFacts, 'mandate' | 'isMandateUnchanged'>;

export interface StoredAnswer {
  readonly n: number;
  readonly at: Date;
  readonly answer: unknown;
}

export type CommitOutcome =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly conflictingOrderId: string | undefined;
      /** The commit would have sent an order that its mandate now holds. */
      readonly holdReason?: HoldReason;
      /** The commit would have sent a retry of an order that was, or may have been, carried out. */
      readonly earlierFinding?: EarlierFinding;
      /** The commit would have sent an item that was already sent or has ended, according to the log. */
      readonly logDifference?: LogDifference;
      /** The commit would have sent an order without the required signatures. */
      readonly sendingDifferences?: readonly SendingDifference[];
    };

export interface OrderWithHistory {
  readonly order: Order;
  readonly history: readonly OrderLogEntry[];
}

/** The bot itself. Callers must check visibility before they show an order to people. */
export type SystemViewer = 'system';

export interface OrderFilter {
  readonly states?: readonly OrderState[];
  readonly tasks?: readonly OrderTaskName[];
  readonly requesterId?: string;
  /** An id excludes other people's private orders. `system` is for the bot, and for people who may see all orders. */
  readonly viewer: SystemViewer | { readonly id: string };
  readonly name?: string;
  /** Only orders in the live system. Orders in the demo system don't change a name's public records. */
  readonly isLive?: true;
  /** Only orders with an emergency approval that no other admin has reviewed. */
  readonly isReviewOpen?: true;
  readonly limit: number;
}

/**
 * Due orders are claimed in three lanes: deadlines and dead workers, orders to send, and lookups in public records. A
 * slow service or registry doesn't delay the other lanes.
 */
export type DueLane = 'deadlines' | 'execution' | 'observation';

/** Finds the earliest known expiry of some names. */
export type FindFirstExpiry = (names: readonly string[]) => Promise<Date | undefined>;

/** Facts that policy rules need in addition to the order. */
export interface RuleFacts {
  /** ISO 4217 code of the team's amounts. */
  readonly currency: string;
  /** The hosts' own tags, without those of parent domains. Unknown hosts have no entry. */
  loadTags(hosts: readonly string[]): Promise<PolicyFacts['tags']>;
  /** Watched names that match a rule's patterns. */
  findMatchingNames(patterns: readonly string[]): Promise<readonly string[]>;
  /** The known price of each name of an order. */
  loadPrices(order: PricedOrder): Promise<PolicyFacts['prices']>;
}

/** The initial data of a new order, or of one that is recreated because the database lost it. */
export interface OrderCreation {
  readonly order: Order;
  readonly log: readonly OrderLogEntry[];
  readonly sealedInput?: SealedSecret | undefined;
  /** Encrypted inputs of single items, by item number. */
  readonly sealedItems?: ReadonlyMap<number, SealedSecret> | undefined;
  /** Reserved in the same transaction, for an order that is sent immediately. */
  readonly reservation?: Reservation | undefined;
}

/** Implemented by the store; every change is a compare-and-swap on `version`. */
export interface OrderStore {
  /** For the bot itself. Use `loadVisible` for people. */
  load(id: string, viewer: SystemViewer): Promise<Order | undefined>;
  /**
   * Saves a new order.
   * @returns undefined if saved. Otherwise, `conflictingOrderId` is the order with the same delivery id, or the open
   * one for the same task and name. It is undefined if a budget is exceeded: check the budgets again
   */
  create(creation: OrderCreation): Promise<{ readonly conflictingOrderId: string | undefined } | undefined>;
  /**
   * Commits a change if the order hasn't changed since `before` was read.
   * - Closing an order deletes its encrypted input and frees its names.
   * - While the database may have lost commits (`restore-guard.ts`), no order is claimed or marked as sent.
   * - A retry's item is marked as sent only if no earlier order has carried out the same item or may still do so. The
   * transaction locks the earlier orders.
   * - An item is marked as sent only if the guard accepts the rows that the transaction has locked and read.
   * @returns if not `ok`, the reason; without a reason, the order has changed or a budget is now exceeded, so load the
   * order again
   */
  commit(change: OrderCommit): Promise<CommitOutcome>;
  /** @returns false if the worker has lost its claim */
  extendLease(id: string, workerId: string, leaseMs: number): Promise<boolean>;
  loadSealedInput(id: string): Promise<SealedSecret | undefined>;
  loadSealedItemInputs(id: string): Promise<ReadonlyMap<number, SealedSecret>>;
  /** Ids of open orders of a task, by name. */
  findOpenOrders(task: OrderTaskName, names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  list(filter: OrderFilter): Promise<readonly Order[]>;
  loadHistory(orderId: string, viewer: SystemViewer): Promise<readonly OrderLogEntry[]>;
  readonly isSignedByBot: IsSignedByBot;
  /** An order with its log, oldest first, in one snapshot. Omits item events of an order with many items. */
  loadWithHistory(id: string, viewer: SystemViewer): Promise<OrderWithHistory | undefined>;
  /** All answers from the service, item by item, oldest first. */
  loadAnswers(orderId: string, viewer: SystemViewer): Promise<readonly StoredAnswer[]>;
  /** A person's latest order of a task in an account context, to prefill forms. */
  findLatest(
    task: OrderTaskName,
    requesterId: string,
    context: number | undefined,
  ): Promise<Order | undefined>;
  /**
   * Leases orders that are due and not leased. No other process gets them until the lease ends, by the database's
   * clock. A worker whose lease has ended loses its claim. A change to an order ends the order's lease.
   * @param until leases orders that are due by this time
   * @returns ids, longest overdue first
   */
  claimDue(lane: DueLane, until: Date, leaseMs: number, limit: number): Promise<readonly string[]>;
  /** Reschedules an order that couldn't be advanced. The delay grows with each attempt. */
  postpone(id: string): Promise<void>;
  /**
   * Ends this process's lease of an order. This process doesn't lease the order again for some seconds, so that another
   * replica can.
   */
  releaseToOthers(id: string): Promise<void>;
  /** Sets when an order is due again (undefined: never), unless the order's version has changed. */
  reschedule(
    order: { readonly id: string; readonly version: number },
    dueAt: Date | undefined,
  ): Promise<void>;
  /** Queues an update of an order's messages. The order itself doesn't change. */
  queueMessageUpdate(id: string, now: Date): Promise<void>;
  /** Queues updates of all pending orders' messages, with low priority. */
  queuePendingMessageUpdates(now: Date): Promise<void>;
  /** Saves the budget overruns that all cards of an order show now. */
  recordShownOverruns(id: string, overruns: readonly BudgetOverrun[]): Promise<void>;
  /** Ids of orders that are `APPROVED` or `EXECUTING`. */
  listInProgressIds(): Promise<readonly string[]>;
  /** Ids of unfinished orders that use one of the accounts or that a person requested. */
  listUnfinishedIds(accountIds: readonly string[], requesterId?: string): Promise<readonly string[]>;
  /** Deletes a person's drafts, and secret results that weren't shown yet. */
  deletePrivateData(requesterId: string): Promise<void>;
  /** @returns false if the order isn't a draft */
  deleteDraft(id: string): Promise<boolean>;
  /** @returns the numbers of deleted drafts and secrets */
  purgeExpired(now: Date): Promise<{ readonly drafts: number; readonly secrets: number }>;
  /** Deletes and returns a secret. @returns `gone` if already shown or expired; undefined if there was none */
  takeRevealableSecret(orderId: string, n: number, now: Date): Promise<SealedSecret | 'gone' | undefined>;
  /** Puts back a secret that couldn't be shown, with the same expiry. */
  restoreRevealableSecret(orderId: string, n: number, sealedSecret: SealedSecret): Promise<void>;
}

/** Whether a person is a full member of the workspace; `unknown` while Slack can't look them up. */
export type Membership = 'member' | 'left' | 'unknown';

/** Members of the workspace and its user groups. Implemented by `slack`. */
export interface Directory {
  /** `left` includes guests and people who were never members. */
  findMembership(userId: string): Promise<Membership>;
  /** @returns undefined while Slack can't look up the group. Callers then treat the group as empty */
  listGroupMembers(groupId: string): Promise<readonly string[] | undefined>;
}

/** Keys, charters, the published policy, saved settings and stand-ins, in one snapshot. */
export interface SigningRows {
  readonly log: SigningLog;
  readonly policy: Policy;
  /** Saved by `/domain settings`. */
  readonly savedSettings: Readonly<Record<string, unknown>>;
  /** Keyed by the absent approver. Includes stand-ins that have ended. */
  readonly standIns: ReadonlyMap<string, StandIn>;
}

/** Everything that decides whether a request may be sent, read in the transaction that marks it as sent. */
export interface SendingRows extends SigningRows {
  readonly order: Order;
}

/**
 * Why a request must not be sent. `changed`: the policy or the keys have changed since the last check, so check again.
 */
export type SendingObstacle =
  | { readonly kind: 'changed' }
  | { readonly kind: 'not_signed'; readonly differences: readonly SendingDifference[] };

/**
 * Preconditions of marking a request as sent. `no_signatures`: no key is in use, and the order doesn't need signatures.
 */
export type SendingGuard =
  | 'no_signatures'
  | { readonly verify: (rows: SendingRows) => Promise<SendingObstacle | undefined> };

/**
 * Whether approvers know an order's impact.
 * - `none`: the task puts nothing at risk
 * - `changed`: since the request, a finding has appeared or can no longer be looked up, and no approver was warned yet
 */
export type ImpactCheck = 'none' | 'known' | 'unknown' | 'changed';

export interface OpenIncidents {
  readonly incidents: readonly ShownIncident[];
  /** When each person had seen all incidents. People who haven't seen them all have no entry. */
  readonly informedSince: ReadonlyMap<string, Date>;
}

/** Open incidents that affect an order's names, and which approvers have seen them. */
export interface IncidentRecords {
  /** Returns undefined if no incident is open. */
  readonly loadOpenIncidents: (order: Order) => Promise<OpenIncidents | undefined>;
  readonly recordShown: (orderId: string, userId: string, shown: readonly ShownIncident[]) => Promise<void>;
}

/** The trusted root keys, and the verifiers of people's and the bot's signatures. */
export interface KeyTrust {
  /** `SIGNING_ROOTS`. */
  readonly roots: ReadonlySet<string>;
  readonly verifier: Verifier;
  /** Undefined until the ledger key can be decrypted. Without it, no charter is valid. */
  readonly botSigner: BotSigner | undefined;
}

export interface Consent {
  readonly userId: string;
  readonly signed?: ApprovalSignature | undefined;
}

export interface OrderSigning {
  /** Undefined if signing is off. */
  readonly trust: KeyTrust | undefined;
  loadEffectiveRules(): Promise<EffectiveRules>;
  /** The settings of {@link loadEffectiveRules}. */
  loadSettings(): Promise<TeamSettings>;
  /** The policy of {@link loadEffectiveRules}. */
  readonly policy: EffectivePolicySource;
  readonly standIns: StandInSource;
  loadKeys(): Promise<SigningLog & { readonly log: KeyLog; readonly ring: KeyRing }>;
  /** Whether a charter is valid; undefined if signing is off. */
  loadCharterStatus(): Promise<CharterStatus | undefined>;
  /** People whose signed approval of an order is valid. @param policyVersion the current version */
  loadSigners(order: Order, policyVersion: number): Promise<ReadonlySet<string>>;
  /** Returns the approvals with a valid signature. @param ring from {@link loadKeys} */
  filterValidApprovals<T extends Consent>(
    approvals: readonly T[],
    subject: SignedSubject,
    ring: KeyRing,
  ): Promise<ReadonlySet<T>>;
  findSigners(approvals: readonly Consent[], subject: SignedSubject): Promise<ReadonlySet<string>>;
  /**
   * Loads the preconditions of sending an order's requests.
   * @param order the claimed order; its rows must already match its statement
   * @returns undefined while Slack can't look up people on whom the signatures depend
   */
  loadSendingGuard(order: Order): Promise<SendingGuard | undefined>;
}

export type FindAccount = (accountId: string) => Promise<Account | undefined>;

/** Looks up evidence for an item's outcome in public records. Implemented in `names`. */
export type FindEvidence = (order: Order, item: OrderItem) => Promise<Evidence>;

/** Looks up whether the registry shows an accepted task as done. Implemented in `names`. */
export type LookUpAtRegistry = (order: Order, item: OrderItem) => Promise<RegistryLookup>;

/** Whether an order's new nameservers answer for the name. */
export type DelegationLookup =
  | { readonly kind: 'answering' }
  /** These nameservers don't know the name, or don't answer. */
  | { readonly kind: 'not_answering'; readonly hosts: readonly string[] }
  /** The lookup failed. */
  | { readonly kind: 'unknown' };

/** Implemented in `names`. */
export type LookUpDelegation = (order: Order, item: OrderItem) => Promise<DelegationLookup>;

export type RegistryLookup = 'shown' | 'not_shown' | 'unknown';

/** Public records about a request whose answer was lost. */
export type Evidence =
  /** Proves that the request was carried out, because nothing else can have caused the records. */
  | { readonly kind: 'done'; readonly seen: EvidenceProof }
  /** Proves nothing, but helps the person who settles the order. `source` is the server that answered. */
  | { readonly kind: 'hint'; readonly seen: EvidenceHint; readonly source: string }
  | { readonly kind: 'nothing' };
