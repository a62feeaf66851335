import type { Account } from '../accounts/account.ts';
import type { Sealed } from '../accounts/vault.ts';
import type { CharterStatus, Deciding, SigningLog, Witness } from '../approvals/charter.ts';
import type { StandIn } from '../approvals/progress.ts';
import type { ApprovalSignature, SignedSubject } from '../approvals/signing/approval.ts';
import type { Verifier } from '../approvals/signing/assertion.ts';
import type { KeyLog, KeyRing } from '../approvals/signing/key-ring.ts';
import type { TeamSettings } from '../config/environment.ts';
import type { SendingFacts } from '../mandates/acting.ts';
import type { HeldCode } from '../mandates/codes.ts';
import type { Reservation, Shortfall } from '../money/budget.ts';
import type { PricedOrder } from '../money/order-cost.ts';
import type { PolicyFacts } from '../policy/evaluate.ts';
import type { Policy } from '../policy/policy.ts';
import type { DecidingPolicy, StandInSource } from '../policy/ports.ts';
import type { IsWitnessed } from './log-limits.ts';
import type { Order, OrderItem, OrderState, OrderTaskName } from './order.ts';
import type { OrderLogEntry } from './order-events.ts';
import type { RecordHint, RecordProof } from './record-finding.ts';
import type { EarlierFinding, ShownIncident } from './refusal.ts';
import type { LogDifference, SendingDifference } from './summary.ts';

/** A change to commit: all of it or nothing. */
export interface OrderCommit {
  readonly before: Order;
  readonly after: Order;
  readonly log: readonly OrderLogEntry[];
  /** What has to hold where the change marks a request as sent; undefined for every other change. */
  readonly guard: SendingGuard | undefined;
  /** For how long from now on the order's worker counts as alive without a sign of it. */
  readonly leaseMs?: number;
  /** A secret result, to be shown once to the requester. */
  readonly revealable?: { readonly n: number; readonly sealed: Sealed; readonly expiresAt: Date };
  /** What the service answered to an item's request, whole, its secrets masked. */
  readonly answer?: { readonly n: number; readonly answer: unknown };
  /** Required where an order that a mandate made is about to be sent: what is checked in the same transaction, and reserved anew. */
  readonly mandated?: MandatedSending;
  /**
   * What the order takes out of the team's budgets. It is reserved in the same transaction if the change releases the
   * order; where a budget does not have as much, the change is not made.
   */
  readonly reservation?: Reservation | undefined;
}

/** What lets an order go that a mandate made. */
export interface MandatedSending {
  readonly reservation: Reservation;
  /** The mandate’s order, whose signatures let it go, where the renewal has to be signed. */
  readonly signedBy: Order | undefined;
  /**
   * Why it may not go, by what is read under the locks of the transaction. Pure.
   * @param mandate the mandate's order
   */
  readonly refusal: (mandate: Order | undefined, read: SendingRead) => HeldCode | undefined;
}

/** What is read of a name in the transaction that sends it. */
export type SendingRead = Omit<SendingFacts, 'mandate' | 'isUnchanged'>;

/** An answer of the service as it is kept. */
export interface StoredResponse {
  readonly n: number;
  readonly at: Date;
  readonly answer: unknown;
}

export type CommitOutcome =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly conflictingOrderId: string | undefined;
      /** The commit would have sent an order that its mandate does not let go by now. */
      readonly held?: HeldCode;
      /** The commit would have sent a retry whose earlier order was done, or may be. */
      readonly earlier?: EarlierFinding;
      /** The commit would have sent what the log says was sent before, or has ended. */
      readonly differs?: LogDifference;
      /** The commit would have sent what is not signed as it has to be. */
      readonly notSigned?: readonly SendingDifference[];
    };

/** An order and what has happened to it. */
export interface OrderWithHistory {
  readonly order: Order;
  readonly history: readonly OrderLogEntry[];
}

/** The bot itself. A caller that names it shows nothing of an order, or checks first who may see it. */
export type SystemViewer = 'system';

