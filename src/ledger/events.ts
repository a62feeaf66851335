import { z } from 'zod';
import { boundTo } from '../approvals/signing/approval.ts';
import { approvalAssertion, vouchAssertion } from '../approvals/signing/assertion.ts';
import { CHARTER_PROBLEMS } from '../approvals/signing/difference.ts';
import { charterSigned, keyAdded, keyRevoked, keyVouched } from '../approvals/signing/key-ring.ts';
import { heldCode, storedMandateEnd } from '../mandates/codes.ts';
import { BUDGET_SPANS, storedShortfall } from '../money/budget.ts';
import { PRICED_TASKS, storedCost } from '../money/prices.ts';
import { FACT_NAMES } from '../names/facts.ts';
import { INCIDENT_KINDS } from '../names/unexplained-changes.ts';
import { storedPauseReason } from '../orders/bulk/stored-bulk.ts';
import {
  type ApprovalsGiven,
  DELEGATIONS,
  ORDER_STATES,
  ORDER_TASK_NAMES,
  type Order,
  storedItemResult,
} from '../orders/order.ts';
import { recordFinding } from '../orders/record-finding.ts';
import { itemSummary, LOG_DIFFERENCES, retryReason } from '../orders/summary.ts';
import { messagePlace } from '../outbox/notifications.ts';
import { loggedChange } from '../policy/change-log.ts';
import { storedRule } from '../policy/stored-demand.ts';
import { LEDGER_DIFFERENCES } from './difference.ts';

/*
 * The events of the log: what each kind says, as a schema. The store reads rows with these schemas, so that whoever reads
 * or writes an event has its type.
 */

const texts = z.array(z.string()).readonly();
const at = z.coerce.date();
/** Slack user id, `system`, or `evidence` where public records act in the place of a person. */
const actor = z.string();

/** An event of an order. `state` and `version` are those after it, `witness` is the bot's signature. */
function orderEvent<Kind extends string, Data extends z.ZodRawShape>(kind: Kind, data: Data) {
  const state = z.enum(ORDER_STATES);
  const witness = z.string().exactOptional();
  return z.object({ kind: z.literal(kind), actor, at, state, version: z.int(), witness, ...data });
}

const rules = z.array(storedRule).readonly();
const progress: z.ZodType<ApprovalsGiven> = z.object({
  isApproved: z.boolean(),
  policyVersion: z.int(),
  isStricter: z.boolean(),
  requirements: z.array(
    z.object({
      rule: storedRule,
      needed: z.int(),
      approvers: z.array(z.string()),
      given: z.array(z.object({ userId: z.string(), standsInFor: z.string().optional() })),
    }),
  ),
});

const price = storedCost.exactOptional();
const statement = z.string();
const isImpactUnknown = z.literal(true).exactOptional();
/** The budgets that the order exceeds. */
const overBudget = z.array(storedShortfall).readonly().exactOptional();
/** The admins who have agreed to that. */
const admins = texts.exactOptional();
const amount = z.object({ currency: z.string(), minor: z.int() });
const reason = z.string().nullable();
const item = { n: z.int(), name: z.string() };
const sentItem = { ...item, ctid: z.string() };
const outcome = z.enum(['SUCCEEDED', 'FAILED', 'UNKNOWN']);
/** The claim that sent a request. An answer that names one is about requests of that claim only. */
const worker = z.string().exactOptional();
const answer = { ...sentItem, outcome, result: storedItemResult, worker };

/** The approvals that count after somebody has approved, and those that do not any more. */
const approvals = {
  standing: z.int(),
  lapsed: texts,
  required: z.int(),
  /** Groups of approvers whose members Slack did not tell: it is not certain that an approval has lapsed. */
  unreadableGroups: texts.exactOptional(),
  price,
  statement,
  progress: progress.exactOptional(),
  overBudget,
  admins,
  /** Of a signed approval: the signature, what its nonce is a hash of, and who has vouched for the key, up to a root. */
  signature: approvalAssertion.exactOptional(),
  bound: boundTo.exactOptional(),
  chain: z.array(vouchAssertion).readonly().exactOptional(),
};

