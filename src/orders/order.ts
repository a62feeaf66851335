import { z } from 'zod';
import type { FilledSlot } from '../approvals/progress.ts';
import type { ApprovalSignature, LoggedSignature } from '../approvals/signing/approval.ts';
import { DAY_MS, HOUR_MS } from '../lib/duration.ts';
import type { MandateEnd, MandateReference } from '../mandates/codes.ts';
import type { Amount } from '../money/amount.ts';
import type { BudgetOverrun } from '../money/budget.ts';
import type { OrderCost } from '../money/prices.ts';
import type { Requirement, Requirements } from '../policy/evaluate.ts';
import type { RuleReference } from '../policy/policy.ts';
import type { Bulk, PauseReason } from './bulk/stored-bulk.ts';
import type { PendingDeadlines } from './deadlines.ts';
import { type EvidenceProof, storedEvidenceSchema } from './record-finding.ts';
import {
  itemSummarySchema,
  type LogDifference,
  type PlainSummary,
  type ReopenReason,
  type RetryReason,
} from './summary.ts';

/**
 * The order and its events; `state-machine.ts` defines the transitions. Terms:
 * - **order**: one request by one person for one task, for one or several names.
 * - **item**: one name of an order; it becomes exactly one request to the domain service.
 * - **ctid**: the client transaction id of an item's request.
 * - **claim**: a worker's right to send an approved order. Its **lease** ends by the database's clock. Until then, an
 * unresponsive worker is considered alive.
 * - **sentAt**: committed before the first byte of an item's request may be sent. From then on, the item is `SENT`. It
 * returns to `WAITING` or gets a new `sentAt` only with proof that the service didn't carry out the request.
 * - **requester**: the person who requested an order. **Approver**: a person who may approve a pending order.
 */

/** Tasks that create orders, named by their subcommands, in display order. */
export const ORDER_TASK_NAMES = [
  'create',
  'transfer',
  'renew',
  'restore',
  'delete',
  'nameservers',
  'owner-change',
  'authcode',
  'redirect',
  'ssl-contact',
  'user',
  'mandate',
] as const;
export type OrderTaskName = (typeof ORDER_TASK_NAMES)[number];

/**
 * Tasks that need approval by default: those that cost money, can lose a name, or redirect all its traffic and mail.
 */
export const DEFAULT_APPROVAL_TASKS: readonly OrderTaskName[] = [
  'create',
  'transfer',
  'renew',
  'restore',
  'delete',
  'nameservers',
  'owner-change',
  'authcode',
];

/** Tasks whose success updates the watch list. */
export const WATCH_LIST_TASKS: readonly OrderTaskName[] = [
  'create',
  'transfer',
  'renew',
  'restore',
  'delete',
];

/** Tasks whose results appear in public records. */
export const PUBLIC_RECORD_TASKS: ReadonlySet<OrderTaskName> = new Set<OrderTaskName>([
  'create',
  'renew',
  'transfer',
  'restore',
  'delete',
  'nameservers',
]);

export const ORDER_STATES = [
  'DRAFT',
  'PENDING',
  'APPROVED',
  'EXECUTING',
  'SUCCEEDED',
  'FAILED',
  'UNKNOWN',
  'DENIED',
  'EXPIRED',
  'CANCELLED',
] as const;
export type OrderState = (typeof ORDER_STATES)[number];

export type ItemState = 'WAITING' | 'SENT' | 'SUCCEEDED' | 'FAILED' | 'UNKNOWN';

export const DELEGATION_STATES = ['answering', 'not_answering'] as const;
export type DelegationState = (typeof DELEGATION_STATES)[number];

const optionalText = z.string().exactOptional();
const optionalNumber = z.number().exactOptional();
const optionalFlag = z.boolean().exactOptional();

/** A message from the service. `status` is the message's kind, such as NOTICE. */
const resultMessageSchema = z.object({
  code: optionalText,
  text: optionalText,
  status: optionalText,
  objects: z
    .array(z.object({ type: z.string(), value: z.string() }))
    .readonly()
    .exactOptional(),
});
export type ResultMessage = Readonly<z.output<typeof resultMessageSchema>>;

/** The object in an answer, such as `{ type: 'Redirect', value: 'www.cafe.rest', summary: 1 }`. */
const resultObjectSchema = z.object({ type: optionalText, value: optionalText, summary: optionalNumber });
export type ResultObject = Readonly<z.output<typeof resultObjectSchema>>;

