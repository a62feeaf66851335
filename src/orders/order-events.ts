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
  DELEGATION_STATES,
  ORDER_STATES,
  ORDER_TASK_NAMES,
  storedItemResultSchema,
  storedOwnershipSchema,
} from './order.ts';
import { storedEvidenceSchema } from './record-finding.ts';
import { itemSummarySchema, LOG_DIFFERENCES, REOPEN_REASONS, retryReasonSchema } from './summary.ts';

/** The store parses the rows of an order's events with these schemas. */

/** `state` and `version` describe the order after the event. Events that allow a retry have the bot's signature. */
function defineEntry<Kind extends string, Data extends z.ZodRawShape>(kind: Kind, data: Data) {
  const state = z.enum(ORDER_STATES);
  const botSignature = z.string().exactOptional();
  const common = { actor: actorSchema, at: timestampSchema, state, version: z.int(), botSignature };
  return z.object({ kind: z.literal(kind), ...common, ...data });
}

const rulesSchema = z.array(storedRuleSchema).readonly();
const progressSchema: z.ZodType<ApprovalProgress> = z.object({
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
const statementHash = z.string();
const isImpactUnknown = z.literal(true).exactOptional();
/** The budgets that the order exceeds. */
const overBudget = z.array(budgetOverrunSchema).readonly().exactOptional();
/** The admins who agreed to exceed the budgets. */
const admins = textsSchema.exactOptional();
const reason = z.string().nullable();
const itemFields = { n: z.int(), name: z.string() };
const sentItemFields = { ...itemFields, ctid: z.string() };
const outcome = z.enum(['SUCCEEDED', 'FAILED', 'UNKNOWN']);
/** The worker that sent the request. An answer with a worker applies only to this worker's requests. */
const workerId = z.string().exactOptional();
const answerFields = { ...sentItemFields, outcome, result: storedItemResultSchema, workerId };

/** How many approvals are valid after the event, and whose approvals have lapsed. */
const approvalFields = {
  validCount: z.int(),
  lapsed: textsSchema,
  required: z.int(),
  /** Approver groups that Slack couldn't look up. Because of them, an approval listed as lapsed may still be valid. */
  unreadableGroups: textsSchema.exactOptional(),
  price,
  statement: statementHash,
  progress: progressSchema.exactOptional(),
  overBudget,
  admins,
  /** For a signed approval: the signature, the data hashed into its nonce, and the vouching signatures up to a root. */
  signature: approvalAssertionSchema.exactOptional(),
  binding: signatureBindingSchema.exactOptional(),
  chain: z.array(vouchAssertionSchema).readonly().exactOptional(),
};

export const orderLogEntrySchema = z.discriminatedUnion('kind', [
  defineEntry('requested', {
    task: z.enum(ORDER_TASK_NAMES),
    /** Omitted for a bulk order. */
    names: textsSchema.exactOptional(),
    input: z.unknown().optional(),
    /** The number of a bulk order's rows. */
    rows: z.int().exactOptional(),
    statement: statementHash,
    service: z.string(),
    replyTo: z.string().exactOptional(),
    account: z.string(),
    usesTeamAccount: z.literal(true).exactOptional(),
    reason,
    ownership: storedOwnershipSchema.exactOptional(),
    policyVersion: z.int(),
    decidedBy: rulesSchema,
    price,
    overBudget,
    retryOf: z.string().exactOptional(),
    accountOwner: z.string().exactOptional(),
    /** The id of the mandate that created this order. */
    mandate: z.string().exactOptional(),
    /** The send time that the requester chose. */
    notBefore: timestampSchema.exactOptional(),
    /** The chosen local time occurs twice, because the clocks are set back. The first occurrence is used. */
    occursTwice: z.literal(true).exactOptional(),
  }),
  defineEntry('confirmed', {
    policyVersion: z.int().exactOptional(),
    decidedBy: rulesSchema.exactOptional(),
  }),
  defineEntry('approved', {
    ...approvalFields,
    reason: z.string().exactOptional(),
    isImpactUnknown,
    /** The number of waiting items, for an approval of a paused order. */
    waiting: z.int().exactOptional(),
  }),
  defineEntry('emergency_approved', {
    statement: statementHash,
    reason: z.string(),
    approvers: textsSchema,
    unreadableGroups: textsSchema,
    policyVersion: z.int(),
    price,
    isImpactUnknown,
    overBudget,
    admins,
  }),
  defineEntry('signed_off', { emergencyApprovedBy: z.string() }),
  defineEntry('denied', { reason, progress: progressSchema.exactOptional() }),
  defineEntry('cancelled', {}),
  defineEntry('expired', { names: textsSchema.exactOptional(), summary: itemSummarySchema.exactOptional() }),
  defineEntry('reminded', {}),
  defineEntry('escalated', { to: textsSchema, toAdmins: z.boolean() }),
  defineEntry('reopened', {
    reasons: z.array(z.enum(REOPEN_REASONS)).readonly(),
    price,
    policyVersion: z.int(),
    decidedBy: rulesSchema,
  }),
  defineEntry('asked', { question: z.string() }),
  defineEntry('claimed', { workerId: z.string() }),
  defineEntry('sending', {
    ...sentItemFields,
    workerId,
    retryReason: retryReasonSchema.exactOptional(),
    /** The mandate that created the order, and how much of the mandate's limit the request uses. */
    mandate: z.string().exactOptional(),
    amount: amountSchema.exactOptional(),
  }),
  defineEntry('retry_scheduled', {
    ...itemFields,
    workerId,
    retryReason: retryReasonSchema,
    until: timestampSchema,
  }),
  defineEntry('answered', answerFields),
  defineEntry('answered_late', {
    ...answerFields,
    resolvedBy: z.string().exactOptional(),
    agrees: z.boolean(),
  }),
  defineEntry('confirmed_by_registry', itemFields),
  defineEntry('overdue', { ...itemFields, days: z.int() }),
  defineEntry('delegation_seen', {
    ...itemFields,
    delegation: z.enum(DELEGATION_STATES),
    hosts: textsSchema,
    hours: z.int(),
  }),
  defineEntry('stopped', {
    summary: itemSummarySchema,
    names: textsSchema,
    doneByOrderId: z.string().exactOptional(),
  }),
  defineEntry('paused', { pause: storedPauseReasonSchema, waiting: z.int() }),
  defineEntry('resumed', { ...approvalFields, waiting: z.int() }),
  defineEntry('hinted', { ...sentItemFields, hint: storedEvidenceSchema, source: z.string() }),
  defineEntry('invalidated', { summary: itemSummarySchema, ...z.object(answerFields).partial().shape }),
  defineEntry('contradicted', { difference: z.enum(LOG_DIFFERENCES) }),
  defineEntry('released', { lost: textsSchema }),
  defineEntry('resolved', {
    outcome: z.enum(['SUCCEEDED', 'FAILED']),
    reason,
    seen: storedEvidenceSchema.exactOptional(),
    ctids: textsSchema,
  }),
  defineEntry('in_force', { until: timestampSchema }),
  defineEntry('mandate_ending', { until: timestampSchema }),
  /** `by`: the person who ended the mandate, or who has left. */
  defineEntry('mandate_ended', { cause: storedMandateEndSchema.shape.cause, by: z.string().exactOptional() }),
  /** All items have ended. `endingEvent` is the kind of the event that ended the last one. */
  defineEntry('finished', { endingEvent: z.string() }),
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