export interface OrderFilter {
  readonly states?: readonly OrderState[];
  readonly tasks?: readonly OrderTaskName[];
  readonly requesterId?: string;
  /** Private orders are left out that this person didn't ask for. `system`: the bot itself, or somebody who sees all. */
  readonly viewer: SystemViewer | { readonly id: string };
  readonly name?: string;
  /** Only those of the live system: an order in the demo system changes nothing that can be seen of a name. */
  readonly isLive?: true;
  /** Only those that somebody approved alone in an emergency and no other admin has reviewed. */
  readonly isReviewOpen?: true;
  readonly limit: number;
}

/**
 * Due orders are claimed in three lanes, so that neither a slow service nor a slow registry holds up anything else:
 * orders whose time or worker has run out, orders to be carried out, and orders to look up in public records.
 */
export type DueLane = 'deadlines' | 'execution' | 'observation';

/** When the first of some names expires, as far as the watch list knows. */
export type FirstExpiry = (names: readonly string[]) => Promise<Date | undefined>;

/** What the rules of the policy look at besides the order itself. */
export interface RuleFacts {
  /** ISO 4217 code of the team's amounts. */
  readonly currency: string;
  /** The tags of hosts themselves, without their parents. A host without an entry is not known. */
  tagsOf(hosts: readonly string[]): Promise<PolicyFacts['tags']>;
  /** The names of the watch list that fit some patterns, as those of a rule. */
  namesFitting(patterns: readonly string[]): Promise<readonly string[]>;
  /** What a task that may cost money costs for each name, as far as that is known. */
  pricesOf(order: PricedOrder): Promise<PolicyFacts['prices']>;
}

/** A new order, or one that the database has lost, with all that is kept of it from the start. */
export interface OrderCreation {
  readonly order: Order;
  readonly log: readonly OrderLogEntry[];
  readonly sealedInput?: Sealed | undefined;
  /** The secret inputs of items that have inputs of their own, by their number. */
  readonly sealedItems?: ReadonlyMap<number, Sealed> | undefined;
  /** What an order that goes out at once takes out of the budgets, reserved in the same transaction. */
  readonly reservation?: Reservation | undefined;
}