/** A public record about an item with an unknown outcome. The record doesn't prove the outcome. */
const hintSchema = z.object({
  seen: storedEvidenceSchema,
  /** The server that answered. */
  source: z.string(),
  /** ISO 8601. */
  seenAt: z.string(),
});
export type Hint = Readonly<z.output<typeof hintSchema>>;

/** The details of an item's outcome. Never contains a secret: the codecs mask secrets that the service echoes. */
export const storedItemResultSchema = z.object({
  summary: itemSummarySchema,
  /** The service's status code and text, verbatim. */
  code: optionalText,
  text: optionalText,
  /** The service's transaction id. */
  stid: optionalText,
  httpStatus: optionalNumber,
  /** The type of the status, such as SUCCESS or NOTICE. */
  type: optionalText,
  messages: z.array(resultMessageSchema).readonly().exactOptional(),
  object: resultObjectSchema.exactOptional(),
  /** The answer's data; omitted if too long to store with an order. */
  data: z.unknown().exactOptional(),
  /** The full answer, which has more data, is stored separately. */
  hasFullAnswer: optionalFlag,
  /** The `kind` of a `ServiceError`. */
  errorKind: optionalText,
  /** The answer contains a secret, which is shown once to the requester. */
  hasSecret: optionalFlag,
  /** A Slack user ID or {@link EVIDENCE_ACTOR}, once an unknown outcome is settled. */
  resolvedBy: optionalText,
  /** The outcome of an answer that arrived after the item had ended. Doesn't change the item's state. */
  lateOutcome: z.enum(['SUCCEEDED', 'FAILED', 'UNKNOWN']).exactOptional(),
  /** The item is being resent, but an earlier request may have been carried out. */
  inDoubt: optionalFlag,
  /** The person who stopped the item before it was sent or resent. */
  stoppedBy: optionalText,
  /** The item was stopped, because this earlier order had already carried it out. */
  doneByOrderId: optionalText,
  /** The registry shows that the task, which the service had only accepted, is complete. */
  confirmedByRegistry: optionalFlag,
  /** People were notified that the registry didn't show the task as complete long after acceptance. */
  isOverdue: optionalFlag,
  /** The last reported state of the new nameservers. */
  delegation: z.enum(DELEGATION_STATES).exactOptional(),
  hint: hintSchema.exactOptional(),
});
export type ItemResult = Readonly<z.output<typeof storedItemResultSchema>>;

export interface OrderItem {
  readonly n: number;
  /** A domain in ASCII form, a redirect's source, an SSL contact's id or a user's name. */
  readonly name: string;
  readonly ctid: string;
  /** The item's own input, in a bulk order. */
  readonly input?: unknown;
  /** Replaces the secret part of the item's input in the statement. */
  readonly secretHash?: string | undefined;
  readonly state: ItemState;
  /** The number of requests sent or attempted. */
  readonly attempts: number;
  /** The earliest time to send the item. */
  readonly notBefore: Date | undefined;
  readonly sentAt: Date | undefined;
  readonly answeredAt: Date | undefined;
  readonly result: ItemResult | undefined;
  /** Whether the watch list was updated after the item's success. */
  readonly isWatchListUpdated: boolean;
}

/** The owner and the note that a name gets when the order succeeds. Never sent to the service. */
export const storedOwnershipSchema = z.object({ owner: optionalText, note: optionalText });
export type Ownership = Readonly<z.output<typeof storedOwnershipSchema>>;

export interface Approval {
  readonly userId: string;
  readonly at: Date;
  /** The budget excess that the card showed at the approver's last click. */
  readonly agreedExcess: readonly BudgetOverrun[];
  readonly signed?: ApprovalSignature | undefined;
}

