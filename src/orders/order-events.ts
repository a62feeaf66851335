import { z } from 'zod';
import { signatureBinding } from '../approvals/signing/approval.ts';
import { approvalAssertion, vouchAssertion } from '../approvals/signing/assertion.ts';
import { actor, amount, texts, timestamp } from '../ledger/event.ts';
import { storedMandateEnd } from '../mandates/codes.ts';
import { storedMissingAmount } from '../money/budget.ts';
import { storedCost } from '../money/prices.ts';
import { storedRule } from '../policy/stored-requirements.ts';
import { storedPauseReason } from './bulk/stored-bulk.ts';
import {
  type ApprovalProgress,
  DELEGATIONS,
  ORDER_STATES,
  ORDER_TASK_NAMES,
  storedItemResult,
  storedOwnership,
} from './order.ts';
import { storedEvidence } from './record-finding.ts';
import { itemSummary, LOG_DIFFERENCES, REOPEN_REASONS, retryReason } from './summary.ts';

/** Schemas of an order's events. The store parses rows with them. */

/** `state` and `version` are the values after the event. `witness` is the bot's signature. */
function orderEvent<Kind extends string, Data extends z.ZodRawShape>(kind: Kind, data: Data) {
  const state = z.enum(ORDER_STATES);
  const witness = z.string().exactOptional();
  return z.object({ kind: z.literal(kind), actor, at: timestamp, state, version: z.int(), witness, ...data });
}

const rules = z.array(storedRule).readonly();
const progress: z.ZodType<ApprovalProgress> = z.object({
  isApproved: z.boolean(),
  policyVersion: z.int(),
  isStricter: z.boolean(),
  requirements: z.array(
    z.object({
      rule: storedRule,
      needed: z.int(),
      approvers: z.array(z.string()),
      slots: z.array(z.object({ userId: z.string(), standsInFor: z.string().optional() })),
    }),
  ),
});

const price = storedCost.exactOptional();
const statement = z.string();
const isImpactUnknown = z.literal(true).exactOptional();
/** The budgets that the order exceeds. */
const overBudget = z.array(storedMissingAmount).readonly().exactOptional();
/** The admins who agreed to exceed them. */
const admins = texts.exactOptional();
const reason = z.string().nullable();
const item = { n: z.int(), name: z.string() };
const sentItem = { ...item, ctid: z.string() };
const outcome = z.enum(['SUCCEEDED', 'FAILED', 'UNKNOWN']);
/** The claim that sent a request. An answer with a claim concerns only that claim's requests. */
const worker = z.string().exactOptional();
const answer = { ...sentItem, outcome, result: storedItemResult, worker };

/** How many approvals are valid after an event, and whose have lapsed. */
const approvals = {
  validCount: z.int(),
  lapsed: texts,
  required: z.int(),
  /** Approver groups that Slack couldn't look up, so an approval listed as lapsed may still be valid. */
  unreadableGroups: texts.exactOptional(),
  price,
  statement,
  progress: progress.exactOptional(),
  overBudget,
  admins,
  /** For a signed approval: the signature, the content of its nonce, and the chain of vouching keys up to a root. */
  signature: approvalAssertion.exactOptional(),
  bound: signatureBinding.exactOptional(),
  chain: z.array(vouchAssertion).readonly().exactOptional(),
};