/** An event of an order. */
export const orderLogEntry = z.discriminatedUnion('kind', [
  orderEvent('requested', {
    task: z.enum(ORDER_TASK_NAMES),
    /** Left out for an order made from a file, of which `rows` is the number of its rows. */
    names: texts.exactOptional(),
    input: z.unknown().optional(),
    rows: z.int().exactOptional(),
    statement,
    service: z.string(),
    replyTo: z.string().exactOptional(),
    account: z.string(),
    usesTeamAccount: z.literal(true).exactOptional(),
    reason,
    policyVersion: z.int(),
    decidedBy: rules,
    price,
    overBudget,
    retryOf: z.string().exactOptional(),
    accountOwner: z.string().exactOptional(),
    /** The order of the mandate that made it. */
    mandate: z.string().exactOptional(),
  }),
  orderEvent('confirmed', { policyVersion: z.int().exactOptional(), decidedBy: rules.exactOptional() }),
  orderEvent('approved', {
    ...approvals,
    reason: z.string().exactOptional(),
    isImpactUnknown,
    /** The items that wait, for an approval of a paused order. */
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
  orderEvent('asked', { question: z.string() }),
  orderEvent('claimed', { worker: z.string() }),
  orderEvent('sending', {
    ...sentItem,
    worker,
    why: retryReason.exactOptional(),
    /** The mandate that made the order, and what the request takes out of its ceilings. */
    mandate: z.string().exactOptional(),
    amount: amount.exactOptional(),
  }),
  orderEvent('retry_scheduled', { ...item, worker, why: retryReason, until: at }),
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
  orderEvent('hinted', { ...sentItem, hint: recordFinding, source: z.string() }),
  orderEvent('invalidated', {
    summary: itemSummary,
    ...z.object(answer).partial().shape,
  }),
  /** The rows of the order differ from its log. */
  orderEvent('contradicted', { found: z.enum(LOG_DIFFERENCES) }),
  orderEvent('released', { lost: texts }),
  orderEvent('resolved', {
    outcome: z.enum(['SUCCEEDED', 'FAILED']),
    reason,
    seen: recordFinding.exactOptional(),
    ctids: texts,
  }),
  /** A mandate is in force, or ends soon: until then. */
  orderEvent('in_force', { until: at }),
  orderEvent('mandate_ending', { until: at }),
  /** `by` is who ended it, or who has left. */
  orderEvent('mandate_ended', { because: storedMandateEnd.shape.because, by: z.string().exactOptional() }),
  /** The last item has ended, `through` the kind of event. */
  orderEvent('finished', { through: z.string() }),
]);

/** What happened to an order, as its log has it. */
export type OrderLogEntry = Readonly<z.output<typeof orderLogEntry>>;

type KeysOf<Union> = Union extends unknown ? keyof Union : never;
type ValueOf<Union, Key> = Union extends unknown ? (Key extends keyof Union ? Union[Key] : never) : never;
/** An event of any kind, for readers of what several kinds have in common. */
export type AnyOrderLogEntry = {
  readonly [Key in KeysOf<OrderLogEntry>]?: ValueOf<OrderLogEntry, Key> | undefined;
};

/** An event of something that is no order. */
function event<Subject extends string, Kind extends string, Data extends z.ZodRawShape>(
  subject: Subject,
  kinds: readonly [Kind, ...Kind[]],
  data: Data,
) {
  const about = z.object({ kind: z.literal(subject), id: z.string() });
  return z.object({ subject: about, kind: z.enum(kinds), actor, at, ...data });
}

/** The second person, where what changes decides about orders. */
const confirmedBy = z.string().optional();
const values = z.record(z.string(), z.string()).optional();
const changedValues = { before: values, after: values, confirmedBy };
const routing = z.object({ owner: z.string().exactOptional(), channel: z.string().exactOptional() });
/** A price in the log, and in a change that waits. */
export const loggedPrice = z.object({
  zone: z.string(),
  task: z.enum(PRICED_TASKS),
  period: z.number(),
  amount,
  validFrom: z.string(),
  source: z.string(),
});
const budget = z.object({ id: z.string(), tag: z.string().optional(), span: z.enum(BUDGET_SPANS), amount });
const incident = z.enum(INCIDENT_KINDS);
const ledgerDifference = z.object({
  code: z.enum(LEDGER_DIFFERENCES),
  count: z.int(),
  first: z.int().exactOptional(),
});

/** An event of something that is no order. */
export const teamEvent = z.discriminatedUnion('kind', [
  /** What people decide about names of the watch list. */
  event(
    'name',
    ['name_watched', 'name_dated', 'name_unwatched', 'name_snoozed', 'lapse_requested', 'lapse_confirmed'],
    {
      /** The end of a snooze, or the expiry that was given. */
      until: at.optional(),
      reason: z.string().optional(),
      confirmedBy,
      /** Who asked for what is confirmed. */
      askedBy: z.string().optional(),
      /** Where it is told. */
      origin: messagePlace.optional(),
    },
  ),
  /** A change that no order explains; joined: of an incident that was there. */
  event('name', ['incident_opened', 'incident_joined'], {
    incident,
    fact: z.enum(FACT_NAMES),
    before: texts,
    after: texts,
  }),
  /** Proposed: the first of two people says that the change is the team's. Over: everything is as it was. */
  event('name', ['incident_proposed', 'incident_ours', 'incident_raised', 'incident_over'], {
    incidents: z.array(incident).readonly(),
    reason: z.string().optional(),
  }),
  /** A mandate does not act for a name: `orderId` asks for it in the ordinary way, or was made by the mandate and is not sent. */
  event('name', ['mandate_held'], { mandate: z.string(), because: heldCode, orderId: z.string().optional() }),
  event('name', ['name_changed'], changedValues),
  /** Names whose reminders go to another owner or channel: the first ones, and how many there are. */
  event('name', ['notices_rerouted'], {
    count: z.int(),
    names: z.array(z.object({ name: z.string(), before: routing, after: routing })).readonly(),
    confirmedBy,
  }),
  event('preset', ['preset_changed'], changedValues),
  event('price', ['price_changed'], { before: loggedPrice.optional(), after: loggedPrice, confirmedBy }),
  event('budget', ['budget_changed'], { before: budget.optional(), after: budget.optional() }),
  event('setting', ['setting_changed'], { before: z.string(), after: z.string(), confirmedBy }),
  /** The person is away; without a stand-in they are back. */
  event('person', ['stand_in_changed'], {
    standIn: z.object({ userId: z.string(), until: at }).optional(),
    /** Who stood in until then. */
    replaced: z.string().optional(),
  }),
  event(
    'policy',
    ['policy_draft_changed', 'policy_draft_discarded', 'policy_published', 'policy_confirmed'],
    {
      /** The version that came into force. */
      version: z.int().optional(),
      changes: z.array(loggedChange).readonly(),
    },
  ),
  event('key', ['key_added'], keyAdded),
  event('key', ['key_vouched'], keyVouched),
  event('key', ['key_revoked'], keyRevoked),
  event('policy', ['charter_signed'], charterSigned),
  /** Whether a charter counts, when that changes. */
  event('policy', ['charter_status'], { status: z.enum(['counts', ...CHARTER_PROBLEMS]) }),
  event('account', ['team_account_linked', 'team_account_unlinked'], { application: z.string() }),
  /** What the bot finds of its own ledger, and what was taken out of the log. */
  event('ledger', ['ledger_differs'], { differences: z.array(ledgerDifference).readonly() }),
  event('ledger', ['sealing_stalled'], {}),
  event('ledger', ['timestamps_stalled'], {}),
  /** A backup was put back: what follows is numbered like what had followed in the ledger before. */
  event('ledger', ['database_restored'], { takenAt: z.iso.datetime(), seal: z.int() }),
  event('ledger', ['events_forgotten'], {
    reason: z.enum(['age', 'person']),
    count: z.int(),
    /** In the ledger, from the first to the last. */
    seqs: z.array(z.tuple([z.int(), z.int()])).readonly(),
    /** In hex, of those that no seal covered yet. */
    leaves: z.array(z.string()).readonly(),
  }),
]);

/** Kinds of events of which people are told: each event of theirs is a subject of notifications. */
export const TOLD_KINDS: readonly TeamEvent['kind'][] = [
  'name_snoozed',
  'lapse_requested',
  'lapse_confirmed',
  'notices_rerouted',
  'stand_in_changed',
  'charter_status',
  'ledger_differs',
  'sealing_stalled',
  'timestamps_stalled',
  'database_restored',
];

/** What happened to something that is no order. */
export type TeamEvent = Readonly<z.output<typeof teamEvent>>;
/** The event of a kind. */
export type TeamEventOf<Kind> = TeamEvent extends infer Event
  ? Event extends { readonly kind: infer Kinds }
    ? Kind extends Kinds
      ? Event
      : never
    : never
  : never;

/** A decision about a name of the watch list, before it is known of which name. */
export type WatchDecision = Omit<TeamEventOf<'name_watched'>, 'subject'>;
/** What somebody says of an incident. */
export type IncidentDecision = Pick<TeamEventOf<'incident_ours'>, 'kind' | 'actor' | 'reason'>;

/** Events that say what was asked for, and who let it go. */
export const DECIDING_KINDS: ReadonlySet<OrderLogEntry['kind']> = new Set([
  'requested',
  'confirmed',
  'approved',
  'emergency_approved',
  'resumed',
]);

/** An event of an order, with the order as it is now and its events of {@link DECIDING_KINDS}, oldest first. */
export interface AuditedEvent {
  readonly order: Order;
  readonly entry: OrderLogEntry;
  readonly decisions: readonly OrderLogEntry[];
}

/** The log. Implemented by the store. */
export interface EventLog {
  /** Every event from `from` until before `to`, oldest first. Drafts are left out until they are confirmed. */
  read(from: Date, to: Date): AsyncIterable<AuditedEvent | { readonly event: TeamEvent }>;
  /** An event of something that is no order. @param seq its number in the log */
  find(seq: string): Promise<TeamEvent | undefined>;
}