export interface Order {
  readonly id: string;
  readonly task: OrderTaskName;
  readonly state: OrderState;
  /** Incremented by every change, for compare-and-swap. */
  readonly version: number;
  readonly requesterId: string;
  readonly account: OrderAccount;
  readonly items: readonly OrderItem[];
  /**
   * The input without secrets, in the shape that the task defines. In a bulk order, contains only each name's period.
   */
  readonly input: unknown;
  /** Set for a bulk order, which is created from a file. Each row is an item with its own input. */
  readonly bulk?: Bulk | undefined;
  /** Hash of the statement, which people approve. Set when the order is requested and never changed. */
  readonly statementHash: string;
  /**
   * Replaces the secret part of the input in the statement. The encrypted secret is deleted when the order closes.
   */
  readonly secretHash?: string | undefined;
  readonly reason: string | undefined;
  readonly ownership?: Ownership | undefined;
  readonly channelId: string;
  readonly threadTs: string | undefined;
  readonly approvals: readonly Approval[];
  readonly approvalsRequired: number;
  readonly policyVersion: number;
  readonly requirements: Requirements;
  /**
   * When a draft is deleted, a pending order expires, the rest of a paused order is stopped, a mandate's order
   * would be too late, or an active mandate ends.
   */
  readonly expiresAt: Date | undefined;
  /** When approvers are reminded, or people are notified that a mandate ends; undefined when done or not needed. */
  readonly remindAt: Date | undefined;
  /** When a pending order is escalated; undefined when done or not needed. */
  readonly escalateAt: Date | undefined;
  /** Requested in a direct message: only the requester, approvers and admins see it. */
  readonly isPrivate: boolean;
  /** The budget excess that the order's card shows. Updated without incrementing the version. */
  readonly shownExcess: readonly BudgetOverrun[];
  readonly emergencyApprovedBy?: string | undefined;
  /** The admin who reviewed the emergency approval; undefined while the review is open. */
  readonly signedOffBy?: string | undefined;
  /** The worker that carries out the order. The store keeps the lease. */
  readonly claim: { readonly workerId: string } | undefined;
  /** The failed order that this one retries. */
  readonly retryOf: string | undefined;
  /** Requesters of the orders that this one retries, oldest first. Empty if this order isn't a retry. */
  readonly earlierRequesters: readonly string[];
  /**
   * The earliest time to send the order: the requester's chosen time or, for a mandate's order, a day or more after the
   * announcement.
   */
  readonly sendAfter?: Date | undefined;
  /** How many times the order was reopened. An approval counts only in its own round. */
  readonly approvalRound: number;
  /** The mandate that created the order; undefined for a person's order. */
  readonly mandate?: MandateReference | undefined;
  readonly mandateEnd?: MandateEnd | undefined;
  /** Identifies the command, form or click that requested the order. */
  readonly deliveryId: string;
  readonly createdAt: Date;
  readonly closedAt: Date | undefined;
}

/** The linked account that an order is bound to. */
export interface OrderAccount {
  readonly id: string;
  /** User name, or the application's UUID. */
  readonly login: string;
  readonly method: string;
  /** Undefined for a trusted application. */
  readonly context: number | undefined;
  /** Whether this is the team's account, whose orders need approval. */
  readonly isTeamAccount?: boolean;
}

/** Stored in place of a user id if public records caused an event. */
export const EVIDENCE_ACTOR = 'evidence';

/** The policy's requirements for an order when it was requested or confirmed. */
export interface PolicyDecision {
  readonly policyVersion: number;
  readonly requirements: Requirements;
  readonly approvalsRequired: number;
  readonly decidedBy: readonly RuleReference[];
}

export interface ApprovalProgress {
  readonly isApproved: boolean;
  readonly policyVersion: number;
  /** Whether the order needs more approvals than when it was requested. */
  readonly isStricter: boolean;
  readonly requirements: readonly (Pick<Requirement, 'rule' | 'needed' | 'approvers'> & {
    readonly slots: readonly FilledSlot[];
  })[];
}

interface ItemOutcome {
  readonly n: number;
  readonly outcome: 'SUCCEEDED' | 'FAILED' | 'UNKNOWN';
  readonly result: ItemResult;
}

export interface EvaluatedApproval {
  readonly by: string;
  /** Undefined for a click without a signature. */
  readonly signed: LoggedSignature | undefined;
  /** The budget excess that the card showed at the click. */
  readonly agreedExcess: readonly BudgetOverrun[];
  /** People whose approval is valid now. Includes `by` if the click counts as an approval. */
  readonly validApprovers: readonly string[];
  readonly progress: ApprovalProgress;
  /** Approver groups that Slack couldn't look up. Treated as empty. */
  readonly unreadableGroups: readonly string[];
  /** The current price of the order, or of its unsent items, according to the team's price list. */
  readonly price: OrderCost | undefined;
  /**
   * The budgets that the order exceeds, and the admins who agreed to exceed them. Until an admin agrees, the order
   * stays pending.
   */
  readonly budget: { readonly exceeded: readonly BudgetOverrun[]; readonly admins: readonly string[] };
}

