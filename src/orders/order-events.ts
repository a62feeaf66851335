import { z } from 'zod';
import { signatureBindingSchema } from '../approvals/signing/approval.ts';
import { approvalAssertionSchema, vouchAssertionSchema } from '../approvals/signing/assertion.ts';
import { actorSchema, amountSchema, textsSchema, timestampSchema } from '../ledger/event.ts';
import { storedMandateEndSchema } from '../mandates/codes.ts';
import { budgetOverrunSchema } from '../money/budget.ts';
import { storedCostSchema } from '../money/prices.ts';
import { storedRuleSchema } from '../policy/stored-requirements.ts';
import { storedPauseReasonSchema } from './bulk/stored-bulk.ts';
import {
  type ApprovalProgress,
  DELEGATIONS,
  ORDER_STATES,
  ORDER_TASK_NAMES,
  storedItemResultSchema,
  storedOwnershipSchema,
} from './order.ts';
import { storedEvidenceSchema } from './record-finding.ts';
import { itemSummarySchema, LOG_DIFFERENCES, REOPEN_REASONS, retryReasonSchema } from './summary.ts';

/** Schemas of an order's events. The store parses rows with them. */

/** `state` and `version` are the values after the event. Events that allow a retry have the bot's signature. */
function orderEvent<Kind extends string, Data extends z.ZodRawShape>(kind: Kind, data: Data) {
  const state = z.enum(ORDER_STATES);
  const botSignature = z.string().exactOptional();
  const common = { actor: actorSchema, at: timestampSchema, state, version: z.int(), botSignature };
  return z.object({ kind: z.literal(kind), ...common, ...data });
}

const rules = z.array(storedRuleSchema).readonly();
const progress: z.ZodType<ApprovalProgress> = z.object({
  isApproved: z.boolean(),
  policyVersion: z.int(),
  isStricter: z.boolean(),
  requirements: z.array(
    z.object({
      rule: storedRuleSchema,
      needed: z.int(),
      approvers: z.array(z.string()),
      slots: z.array(z.object({ userId: z.string(), standsInFor: z.string().optional() })),
    }),
  ),
});

const price = storedCostSchema.exactOptional();
const statement = z.string();
const isImpactUnknown = z.literal(true).exactOptional();
/** The budgets that the order exceeds. */
const overBudget = z.array(budgetOverrunSchema).readonly().exactOptional();
/** The admins who agreed to exceed them. */
const admins = textsSchema.exactOptional();
const reason = z.string().nullable();
const item = { n: z.int(), name: z.string() };
const sentItem = { ...item, ctid: z.string() };
const outcome = z.enum(['SUCCEEDED', 'FAILED', 'UNKNOWN']);
/** The claim that sent a request. An answer with a claim concerns only that claim's requests. */
const workerId = z.string().exactOptional();
const answer = { ...sentItem, outcome, result: storedItemResultSchema, workerId };

/** How many approvals are valid after an event, and whose have lapsed. */
const approvals = {
  validCount: z.int(),
  lapsed: textsSchema,
  required: z.int(),
  /** Approver groups that Slack couldn't look up, so an approval listed as lapsed may still be valid. */
  unreadableGroups: textsSchema.exactOptional(),
  price,
  statement,
  progress: progress.exactOptional(),
  overBudget,
  admins,
  /** For a signed approval: the signature, the content of its nonce, and the chain of vouching keys up to a root. */
  signature: approvalAssertionSchema.exactOptional(),
  binding: signatureBindingSchema.exactOptional(),
  chain: z.array(vouchAssertionSchema).readonly().exactOptional(),
};

