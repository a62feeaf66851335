import { z } from 'zod';
import type { Slot } from '../approvals/progress.ts';
import type { ApprovalSignature, LoggedSignature } from '../approvals/signing/approval.ts';
import type { Mandated, MandateEnd } from '../mandates/codes.ts';
import type { Amount } from '../money/amount.ts';
import type { Shortfall } from '../money/budget.ts';
import type { OrderCost } from '../money/prices.ts';
import type { Requirement, Requirements } from '../policy/evaluate.ts';
import type { RuleReference } from '../policy/policy.ts';
import type { Bulk, PauseReason } from './bulk/stored-bulk.ts';
import type { WaitingMoments } from './deadlines.ts';
import { type RecordProof, recordFinding } from './record-finding.ts';
import { itemSummary, type LogDifference, type PlainSummary, type RetryReason } from './summary.ts';

/**
 * What an order is, and what may happen to it; `state-machine.ts` says what each event makes of it.
 *
 * Words used here and everywhere else:
 * - **order**: one request of one person for one task, for one or several names.
 * - **item**: one name of an order; it becomes exactly one request to the domain service.
 * - **ctid**: the client transaction id that the item's request carries.
 * - **claim**: a worker takes an approved order. The claim's **lease** goes by the database's clock; until it ends, a
 * silent worker counts as alive.
 * - **sentAt**: committed before the first byte of an item's request may leave. From then on the item is `SENT`. Only
 * proof that the service did not carry it out brings it back to `WAITING`, or has it sent again under a `sentAt` of its
 * own.
 * - **requester**: who asked. **Approver**: who may let a waiting order go.
 */

/** The tasks that become orders, by their subcommands, in the sequence in which people see them. */
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
 * What waits for an approver unless the settings say otherwise: what costs money, what can lose a name, and what leads all
 * its traffic and mail elsewhere.
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

/** The tasks whose success changes what the watch list knows of a name. */
export const FOLLOWED_TASKS: readonly OrderTaskName[] = ['create', 'transfer', 'renew', 'restore', 'delete'];