export type OrderEvent =
  | {
      readonly type: 'confirmed';
      readonly needsApproval: boolean;
      readonly expiresAt: Date;
      readonly remindAt: Date;
      readonly escalateAt?: Date;
      readonly decision?: PolicyDecision;
    }
  | (EvaluatedApproval & {
      readonly type: 'approved';
      /** The approver's comment. */
      readonly reason?: string | undefined;
      /** The impact on the name wasn't looked up yet. */
      readonly isImpactUnknown?: boolean;
      /** The approval replaces the person's earlier one, which is no longer valid. */
      readonly isReplacement?: boolean;
    })
  /** An admin approves the order alone in an emergency, if the policy allows that. */
  | {
      readonly type: 'emergency_approved';
      readonly by: string;
      readonly agreedExcess: readonly BudgetOverrun[];
      readonly reason: string;
      /** The people who could have approved the order, who are notified. */
      readonly approvers: readonly string[];
      readonly unreadableGroups: readonly string[];
      readonly policyVersion: number;
      readonly price?: OrderCost | undefined;
      readonly isImpactUnknown?: boolean;
      readonly exceeded: readonly BudgetOverrun[];
    }
  /** Another admin has reviewed the emergency approval. */
  | { readonly type: 'signed_off'; readonly by: string }
  /** Something has changed since the approval, so the order needs approval again when it is due. */
  | ({
      readonly type: 'reopened';
      readonly reasons: readonly ReopenReason[];
      readonly price: OrderCost | undefined;
      readonly decision: PolicyDecision;
    } & PendingDeadlines)
  /** An approver asks a question, which restarts the deadlines. */
  | ({ readonly type: 'asked'; readonly by: string; readonly question: string } & PendingDeadlines)
  | {
      readonly type: 'denied';
      readonly by: string;
      readonly reason: string | undefined;
      /** The progress that this person's approval alone would make; undefined if a rule refuses the order. */
      readonly progress?: ApprovalProgress | undefined;
    }
  | { readonly type: 'cancelled'; readonly by: string }
  | { readonly type: 'expired' }
  | { readonly type: 'reminded' }
  /** The order is escalated to people and groups, and to the admins. */
  | { readonly type: 'escalated'; readonly to: readonly string[]; readonly toAdmins: boolean }
  | { readonly type: 'claimed'; readonly workerId: string }
  /** The request of item `n` is about to be sent. */
  | {
      readonly type: 'sending';
      readonly workerId: string;
      readonly n: number;
      /** Set for a second request within a claim: why the service can't have carried out the first. */
      readonly retryReason?: RetryReason;
      /** How much of the mandate's limit a mandate's order uses. */
      readonly amount?: Amount;
    }
  /** Item `n` may be resent: the request provably wasn't carried out, or a repeat is harmless. */
  | {
      readonly type: 'retry_scheduled';
      readonly workerId: string;
      readonly n: number;
      readonly notBefore: Date;
      readonly retryReason: RetryReason;
      /** Set if the request may have been carried out. Shown to people until the item is resent. */
      readonly doubt?: PlainSummary;
    }
  | (ItemOutcome & {
      readonly type: 'answered';
      /** The worker that abandoned the item before its request was sent; undefined if it was sent. */
      readonly abandonedBy?: string;
    })
  /**
   * The outcome of a request whose item had already ended, for example because a person settled it or another worker
   * got an answer.
   */
  | (ItemOutcome & { readonly type: 'answered_late' })
  | { readonly type: 'confirmed_by_registry'; readonly n: number }
  /** The registry doesn't show the task as complete long after acceptance. */
  | {
      readonly type: 'overdue';
      readonly n: number;
      /** Days since acceptance. */
      readonly days: number;
    }
  /** The new nameservers have started or stopped answering. */
  | {
      readonly type: 'delegation_seen';
      readonly n: number;
      readonly delegation: DelegationState;
      readonly hosts: readonly string[];
      /** Whole hours since the change. */
      readonly hours: number;
    }
  /** Unsent items are stopped, because a precondition is no longer met or a person stops the order. */
  | {
      readonly type: 'stopped';
      readonly summary: PlainSummary;
      /**
       * The person who stops the order, if any. If a person stops an order or the policy refuses it before anything was
       * sent, the order becomes `CANCELLED`.
       */
      readonly by?: string;
      /** Default: all waiting items. */
      readonly itemNumbers?: readonly number[];
      readonly doneByOrderId?: string;
    }
  /** A mandate starts. */
  | { readonly type: 'in_force'; readonly expiresAt: Date; readonly remindAt: Date }
  /** A mandate ends soon, and people are notified. */
  | { readonly type: 'mandate_ending' }
  /** A mandate ends, so it creates no more orders. */
  | { readonly type: 'mandate_ended'; readonly cause: MandateEnd['cause']; readonly by?: string }
  | { readonly type: 'hinted'; readonly n: number; readonly hint: Hint }
  /**
   * The database was restored, lost commits, or wasn't used by a bot for a long time. Orders that look unsent may have
   * been carried out.
   */
  | {
      readonly type: 'invalidated';
      readonly summary: PlainSummary;
      readonly lostRequest?: LostRequest;
    }
  /** A bulk order with too many failures is paused until a person resumes it. */
  | {
      readonly type: 'paused';
      readonly reason: PauseReason;
      /** If no one resumes the order by this time, its unsent items are stopped. */
      readonly expiresAt: Date;
      readonly workerId?: string;
    }
  /** The requester or an approver resumes a paused order. The current requirements must be met. */
  | (EvaluatedApproval & { readonly type: 'resumed' })
  /** The order's rows differ from its log, which is authoritative. Nothing more is sent. */
  | {
      readonly type: 'contradicted';
      readonly difference: LogDifference;
      /** The newest version in the log. */
      readonly version: number;
      /** The outcome of each item according to the log; undefined if the item wasn't carried out. */
      readonly loggedOutcomes: ReadonlyMap<number, 'SUCCEEDED' | 'UNKNOWN' | undefined>;
    }
  /** The claim ends, because the worker is unresponsive or has nothing to do until an item's `notBefore`. */
  | { readonly type: 'released' }
  | {
      readonly type: 'resolved';
      /** Slack user id, or {@link EVIDENCE_ACTOR}. */
      readonly by: string;
      readonly outcome: 'SUCCEEDED' | 'FAILED';
      readonly reason: string | undefined;
      readonly proof?: EvidenceProof;
      /** Default: all items with an unknown outcome. */
      readonly n?: number;
    };