export const orderLogEntrySchema = z.discriminatedUnion('kind', [
  orderEvent('requested', {
    task: z.enum(ORDER_TASK_NAMES),
    /** Omitted for an order made from a file, which has `rows` instead. */
    names: textsSchema.exactOptional(),
    input: z.unknown().optional(),
    rows: z.int().exactOptional(),
    statement,
    service: z.string(),
    replyTo: z.string().exactOptional(),
    account: z.string(),
    usesTeamAccount: z.literal(true).exactOptional(),
    reason,
    ownership: storedOwnershipSchema.exactOptional(),
    policyVersion: z.int(),
    decidedBy: rules,
    price,
    overBudget,
    retryOf: z.string().exactOptional(),
    accountOwner: z.string().exactOptional(),
    /** The order of the mandate that made it. */
    mandate: z.string().exactOptional(),
    /** The time that its requester chose. */
    notBefore: timestampSchema.exactOptional(),
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
    approvers: textsSchema,
    unreadableGroups: textsSchema,
    policyVersion: z.int(),
    price,
    isImpactUnknown,
    overBudget,
    admins,
  }),
  orderEvent('signed_off', { emergencyApprovedBy: z.string() }),
  orderEvent('denied', { reason, progress: progress.exactOptional() }),
  orderEvent('cancelled', {}),
  orderEvent('expired', { names: textsSchema.exactOptional(), summary: itemSummarySchema.exactOptional() }),
  orderEvent('reminded', {}),
  orderEvent('escalated', { to: textsSchema, toAdmins: z.boolean() }),
  orderEvent('reopened', {
    reasons: z.array(z.enum(REOPEN_REASONS)).readonly(),
    price,
    policyVersion: z.int(),
    decidedBy: rules,
  }),
  orderEvent('asked', { question: z.string() }),
  orderEvent('claimed', { workerId: z.string() }),
  orderEvent('sending', {
    ...sentItem,
    workerId,
    retryReason: retryReasonSchema.exactOptional(),
    /** The mandate that made the order, and the amount that the request uses of its limit. */
    mandate: z.string().exactOptional(),
    amount: amountSchema.exactOptional(),
  }),
  orderEvent('retry_scheduled', {
    ...item,
    workerId,
    retryReason: retryReasonSchema,
    until: timestampSchema,
  }),
  orderEvent('answered', answer),
  orderEvent('answered_late', { ...answer, resolvedBy: z.string().exactOptional(), agrees: z.boolean() }),
  orderEvent('confirmed_by_registry', item),
  orderEvent('overdue', { ...item, days: z.int() }),
  orderEvent('delegation_seen', {
    ...item,
    delegation: z.enum(DELEGATIONS),
    hosts: textsSchema,
    hours: z.int(),
  }),
  orderEvent('stopped', {
    summary: itemSummarySchema,
    names: textsSchema,
    doneByOrderId: z.string().exactOptional(),
  }),
  orderEvent('paused', { pause: storedPauseReasonSchema, waiting: z.int() }),
  orderEvent('resumed', { ...approvals, waiting: z.int() }),
  orderEvent('hinted', { ...sentItem, hint: storedEvidenceSchema, source: z.string() }),
  orderEvent('invalidated', {
    summary: itemSummarySchema,
    ...z.object(answer).partial().shape,
  }),
  /** The order's rows differ from its log. */
  orderEvent('contradicted', { difference: z.enum(LOG_DIFFERENCES) }),
  orderEvent('released', { lost: textsSchema }),
  orderEvent('resolved', {
    outcome: z.enum(['SUCCEEDED', 'FAILED']),
    reason,
    seen: storedEvidenceSchema.exactOptional(),
    ctids: textsSchema,
  }),
  /** A mandate has started, or ends soon. */
  orderEvent('in_force', { until: timestampSchema }),
  orderEvent('mandate_ending', { until: timestampSchema }),
  /** `by`: the person who ended it or who has left. */
  orderEvent('mandate_ended', { cause: storedMandateEndSchema.shape.cause, by: z.string().exactOptional() }),
  /** The last item has ended. `endingEvent` is the kind of the event that ended it. */
  orderEvent('finished', { endingEvent: z.string() }),
]);

export type OrderLogEntry = Readonly<z.output<typeof orderLogEntrySchema>>;

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