export const orderLogEntry = z.discriminatedUnion('kind', [
  orderEvent('requested', {
    task: z.enum(ORDER_TASK_NAMES),
    /** Omitted for an order made from a file, which has `rows` instead. */
    names: texts.exactOptional(),
    input: z.unknown().optional(),
    rows: z.int().exactOptional(),
    statement,
    service: z.string(),
    replyTo: z.string().exactOptional(),
    account: z.string(),
    usesTeamAccount: z.literal(true).exactOptional(),
    reason,
    ownership: storedOwnership.exactOptional(),
    policyVersion: z.int(),
    decidedBy: rules,
    price,
    overBudget,
    retryOf: z.string().exactOptional(),
    accountOwner: z.string().exactOptional(),
    /** The order of the mandate that made it. */
    mandate: z.string().exactOptional(),
    /** The time that its requester chose. */
    notBefore: timestamp.exactOptional(),
    /** The local time occurs twice that day; the first is used. */
    occursTwice: z.literal(true).exactOptional(),
  }),
  orderEvent('confirmed', { policyVersion: z.int().exactOptional(), decidedBy: rules.exactOptional() }),
  orderEvent('approved', {
    ...approvals,
    reason: z.string().exactOptional(),
    isImpactUnknown,
    /** The number of waiting items, for an approval of a paused order. */
    waiting: z.int().exactOptional(),
  }),
  orderEvent('emergency_approved', {
    statement,
    reason: z.string(),
    approvers: texts,
    unreadableGroups: texts,
    policyVersion: z.int(),
    price,
    isImpactUnknown,
    overBudget,
    admins,
  }),
  orderEvent('signed_off', { emergencyApprovedBy: z.string() }),
  orderEvent('denied', { reason, progress: progress.exactOptional() }),
  orderEvent('cancelled', {}),
  orderEvent('expired', { names: texts.exactOptional(), summary: itemSummary.exactOptional() }),
  orderEvent('reminded', {}),
  orderEvent('escalated', { to: texts, toAdmins: z.boolean() }),
  orderEvent('reopened', {
    reasons: z.array(z.enum(REOPEN_REASONS)).readonly(),
    price,
    policyVersion: z.int(),
    decidedBy: rules,
  }),
  orderEvent('asked', { question: z.string() }),
  orderEvent('claimed', { worker: z.string() }),
  orderEvent('sending', {
    ...sentItem,
    worker,
    why: retryReason.exactOptional(),
    /** The mandate that made the order, and the amount that the request uses of its limit. */
    mandate: z.string().exactOptional(),
    amount: amount.exactOptional(),
  }),
  orderEvent('retry_scheduled', { ...item, worker, why: retryReason, until: timestamp }),
  orderEvent('answered', answer),
  orderEvent('answered_late', { ...answer, resolvedBy: z.string().exactOptional(), agrees: z.boolean() }),
  orderEvent('shown', item),
  orderEvent('overdue', { ...item, days: z.int() }),
  orderEvent('delegation_seen', {
    ...item,
    delegation: z.enum(DELEGATIONS),
    hosts: texts,
    hours: z.int(),
  }),
  orderEvent('stopped', { summary: itemSummary, names: texts, doneIn: z.string().exactOptional() }),
  orderEvent('paused', { pause: storedPauseReason, waiting: z.int() }),
  orderEvent('resumed', { ...approvals, waiting: z.int() }),
  orderEvent('hinted', { ...sentItem, hint: storedEvidence, source: z.string() }),
  orderEvent('invalidated', {
    summary: itemSummary,
    ...z.object(answer).partial().shape,
  }),
  /** The order's rows differ from its log. */
  orderEvent('contradicted', { found: z.enum(LOG_DIFFERENCES) }),
  orderEvent('released', { lost: texts }),
  orderEvent('resolved', {
    outcome: z.enum(['SUCCEEDED', 'FAILED']),
    reason,
    seen: storedEvidence.exactOptional(),
    ctids: texts,
  }),
  /** A mandate has started, or ends soon. */
  orderEvent('in_force', { until: timestamp }),
  orderEvent('mandate_ending', { until: timestamp }),
  /** `by`: the person who ended it or who has left. */
  orderEvent('mandate_ended', { because: storedMandateEnd.shape.because, by: z.string().exactOptional() }),
  /** The last item has ended. `through` is the kind of the event that ended it. */
  orderEvent('finished', { through: z.string() }),
]);

export type OrderLogEntry = Readonly<z.output<typeof orderLogEntry>>;

type AllKeys<Union> = Union extends unknown ? keyof Union : never;
type ValueOf<Union, Key> = Union extends unknown ? (Key extends keyof Union ? Union[Key] : never) : never;
export type AnyOrderLogEntry = {
  readonly [Key in AllKeys<OrderLogEntry>]?: ValueOf<OrderLogEntry, Key> | undefined;
};

export const DECISION_KINDS: ReadonlySet<OrderLogEntry['kind']> = new Set([
  'requested',
  'confirmed',
  'approved',
  'emergency_approved',
  'resumed',
]);