/** A sent request that the database has lost but the worker still has in memory. */
export interface LostRequest extends ItemOutcome {
  readonly sentAt: Date | undefined;
  readonly attempts: number;
}

const FINAL_STATES: ReadonlySet<OrderState> = new Set([
  'SUCCEEDED',
  'FAILED',
  'DENIED',
  'EXPIRED',
  'CANCELLED',
]);

/** `UNKNOWN` isn't final, because a person still has to settle the order. */
export function isFinal(state: OrderState): boolean {
  return FINAL_STATES.has(state);
}

/** While an order is open, another order for the same task and name is refused. */
export function isOpen(state: OrderState): boolean {
  return state !== 'DRAFT' && !isFinal(state);
}

/** The failed items, except those that may have been carried out. */
export function findRetryableItems(order: Order): readonly OrderItem[] {
  return order.items.filter(
    ({ state, result }) =>
      state === 'FAILED' &&
      (result?.lateOutcome === undefined || result.lateOutcome === 'FAILED') &&
      result?.doneByOrderId === undefined,
  );
}

/** Whether a file's rows have secrets. The secrets are deleted row by row, so the order can't be retried. */
export function hasRowSecrets(order: Order): boolean {
  return order.bulk !== undefined && hasSecretInput(order);
}

/** Whether the input has a secret part (an auth code, a password), including in a file's rows. */
export function hasSecretInput({ secretHash, items }: Order): boolean {
  return secretHash !== undefined || items.some((item) => item.secretHash !== undefined);
}

export const RETRY_DAYS = 7;

export function isRetryExpired(order: Order, now: Date): boolean {
  return now.getTime() - (order.closedAt ?? order.createdAt).getTime() > RETRY_DAYS * DAY_MS;
}