/** The tasks that leave something to see in public records. */
export const LOOKED_UP_TASKS: ReadonlySet<OrderTaskName> = new Set<OrderTaskName>([
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

/** Whether the nameservers that an order has set answer for its name. */
export const DELEGATIONS = ['answering', 'not_answering'] as const;
export type Delegation = (typeof DELEGATIONS)[number];

const text = z.string().exactOptional();
const flag = z.boolean().exactOptional();

/** A message of the service. `status` is its kind, such as NOTICE. */
const resultMessage = z.object({
  code: text,
  text,
  status: text,
  objects: z
    .array(z.object({ type: z.string(), value: z.string() }))
    .readonly()
    .exactOptional(),
});
export type ResultMessage = Readonly<z.output<typeof resultMessage>>;

/** The object of an answer: `{ type: 'Redirect', value: 'www.cafe.rest', summary: 1 }`. */
const resultObject = z.object({ type: text, value: text, summary: z.number().exactOptional() });
export type ResultObject = Readonly<z.output<typeof resultObject>>;

/** Something that was seen in public records. */
const hint = z.object({
  seen: recordFinding,
  /** The server that said so. */
  source: z.string(),
  /** When it was first seen (ISO 8601). */
  seenAt: z.string(),
});
export type Hint = Readonly<z.output<typeof hint>>;

/** What is known of an item's outcome. Holds no secret: the codecs mask what the service echoes. */
export const storedItemResult = z.object({
  summary: itemSummary,
  /** The service's status code and text, as it gave them. */
  code: text,
  text,
  /** The service's transaction id. */
  stid: text,
  httpStatus: z.number().exactOptional(),
  /** The type of the status, such as SUCCESS or NOTICE. */
  type: text,
  messages: z.array(resultMessage).readonly().exactOptional(),
  /** What the answer is about. */
  object: resultObject.exactOptional(),
  /** The data of the answer; left out where it is too long to stand with an order. */
  data: z.unknown().exactOptional(),
  /** The answer holds more than this: all of it is kept beside the order. */
  hasAnswer: flag,
  /** Kind of error, see `ServiceError`. */
  errorKind: text,
  /** There is a secret to be shown once to the requester. */
  hasSecret: flag,
  /** Set when a person or evidence settled an unknown outcome. */
  resolvedBy: text,
  /** What the service answered after the item had ended without it. Nothing changes for it any more. */
  late: z.enum(['SUCCEEDED', 'FAILED', 'UNKNOWN']).exactOptional(),
  /** For an item that goes out again: an earlier request may have been carried out all the same. */
  inDoubt: flag,
  /** Who stopped it before it was sent, or sent again. */
  stoppedBy: text,
  /** The earlier order that turned out to have been carried out: this one was stopped for it. */
  doneIn: text,
  /** The registry shows the end of what the service had only accepted. */
  confirmedByRegistry: flag,
  /** The registry still showed long after it was accepted that it had not happened, and people were told. */
  isOverdue: flag,
  /** What its nameservers answered, as last reported. */
  delegation: z.enum(DELEGATIONS).exactOptional(),
  /** What public records showed while the outcome was unknown: a help for people, but no proof. */
  hint: hint.exactOptional(),
});
export type ItemResult = Readonly<z.output<typeof storedItemResult>>;

export interface OrderItem {
  /** From 1. */
  readonly n: number;
  /** A domain in ASCII form, a redirect's source, an SSL contact's id or a user's name. */
  readonly name: string;
  readonly ctid: string;
  /** What it asks of the service, where each item of the order asks for something of its own. */
  readonly input?: unknown;
  /** Stands in the statement for the secret part of that. */
  readonly secretHash?: string | undefined;
  readonly state: ItemState;
  /** How many requests for it have left or were attempted. */
  readonly attempts: number;
  /** Not to be sent before this moment. */
  readonly notBefore: Date | undefined;
  readonly sentAt: Date | undefined;
  readonly answeredAt: Date | undefined;
  readonly result: ItemResult | undefined;
  /** Its success was taken into the watch list. */
  readonly isFollowed: boolean;
}

export interface Approval {
  readonly userId: string;
  readonly at: Date;
  /** By how much the card said that the order exceeds budgets when they pressed last. */
  readonly agreedExcess: readonly Shortfall[];
  /** The signature, where it was signed. */
  readonly signed?: ApprovalSignature | undefined;
}

export interface Order {
  readonly id: string;
  readonly task: OrderTaskName;
  readonly state: OrderState;
  /** Grows by one with every change: the compare-and-swap is on it. */
  readonly version: number;
  /** Slack user id. */
  readonly requesterId: string;
  readonly account: OrderAccount;
  readonly items: readonly OrderItem[];
  /** What the task asks of the service, without secrets; its shape is the task's own. Where
   * {@link bulk} is set, only the periods by name. */
  readonly input: unknown;
  /** Set for an order made from a file of rows: each of its items has an input of its own. */
  readonly bulk?: Bulk | undefined;
  /** Of the statement when it was asked for: what people approve. No change writes it. */
  readonly statementHash: string;
  /** Stands in the statement for the secret part of the input, which is kept sealed until the order closes. */
  readonly secretHash?: string | undefined;
  readonly reason: string | undefined;
  /** Where the card goes. */
  readonly channelId: string;
  readonly threadTs: string | undefined;
  readonly approvals: readonly Approval[];
  /** The least number of people who have to approve. */
  readonly approvalsRequired: number;
  /** The version of the policy that decided what it needs. */
  readonly policyVersion: number;
  /** What it needed when it was asked for. */
  readonly demand: Requirements;
  /**
   * When a DRAFT is forgotten, a PENDING order expires, the rest of a paused one is not sent any more, one of a mandate
   * would come too late, or a mandate in force is over.
   */
  readonly expiresAt: Date | undefined;
  /** When approvers are reminded, or people of the end of a mandate; undefined when they were, or need not be. */
  readonly remindAt: Date | undefined;
  /** When others are called because it still waits; undefined when they were, or need not be. */
  readonly escalateAt: Date | undefined;
  /** Asked for in a direct message: only who asked, approvers and admins see it. */
  readonly isPrivate: boolean;
  /** By how much its card says that it exceeds budgets. It changes without a change of the version. */
  readonly shownExcess: readonly Shortfall[];
  /** The admin who approved it alone in an emergency. */
  readonly emergencyApprovedBy?: string | undefined;
  /** The other admin who has reviewed that; undefined while the review is open. */
  readonly signedOffBy?: string | undefined;
  /** The worker that carries it out; the store keeps until when its silence is taken for life. */
  readonly claim: { readonly workerId: string } | undefined;
  /** The order that this one asks for again, after that one failed. */
  readonly retryOf: string | undefined;
  /** Who asked for it in the orders that it retries, the first one first; empty when it retries none. */
  readonly earlierRequesters: readonly string[];
  /** The mandate that made it; undefined for what a person asked for. */
  readonly mandated?: Mandated | undefined;
  /** Of a mandate: how it ended. */
  readonly mandateEnd?: MandateEnd | undefined;
  /** Names the command, form or click it was asked with. */
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
  /** It is the team's, which nothing but an approved order uses. */
  readonly isTeamAccount?: boolean;
}

/** Takes the place of a person where public records settle an unknown outcome. */
export const EVIDENCE = 'evidence';

/** What an order needs by the policy, when it is asked for or confirmed. */
export interface DecisionByPolicy {
  readonly policyVersion: number;
  readonly demand: Requirements;
  readonly approvalsRequired: number;
  readonly decidedBy: readonly RuleReference[];
}

/** The approvals that an order has and needs. */
export interface ApprovalsGiven {
  readonly isApproved: boolean;
  /** The version of the policy at this moment. */
  readonly policyVersion: number;
  /** It needs more than when it was asked for. */
  readonly isStricter: boolean;
  readonly requirements: readonly (Pick<Requirement, 'rule' | 'needed' | 'approvers'> & {
    readonly given: readonly Slot[];
  })[];
}

/** What came of the request of item `n`. */
interface ItemOutcome {
  readonly n: number;
  readonly outcome: 'SUCCEEDED' | 'FAILED' | 'UNKNOWN';
  readonly result: ItemResult;
}

/** What the press of a person counts for at its moment. */
export interface ApprovalWeight {
  readonly by: string;
  /** The signature of who presses; undefined for a click. */
  readonly signed: LoggedSignature | undefined;
  /** By how much the card said that it exceeds budgets when they pressed. */
  readonly agreedExcess: readonly Shortfall[];
  /** Those of all who approved who may approve at this moment; with `by`, if that is an approval. */
  readonly validApprovers: readonly string[];
  /** The progress of each requirement. */
  readonly progress: ApprovalsGiven;
  /** Approver groups whose members Slack did not tell, so that nobody counted as a member. */
  readonly unreadableGroups: readonly string[];
  /** What it, or the rest of it, costs at this moment by the team's price list. */
  readonly price: OrderCost | undefined;
  /** The budgets that it exceeds, and the admins who agreed to that. Without an admin it goes on waiting. */
  readonly budget: { readonly over: readonly Shortfall[]; readonly admins: readonly string[] };
}

export type OrderEvent =
  | {
      readonly type: 'confirmed';
      readonly needsApproval: boolean;
      readonly expiresAt: Date;
      readonly remindAt: Date;
      readonly escalateAt?: Date;
      /** What it needs at this moment, and by what. */
      readonly decision?: DecisionByPolicy;
    }
  | (ApprovalWeight & {
      readonly type: 'approved';
      /** What the approver says to it. */
      readonly reason?: string | undefined;
      /** The impact on the name was not looked up yet. */
      readonly isImpactUnknown?: boolean;
      /** It takes the place of an approval of theirs that was given before something about the name was known. */
      readonly isRenewed?: boolean;
    })
  /** An admin approves it alone where the policy allows that in an emergency. */
  | {
      readonly type: 'emergency_approved';
      readonly by: string;
      readonly agreedExcess: readonly Shortfall[];
      readonly reason: string;
      /** The people who could have approved it, who are told. */
      readonly approvers: readonly string[];
      /** Groups who could have approved it, of which Slack did not tell who is in them. */
      readonly unreadableGroups: readonly string[];
      /** The version of the policy that allows it. */
      readonly policyVersion: number;
      /** What it costs at this moment by the team's price list. */
      readonly price?: OrderCost | undefined;
      /** Nobody has seen yet what hangs on the name. */
      readonly isImpactUnknown?: boolean;
      /** The budgets that it exceeds. */
      readonly over: readonly Shortfall[];
    }
  /** Another admin has reviewed that it was approved alone. */
  | { readonly type: 'signed_off'; readonly by: string }
  /** An approver wants to know something first: the time that is left starts anew. */
  | ({ readonly type: 'asked'; readonly by: string; readonly question: string } & WaitingMoments)
  | {
      readonly type: 'denied';
      readonly by: string;
      readonly reason: string | undefined;
      /** What the approval of this person alone would have counted for; undefined where a rule refuses the order. */
      readonly progress?: ApprovalsGiven | undefined;
    }
  | { readonly type: 'cancelled'; readonly by: string }
  | { readonly type: 'expired' }
  | { readonly type: 'reminded' }
  /** Others are called: people and groups, and the admins. */
  | { readonly type: 'escalated'; readonly to: readonly string[]; readonly toAdmins: boolean }
  | { readonly type: 'claimed'; readonly workerId: string }
  /** The request of item `n` is about to leave. */
  | {
      readonly type: 'sending';
      readonly workerId: string;
      readonly n: number;
      /** For a second request of the same claim: the proof that the service did not carry out the first one. */
      readonly again?: RetryReason;
      /** The amount that a mandate's order takes out of its ceilings. */
      readonly amount?: Amount;
    }
  /** Item `n` may be sent again: the service provably did not carry it out, or repeating it does no harm. */
  | {
      readonly type: 'retry_scheduled';
      readonly workerId: string;
      readonly n: number;
      readonly notBefore: Date;
      readonly why: RetryReason;
      /** The request may have been carried out: what people are told until it has gone out again. */
      readonly doubt?: PlainSummary;
    }
  | (ItemOutcome & {
      readonly type: 'answered';
      /** The worker that gave the item up before its request left; absent when it left. */
      readonly givenUpBy?: string;
    })
  /**
   * The outcome of a request that arrived after its item had ended without it: settled, denied, or answered to another
   * worker.
   */
  | (ItemOutcome & { readonly type: 'answered_late' })
  /** The registry shows the end of what the service had only accepted. */
  | { readonly type: 'shown'; readonly n: number }
  /** The registry shows that it has not happened, long after the service accepted it. */
  | {
      readonly type: 'overdue';
      readonly n: number;
      /** Since it was accepted. */
      readonly days: number;
    }
  /** Whether the nameservers that were set answer. Recorded when that changes. */
  | {
      readonly type: 'delegation_seen';
      readonly n: number;
      readonly delegation: Delegation;
      /** Those that do not answer. */
      readonly hosts: readonly string[];
      /** Whole hours since they were set. */
      readonly hours: number;
    }
  /**
   * What has not been sent is not sent any more: a precondition of the order is no longer met, or a person stops it.
   */
  | {
      readonly type: 'stopped';
      readonly summary: PlainSummary;
      /** The person, if it was one. An order of which nothing was sent is then `CANCELLED`, not `FAILED`. */
      readonly by?: string;
      /** Only these items; all that wait when left out. */
      readonly only?: readonly number[];
      /** The earlier order that turned out to have been carried out. */
      readonly doneIn?: string;
    }
  /** A mandate comes into force. Nothing is sent for it. */
  | { readonly type: 'in_force'; readonly expiresAt: Date; readonly remindAt: Date }
  /** A mandate ends soon, and people are told. */
  | { readonly type: 'mandate_ending' }
  /** A mandate makes no more orders. */
  | { readonly type: 'mandate_ended'; readonly because: MandateEnd['because']; readonly by?: string }
  /** Public records show something that proves nothing. */
  | { readonly type: 'hinted'; readonly n: number; readonly hint: Hint }
  /**
   * The database was restored, lost commits, or was without a bot for long: what it calls unsent may have been carried
   * out.
   */
  | {
      readonly type: 'invalidated';
      readonly summary: PlainSummary;
      /** A request that left, with its outcome, of which the database knows nothing. */
      readonly known?: LostRequest;
    }
  /** Too much went wrong: nothing more of a bulk order is sent until a person resumes it. */
  | {
      readonly type: 'paused';
      readonly reason: PauseReason;
      /** What is left is not sent any more when nobody has let it go on by then. */
      readonly expiresAt: Date;
      readonly workerId?: string;
    }
  /** The requester or an approver lets it go on. All that an approval needs is needed again. */
  | (ApprovalWeight & { readonly type: 'resumed' })
  /** The rows differ from the log, which counts: nothing more is sent. */
  | {
      readonly type: 'contradicted';
      readonly found: LogDifference;
      /** The newest version in the log. */
      readonly version: number;
      /** By item: whether the service carried it out, or may have. */
      readonly done: ReadonlyMap<number, 'SUCCEEDED' | 'UNKNOWN' | undefined>;
    }
  /** The worker has fallen silent, or has nothing to do until an item's `notBefore`. */
  | { readonly type: 'released' }
  | {
      readonly type: 'resolved';
      /** Slack user id, or {@link EVIDENCE}. */
      readonly by: string;
      readonly outcome: 'SUCCEEDED' | 'FAILED';
      readonly reason: string | undefined;
      /** What public records prove. */
      readonly seen?: RecordProof;
      /** Only this item; all unknown ones when undefined. */
      readonly n?: number;
    };

/** What a worker knows of a request that left and whose mark the database has lost. */
export interface LostRequest extends ItemOutcome {
  /** As its item was marked. */
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

/** Nothing more happens to it by itself. `UNKNOWN` is not final: a person settles it. */
export function isFinal(state: OrderState): boolean {
  return FINAL_STATES.has(state);
}

/** A second order for the same task and name is refused while one is open. */
export function isOpen(state: OrderState): boolean {
  return state !== 'DRAFT' && !isFinal(state);
}

/** The items that a retry asks for again: those that failed, unless they may have been carried out. */
export function retryableItems(order: Order): readonly OrderItem[] {
  return order.items.filter(
    ({ state, result }) =>
      state === 'FAILED' &&
      (result?.late === undefined || result.late === 'FAILED') &&
      result?.doneIn === undefined,
  );
}

/** Whether the rows of a file came with auth codes, which are wiped row by row, so that they cannot be asked for again. */
export function hasRowSecrets(order: Order): boolean {
  return order.bulk !== undefined && hasSecretInput(order);
}

/** Whether the input has a secret part (an auth code, a password), in the rows of a file too. */
export function hasSecretInput({ secretHash, items }: Order): boolean {
  return secretHash !== undefined || items.some((item) => item.secretHash !== undefined);
}

/** How long after its end an order can be retried. */
export const RETRY_DAYS = 7;

/** Whether it is too late to retry an order that has ended. */
export function isRetryOver(order: Order, now: Date): boolean {
  return now.getTime() - (order.closedAt ?? order.createdAt).getTime() > RETRY_DAYS * 86_400_000;
}

/** For this long the nameservers that were set are checked, and can be set back with one click. */
export const UNDO_HOURS = 48;

/** Until when the nameservers that an item has set can be undone; undefined for everything else. */
export function undoableUntil(
  { task, closedAt, bulk }: Order,
  { state, answeredAt }: OrderItem,
): Date | undefined {
  // Of hundreds of names each had others before: a new file sets them back.
  if (bulk !== undefined) return undefined;
  const since = answeredAt ?? closedAt;
  if (task !== 'nameservers' || state !== 'SUCCEEDED' || since === undefined) return undefined;
  return new Date(since.getTime() + UNDO_HOURS * 3_600_000);
}

/** Whether a person asked for this, in this order or in one that it retries. */
export function isRequester(
  order: Pick<Order, 'requesterId' | 'earlierRequesters'>,
  userId: string,
): boolean {
  return order.requesterId === userId || order.earlierRequesters.includes(userId);
}

/** The person with whose account an order is carried out: who asked first, however often it was retried. */
export function accountOwner(order: Order): string {
  return order.earlierRequesters[0] ?? order.requesterId;
}

/** Somebody approved it alone in an emergency, and no other admin has reviewed that yet. */
export function isReviewOpen(order: Order): boolean {
  return order.emergencyApprovedBy !== undefined && order.signedOffBy === undefined;
}

/** The items that wait to be sent, or sent again. */
export function waitingItems(order: Order): readonly OrderItem[] {
  return order.items.filter((item) => item.state === 'WAITING');
}

/** What an item asks of the service, without secrets. */
export function inputOfItem(order: { readonly input: unknown }, item: { readonly input?: unknown }): unknown {
  return item.input ?? order.input;
}

/** The period that an input asks for, in years; undefined where its task has none. */
export function periodOf(input: unknown): number | undefined {
  const period = typeof input === 'object' && input !== null && 'period' in input ? input.period : undefined;
  return typeof period === 'number' && Number.isInteger(period) && period > 0 ? period : undefined;
}

/** `ctid` of an item: the order's id, with the item's number when there are several. */
export function ctidOf(orderId: string, n: number, count: number): string {
  return count === 1 ? orderId : `${orderId}.${n}`;
}

/** The order's state from its items' once all are settled; undefined while one is not. */
export function outcomeOf(items: readonly OrderItem[]): 'SUCCEEDED' | 'FAILED' | 'UNKNOWN' | undefined {
  if (items.some((item) => item.state === 'WAITING' || item.state === 'SENT')) return undefined;
  if (items.some((item) => item.state === 'UNKNOWN')) return 'UNKNOWN';
  return items.some((item) => item.state === 'FAILED') ? 'FAILED' : 'SUCCEEDED';
}