/** Where orders are kept. Implemented by the store; every change is a compare-and-swap on `version`. */
export interface OrderStore {
  /** For the bot itself. People read orders with `loadVisible`. */
  load(id: string, viewer: SystemViewer): Promise<Order | undefined>;
  /**
   * Keeps a new order.
   * @returns undefined when it was kept; else the id of the conflicting order, which has the same delivery, or is open
   * for the same task and name. Without an id a budget does not have what the order takes: check the budgets again
   */
  create(creation: OrderCreation): Promise<{ readonly conflictingOrderId: string | undefined } | undefined>;
  /**
   * Commits a change if nobody else changed the order since `before` was read. Closing an order wipes its sealed input
   * and frees its names.
   *
   * A claim and a mark of sending fail while it is not known whether the database has lost commits
   * (`restore-guard.ts`). An item of a retry is marked as sent only while no order that it asks for again has done that
   * name or may be doing it; changes of those orders wait meanwhile.
   * A mark of sending is committed only if its guard finds nothing against the rows that its transaction has locked and read.
   * @returns not `ok` when somebody else was faster (read again); or, on leaving `DRAFT`, when another open order has
   * the same task and name; or when an earlier order stands in the way of a retry; or when a budget no longer has what
   * it takes (read again)
   */
  commit(change: OrderCommit): Promise<CommitOutcome>;
  /**
   * Says that the worker is alive.
   * @returns false when the claim is no longer its own
   */
  extendLease(id: string, workerId: string, leaseMs: number): Promise<boolean>;
  sealedInput(id: string): Promise<Sealed | undefined>;
  /** The secret inputs of the items that have not ended, by their number. */
  sealedItemInputs(id: string): Promise<ReadonlyMap<number, Sealed>>;
  /** The open orders that hold some names for a task: ids by name. */
  openOrders(task: OrderTaskName, names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  list(filter: OrderFilter): Promise<readonly Order[]>;
  history(orderId: string, viewer: SystemViewer): Promise<readonly OrderLogEntry[]>;
  readonly isWitnessed: IsWitnessed;
  /** An order with its log, oldest first, at one moment; without what happened to single items of one of many rows. */
  loadWithHistory(id: string, viewer: SystemViewer): Promise<OrderWithHistory | undefined>;
  /** Everything that the service answered, item by item, oldest first. */
  answers(orderId: string, viewer: SystemViewer): Promise<readonly StoredResponse[]>;
  /** The newest order of a task by a person in a context: what forms are prefilled from. */
  latest(task: OrderTaskName, requesterId: string, context: number | undefined): Promise<Order | undefined>;
  /**
   * Claims orders that are due and unclaimed: until the lease ends, which goes by the database's clock, nobody else
   * gets them. A worker whose lease has ended loses its claim. A change of an order ends the lease.
   * @param until claims what is due by then
   * @returns ids, the longest due first
   */
  claimDue(lane: DueLane, until: Date, leaseMs: number, limit: number): Promise<readonly string[]>;
  /** Nothing could be done about an order at this moment: nobody tries before a pause that grows with each try. */
  putOff(id: string): Promise<void>;
  /** Ends this process's lease of an order that it cannot carry out, and does not claim it again for some seconds. */
  leaveToOthers(id: string): Promise<void>;
  /**
   * An order was looked at and has not changed: sets when it is due again, if at all. Does nothing when the order has
   * changed.
   */
  reschedule(order: { readonly id: string; readonly version: number }, due: Date | undefined): Promise<void>;
  /** Has its notifications brought up to date, although it has not changed. */
  requestNotification(id: string, now: Date): Promise<void>;
  /** Has the notifications of all pending orders refreshed in the background, after those for which somebody waits. */
  refreshPending(now: Date): Promise<void>;
  /** Keeps by how much every card of an order says by now that it exceeds budgets. */
  recordShownExcess(id: string, excess: readonly Shortfall[]): Promise<void>;
  /** Ids of orders that are `APPROVED` or `EXECUTING`. */
  unsent(): Promise<readonly string[]>;
  /**
   * Ids of the orders of which something may still be sent, that use one of the accounts or that a person asked for.
   */
  unfinishedOf(accountIds: readonly string[], requesterId?: string): Promise<readonly string[]>;
  /** Forgets a person's drafts and wipes the secret results that wait to be shown to them. */
  forgetPrivate(requesterId: string): Promise<void>;
  /** Forgets a draft with all that was kept of it. @returns false when it is none, or none any more */
  forgetDraft(id: string): Promise<boolean>;
  /** Forgets drafts that ran out and wipes secrets past their life. @returns how many of each */
  purgeExpired(now: Date): Promise<{ readonly drafts: number; readonly secrets: number }>;
  /** Hands a secret out, once: it is gone from the store when this returns. */
  takeRevealable(orderId: string, n: number, now: Date): Promise<Sealed | 'gone' | undefined>;
  /** Takes back what was handed out and could not be shown. Its end of life stays. */
  returnRevealable(orderId: string, n: number, sealed: Sealed): Promise<void>;
}

/** Whether somebody is a full member of the workspace; `unknown` while Slack does not tell. */
export type Membership = 'member' | 'left' | 'unknown';

/** Who belongs to the workspace and to its user groups. Implemented by `slack`. */
export interface Directory {
  /** `left` also means somebody who became a guest, or never was a member. */
  membership(userId: string): Promise<Membership>;
  /** @returns undefined while Slack does not tell; then nobody may be taken for an approver */
  membersOf(groupId: string): Promise<readonly string[] | undefined>;
}

/** Keys, charters, the published policy, saved settings and stand-ins, read at one moment. */
export interface SigningRows {
  readonly log: SigningLog;
  readonly policy: Policy;
  /** Saved by `/domain settings`. */
  readonly saved: Readonly<Record<string, unknown>>;
  /** By the absent approver. Some may have ended. */
  readonly standIns: ReadonlyMap<string, StandIn>;
}

/** Everything that decides whether a request may leave, read in the transaction that marks it as sent. */
export interface SendingRows extends SigningRows {
  readonly order: Order;
}

/** Why a request must not leave. `changed`: the policy or the keys changed since the check, so it is checked again. */
export type SendingObstacle =
  | { readonly kind: 'changed' }
  | { readonly kind: 'not_signed'; readonly differs: readonly SendingDifference[] };

/**
 * What has to hold when a request is marked as sent. `no_signatures`: no key is in use, and the order was not to be signed.
 */
export type SendingGuard =
  | 'no_signatures'
  | { readonly verify: (rows: SendingRows) => Promise<SendingObstacle | undefined> };

/**
 * What an approver knows of the impact on an order's name. `none`: the task puts nothing at risk. `changed`: since it was
 * asked for something has appeared, or can be seen no longer, and nobody was told so at a press yet.
 */
export type ImpactAtApproval = 'none' | 'known' | 'unknown' | 'changed';

/** The open incidents of an order's names. */
export interface KnownIncidents {
  readonly shown: readonly ShownIncident[];
  /** Since when each person knows of all of them; people without an entry don't. */
  readonly informedSince: ReadonlyMap<string, Date>;
}

/** The open incidents of the names of orders, and who among the approvers knows of them. */
export interface IncidentsOfOrders {
  /** Undefined while none is open. */
  readonly known: (order: Order) => Promise<KnownIncidents | undefined>;
  /** Records that these were shown to a person. */
  readonly told: (orderId: string, userId: string, shown: readonly ShownIncident[]) => Promise<void>;
}

/** What keys are measured by; undefined where none can be used. */
export interface KeyUse {
  /** `SIGNING_ROOTS`. */
  readonly roots: ReadonlySet<string>;
  readonly verifier: Verifier;
  /** Undefined while the ledger's key can't be opened: then no charter counts. */
  readonly witness: Witness | undefined;
}

/** An approval, signed or not. */
export interface SignedBy {
  readonly userId: string;
  readonly signed?: ApprovalSignature | undefined;
}

/** The signatures of orders, as decisions and the sending need them. */
export interface OrderSigning {
  /** Undefined while nothing can be signed. */
  readonly use: KeyUse | undefined;
  /** The policy and the settings in force. */
  deciding(): Promise<Deciding>;
  /** The settings of {@link deciding}. */
  settings(): Promise<TeamSettings>;
  /** The policy of {@link deciding}. */
  readonly policy: DecidingPolicy;
  /** Read with {@link deciding} when asked for at the same time. */
  readonly standIns: StandInSource;
  /** The keys and charters in the log, and the active keys. */
  keys(): Promise<SigningLog & { readonly log: KeyLog; readonly ring: KeyRing }>;
  /** Whether a charter counts; undefined while nothing can be signed. */
  charter(): Promise<CharterStatus | undefined>;
  /** People whose signed approvals of an order count now. @param policyVersion the version in force */
  signersOf(order: Order, policyVersion: number): Promise<ReadonlySet<string>>;
  /** The approvals whose signatures count. @param ring of {@link keys} */
  countingAmong<Each extends SignedBy>(
    approvals: readonly Each[],
    subject: SignedSubject,
    ring: KeyRing,
  ): Promise<ReadonlySet<Each>>;
  /** The people whose signatures count now. */
  signersAmong(approvals: readonly SignedBy[], subject: SignedSubject): Promise<ReadonlySet<string>>;
  /**
   * What has to hold for a request of an order to leave.
   * @param order as it was claimed, whose rows gave its statement
   * @returns undefined while Slack does not tell of the people whom it depends on
   */
  guardOf(order: Order): Promise<SendingGuard | undefined>;
}

export type FindAccount = (accountId: string) => Promise<Account | undefined>;

/** Asks public records about an item. Implemented by expiry. */
export type LookForEvidence = (order: Order, item: OrderItem) => Promise<Evidence>;

/** Looks whether what the service accepted has happened. Implemented by expiry. */
export type LookAtRegistry = (order: Order, item: OrderItem) => Promise<RegistryLook>;

/** Answers of an order's new nameservers for its name. Implemented by names. */
export type DelegationLook =
  | { readonly kind: 'answering' }
  /** These nameservers do not know the name, or do not answer. */
  | { readonly kind: 'not_answering'; readonly hosts: readonly string[] }
  /** Nobody can say. */
  | { readonly kind: 'unknown' };

export type LookAtDelegation = (order: Order, item: OrderItem) => Promise<DelegationLook>;

/** Whether the registry shows the result of an accepted task; `not_shown`: not yet. */
export type RegistryLook = 'shown' | 'not_shown' | 'unknown';

/** What public records tell of a request whose answer was lost. */
export type Evidence =
  /** It was carried out: nothing else can have caused what is seen. */
  | { readonly kind: 'done'; readonly seen: RecordProof }
  /** Proves nothing, but helps the person who settles it. `source` is the server that said so. */
  | { readonly kind: 'hint'; readonly seen: RecordHint; readonly source: string }
  | { readonly kind: 'nothing' };