/** How long new nameservers are checked, and a nameserver change can be undone with one click. */
export const UNDO_HOURS = 48;

/** The deadline for undoing an item's nameserver change; undefined for other items. */
export function findUndoDeadline(
  { task, closedAt, bulk }: Order,
  { state, answeredAt }: OrderItem,
): Date | undefined {
  // The names of a bulk order may have had different nameservers before, so an undo needs a new file.
  if (bulk !== undefined) return undefined;
  const changedAt = answeredAt ?? closedAt;
  if (task !== 'nameservers' || state !== 'SUCCEEDED' || changedAt === undefined) return undefined;
  return new Date(changedAt.getTime() + UNDO_HOURS * HOUR_MS);
}

/** Whether a person requested this order or one that it retries. */
export function isRequester(
  order: Pick<Order, 'requesterId' | 'earlierRequesters'>,
  userId: string,
): boolean {
  return order.requesterId === userId || order.earlierRequesters.includes(userId);
}

/** The person whose account an order uses: the requester of the first order in a chain of retries. */
export function getAccountOwner(order: Order): string {
  return order.earlierRequesters[0] ?? order.requesterId;
}

export function isReviewOpen(order: Order): boolean {
  return order.emergencyApprovedBy !== undefined && order.signedOffBy === undefined;
}

/** The send time that the requester chose, if any. */
export function getChosenSendTime({
  sendAfter,
  mandate,
}: Pick<Order, 'sendAfter' | 'mandate'>): Date | undefined {
  return mandate === undefined ? sendAfter : undefined;
}

/** Whether an order is approved for a chosen time, with no request attempted yet. */
export function isWaitingForSendTime(order: Order): boolean {
  const time = getChosenSendTime(order);
  return (
    order.state === 'APPROVED' &&
    time !== undefined &&
    order.approvals.every(({ at }) => at < time) &&
    order.items.every(({ state, attempts }) => state === 'WAITING' && attempts === 0)
  );
}

/** Whether an order is pending again after its chosen time. The order is then sent as soon as it is approved. */
export function isReopened({ state, approvalRound }: Pick<Order, 'state' | 'approvalRound'>): boolean {
  return state === 'PENDING' && approvalRound > 0;
}

/** The chosen send time of an order that hasn't reached it yet. */
export function findUpcomingSendTime(order: Order): Date | undefined {
  const { state } = order;
  const isUndecided = state === 'DRAFT' || (state === 'PENDING' && !isReopened(order));
  return isUndecided || isWaitingForSendTime(order) ? getChosenSendTime(order) : undefined;
}

/** Scheduled orders first, earliest first. */
export function sortScheduledFirst(orders: readonly Order[]): readonly Order[] {
  const getSortKey = (order: Order) => findUpcomingSendTime(order)?.getTime() ?? Number.MAX_SAFE_INTEGER;
  return orders.toSorted((a, b) => getSortKey(a) - getSortKey(b));
}

export function findWaitingItems(order: Order): readonly OrderItem[] {
  return order.items.filter((item) => item.state === 'WAITING');
}

export function getItemInput(
  order: { readonly input: unknown },
  item: { readonly input?: unknown },
): unknown {
  return item.input ?? order.input;
}

/** The period of an input, in years; undefined for a task without a period. */
export function getPeriodYears(input: unknown): number | undefined {
  const period = typeof input === 'object' && input !== null && 'period' in input ? input.period : undefined;
  return typeof period === 'number' && Number.isInteger(period) && period > 0 ? period : undefined;
}

/** Builds an item's `ctid`: the order's id, plus the item's number if there are several items. */
export function buildCtid(orderId: string, itemNumber: number, itemCount: number): string {
  return itemCount === 1 ? orderId : `${orderId}.${itemNumber}`;
}

/** The order's state after its items have ended; undefined if some haven't ended. */
export function computeOrderOutcome(
  items: readonly OrderItem[],
): 'SUCCEEDED' | 'FAILED' | 'UNKNOWN' | undefined {
  if (items.some((item) => item.state === 'WAITING' || item.state === 'SENT')) return undefined;
  if (items.some((item) => item.state === 'UNKNOWN')) return 'UNKNOWN';
  return items.some((item) => item.state === 'FAILED') ? 'FAILED' : 'SUCCEEDED';
}
