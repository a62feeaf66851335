import { formatAccountName } from '../../accounts/account.ts';
import type { AuditedEvent, TeamEvent, TeamEventOf } from '../../ledger/events.ts';
import { hasSecretInput, type Order, type OrderItem } from '../../orders/order.ts';
import type { AnyOrderLogEntry, OrderLogEntry } from '../../orders/order-events.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import type { LoggedChange } from '../../policy/change-log.ts';
import type { RuleReference } from '../../policy/policy.ts';
import { formatSettingsRuleName } from '../approvals/decision.view.ts';
import { budgetLine, overrunDetailsText } from '../money/budget.view.ts';
import { priceLine } from '../money/price.view.ts';
import { formatRecordFinding } from '../orders/record-finding.view.ts';
import { retryReasonText, summaryText } from '../orders/summary.view.ts';
import { differenceText } from './ledger.view.ts';

/*
 * Rows of the audit log. Each event has one row, or one row per item if it is about several items of a bulk
 * order.
 */

/** Shown as the actor if an order was settled by a registry record. */
export const REGISTRY_RECORD_ACTOR = 'Registry record (RDAP)';

/** Column names must not change, because other programs read the exported file. */
export const AUDIT_COLUMNS = [
  'time_utc',
  'event',
  'by',
  'order',
  'state',
  'task',
  'names',
  'asked_by',
  'account',
  'reason',
  'decided_by',
  'decision_reason',
  'ctid',
  'sent',
  'outcome',
  'service_code',
  'service_text',
  'service_messages',
  'stid',
  'result',
  'retry_of',
  'for',
  'rule',
  'policy_version',
  'statement',
  'exceeded',
] as const;

type Row = Partial<Readonly<Record<(typeof AUDIT_COLUMNS)[number], string | undefined>>>;

/** Finds a person's name. The ID `system` stands for the bot. */
export type PersonNameLookup = (userId: string) => Promise<string>;

/** Events whose rows show the request to the service. */
const REQUEST_EVENTS: ReadonlySet<OrderLogEntry['kind']> = new Set(['requested', 'sending']);
const DECISION_EVENTS: ReadonlySet<OrderLogEntry['kind']> = new Set([
  'approved',
  'emergency_approved',
  'denied',
  'resolved',
]);

export interface OrderLine {
  readonly cells: string[];
  readonly itemNumber: number | undefined;
}

export async function buildOrderLines(event: AuditedEvent, lookUp: PersonNameLookup): Promise<OrderLine[]> {
  const { order, entry } = event;
  const bulkItems = order.bulk === undefined ? [] : findAffectedItems(order, entry);
  const loggedNumber = 'n' in entry ? entry.n : undefined;
  const rowItems = bulkItems.length === 0 ? [order.items.find((item) => item.n === loggedNumber)] : bulkItems;
  return Promise.all(
    rowItems.map(async (item) => ({
      cells: await buildOrderCells(event, lookUp, item),
      itemNumber: item?.n ?? loggedNumber,
    })),
  );
}

const MULTI_ITEM_EVENTS: ReadonlySet<OrderLogEntry['kind']> = new Set([
  'stopped',
  'expired',
  'released',
  'resolved',
  'invalidated',
]);

/** The outcome of the affected items, for events that don't record it. */
const MULTI_ITEM_OUTCOMES: Readonly<Partial<Record<OrderLogEntry['kind'], string>>> = {
  stopped: 'FAILED',
  expired: 'FAILED',
  released: 'UNKNOWN',
  invalidated: 'UNKNOWN',
};

function findAffectedItems({ items }: Order, entry: OrderLogEntry): readonly OrderItem[] {
  if (!MULTI_ITEM_EVENTS.has(entry.kind)) return [];
  if (entry.kind === 'invalidated')
    return items.filter(({ state, answeredAt }) => state === 'UNKNOWN' && answeredAt === undefined);
  const { names = [], lost = [], ctids = [] }: AnyOrderLogEntry = entry;
  const affectedNames = new Set(names);
  const affectedCtids = new Set([...lost, ...ctids]);
  return items.filter(({ name, ctid }) => affectedNames.has(name) || affectedCtids.has(ctid));
}

/** The cells contain no secrets, because orders don't contain any. */
export async function buildOrderCells(
  event: AuditedEvent,
  lookUp: PersonNameLookup,
  item?: OrderItem,
): Promise<string[]> {
  const { order, entry } = event;
  const entryFields: AnyOrderLogEntry = entry;
  const { result } = entryFields;
  const requestedEntry = event.decisions.find((decision) => decision.kind === 'requested');
  const approvers = findValidApprovers(event);
  const deciders = DECISION_EVENTS.has(entry.kind) ? [...approvers, entry.actor] : approvers;
  return toCells({
    time_utc: entry.at.toISOString(),
    event: entry.kind,
    by: await lookUp(entry.actor),
    order: order.id,
    state: entry.state,
    task: requestedEntry?.task,
    names:
      entryFields.name ?? requestedEntry?.names?.join(' ') ?? item?.name ?? `${order.items.length} names`,
    asked_by: requestedEntry && (await lookUp(requestedEntry.actor)),
    account:
      requestedEntry &&
      `${requestedEntry.account}${requestedEntry.usesTeamAccount === true ? ' (the team’s account)' : ''}`,
    reason: requestedEntry?.reason ?? undefined,
    decided_by: (await Promise.all([...new Set(deciders)].map(lookUp))).join('; '),
    decision_reason: DECISION_EVENTS.has(entry.kind) ? findReason(entryFields) : entryFields.question,
    ctid: entryFields.ctid ?? (order.bulk && item?.ctid),
    sent: REQUEST_EVENTS.has(entry.kind) ? formatSentInput(order, requestedEntry, item) : undefined,
    outcome: entryFields.outcome ?? (order.bulk && item && MULTI_ITEM_OUTCOMES[entry.kind]),
    service_code: result?.code,
    service_text: result?.text,
    service_messages: result?.messages
      ?.map((message) => [message.code, message.text].filter(Boolean).join(' '))
      .join('; '),
    stid: result?.stid,
    result: findResult(entryFields),
    retry_of: requestedEntry?.retryOf,
    ...(await buildDecisionColumns(event, lookUp)),
  });
}

/** The approvers whose approvals counted at the time of an event. */
function findValidApprovers({ entry, decisions }: AuditedEvent): readonly string[] {
  const approvals = decisions.filter(
    ({ kind, version }) => APPROVAL_EVENTS.has(kind) && version <= entry.version,
  );
  const lastApproval = approvals.findLast(({ kind }) => kind === 'approved');
  const lapsedIds = new Set(
    lastApproval !== undefined && 'lapsed' in lastApproval ? lastApproval.lapsed : [],
  );
  return approvals.map(({ actor }) => actor).filter((userId) => !lapsedIds.has(userId));
}

const APPROVAL_EVENTS: ReadonlySet<OrderLogEntry['kind']> = new Set(['approved', 'emergency_approved']);

/** The columns `for`, `rule`, `policy_version`, `statement` and `exceeded`. */
async function buildDecisionColumns(
  { entry, decisions }: AuditedEvent,
  lookUp: PersonNameLookup,
): Promise<Row> {
  const entryFields: AnyOrderLogEntry = entry;
  const { statement, progress, mandate, overBudget = [], admins = [] } = entryFields;
  const requestedEntry = decisions.find(({ kind }) => kind === 'requested');
  const isDecision = DECISION_EVENTS.has(entry.kind);
  const decisionsSoFar = isDecision ? decisions.filter(({ version }) => version <= entry.version) : [];
  const [{ rules, version } = NO_RULES] = [entry, ...decisionsSoFar.toReversed()].flatMap(findRules);
  const policyVersions = rules.map((rule) => (rule.kind === 'rule' ? rule.version : version));
  const slots = progress?.requirements.flatMap(({ slots }) => slots) ?? [];
  const standIns = await Promise.all(
    slots.flatMap(({ userId, standsInFor }) =>
      standsInFor === undefined ? [] : [standInText(userId, standsInFor, lookUp)],
    ),
  );
  const adminNames = await Promise.all(admins.map(lookUp));
  return {
    for: joinUnique(standIns),
    rule: mandate === undefined ? joinUnique(rules.map(ruleText)) : `mandate ${mandate}`,
    policy_version: joinUnique(
      policyVersions.flatMap((number) => (number === undefined ? [] : [String(number)])),
    ),
    statement:
      statement ??
      (isDecision && requestedEntry?.kind === 'requested' ? requestedEntry.statement : undefined),
    exceeded:
      adminNames.length === 0
        ? undefined
        : `${overrunDetailsText(overBudget)} Approved by ${adminNames.join(', ')}.`,
  };
}

const NO_RULES = { rules: [], version: undefined } as const;

function findRules(entry: OrderLogEntry) {
  const { decidedBy, policyVersion, progress }: AnyOrderLogEntry = entry;
  const rules = decidedBy ?? progress?.requirements.map(({ rule }) => rule);
  return rules === undefined ? [] : [{ rules, version: policyVersion ?? progress?.policyVersion }];
}

async function standInText(userId: string, awayUserId: string, lookUp: PersonNameLookup): Promise<string> {
  return `${await lookUp(userId)} for ${await lookUp(awayUserId)}`;
}

function joinUnique(texts: readonly string[]): string {
  return [...new Set(texts)].join('; ');
}

function ruleText(rule: RuleReference): string {
  return rule.kind === 'rule' ? rule.name : formatSettingsRuleName(rule.kind);
}

function findReason({ reason, seen }: AnyOrderLogEntry): string | undefined {
  return reason ?? (seen && formatRecordFinding(seen));
}

function findResult({ result, summary, retryReason, hint }: AnyOrderLogEntry): string | undefined {
  if (result?.summary !== undefined) return summaryText(result.summary);
  if (summary !== undefined) return summaryText(summary);
  if (retryReason !== undefined) return retryReasonText(retryReason);
  return hint && formatRecordFinding(hint);
}

/** Builds the row of one kind of event, without the time and the actor. */
type RowBuilder<Kind> = (event: TeamEventOf<Kind>, lookUp: PersonNameLookup) => Row | Promise<Row>;

const nameDecisionRow =
  (task: string) =>
  ({ subject, until, reason }: TeamEventOf<'name_watched'>): Row => ({
    task,
    names: subject.id,
    reason,
    result: until?.toISOString(),
  });
const incidentRow = ({ subject, incidents, reason }: TeamEventOf<'incident_ours'>): Row => ({
  task: 'incident',
  names: subject.id,
  reason,
  result: incidents.join(', '),
});
const changedFactRow = ({ subject, incident, fact, before, after }: TeamEventOf<'incident_opened'>): Row => ({
  task: 'incident',
  names: subject.id,
  result: `${incident}: ${fact} ${formatChange(before.join(' '), after.join(' '))}`,
});
const valuesRow =
  (task: string) =>
  ({ subject, before, after }: TeamEventOf<'name_changed' | 'preset_changed'>): Row => ({
    task,
    names: subject.id,
    result: formatChange(valuesText(before), valuesText(after)),
  });
const policyRow = ({ version, changes }: TeamEventOf<'policy_confirmed'>): Row => ({
  task: 'policy',
  names: version === undefined ? 'draft' : `version ${version}`,
  result: changes.map(policyChangeText).join('; '),
});
const keyRow =
  (action: string) =>
  async (
    { subject, owner }: TeamEventOf<'key_vouched'> | TeamEventOf<'key_revoked'>,
    lookUp: PersonNameLookup,
  ): Promise<Row> => ({
    task: 'key',
    names: subject.id,
    result: `${action} ${await lookUp(owner)}`,
  });
const teamAccountRow =
  (task: string) =>
  ({ subject, application }: TeamEventOf<'team_account_linked'>): Row => ({
    task,
    names: 'team',
    account: `${formatAccountName({ login: subject.id, context: undefined })} (the team’s account)`,
    result: `${task}ed the application "${application}"`,
  });

const ROW_BUILDERS: { readonly [Kind in TeamEvent['kind']]: RowBuilder<Kind> } = {
  name_watched: nameDecisionRow('watch'),
  name_dated: nameDecisionRow('import'),
  name_unwatched: nameDecisionRow('unwatch'),
  name_snoozed: nameDecisionRow('snooze'),
  name_renewed: nameDecisionRow('renewed elsewhere'),
  lapse_requested: nameDecisionRow('lapse'),
  lapse_confirmed: nameDecisionRow('lapse'),
  name_kept: nameDecisionRow('keep'),
  name_handed_over: async (event, lookUp) => ({
    ...nameDecisionRow('handover')(event),
    result: `handed over to ${await lookUp(event.to ?? '')}`,
  }),
  incident_opened: changedFactRow,
  incident_joined: changedFactRow,
  incident_proposed: incidentRow,
  incident_ours: incidentRow,
  incident_raised: incidentRow,
  incident_over: incidentRow,
  mandate_held: ({ subject, mandate, holdReason, orderId }) => ({
    task: 'mandate',
    names: subject.id,
    result: `mandate ${mandate} does not renew it: ${holdReason}${orderId === undefined ? '' : `, order ${orderId} is not sent`}`,
  }),
  name_changed: valuesRow('names'),
  notices_rerouted: ({ subject, count }) => ({
    task: 'names',
    names: subject.id,
    result: `announced: ${count} with another owner or channel`,
  }),
  preset_changed: valuesRow('presets'),
  price_changed: ({ subject, before, after }) => ({
    task: 'prices',
    names: subject.id,
    result: formatChange(before && priceLine(before), priceLine(after)),
  }),
  budget_changed: ({ before, after }) => ({
    task: 'budgets',
    names: (after ?? before)?.tag,
    result: formatChange(before && budgetLine(before), after && budgetLine(after)),
  }),
  setting_changed: ({ subject, before, after }) => ({
    task: 'settings',
    names: subject.id,
    result: formatChange(before, after),
  }),
  stand_in_changed: async ({ subject, standIn }, lookUp) => ({
    task: 'away',
    names: await lookUp(subject.id),
    result:
      standIn === undefined
        ? 'no stand-in anymore'
        : `${await lookUp(standIn.userId)} is the stand-in until ${standIn.until.toISOString()}`,
  }),
  policy_draft_changed: policyRow,
  policy_draft_discarded: policyRow,
  policy_published: policyRow,
  policy_confirmed: policyRow,
  charter_signed: ({ signature }) => ({
    task: 'policy',
    result: `signed ${signature.challenge.charter} with ${signature.key}`,
  }),
  charter_status: ({ status }) => ({ task: 'policy', result: `signed policy: ${status}` }),
  key_added: ({ subject, label }) => ({ task: 'key', names: subject.id, result: `added "${label}"` }),
  key_vouched: keyRow('vouched for'),
  key_revoked: keyRow('revoked'),
  team_account_linked: teamAccountRow('link'),
  team_account_unlinked: teamAccountRow('unlink'),
  ledger_differs: ({ differences }) => ({
    task: 'ledger',
    result: differences.map(differenceText).join(' '),
  }),
  sealing_stalled: () => ({ task: 'ledger', result: 'events are waiting for a seal' }),
  database_restored: ({ takenAt, seal }) => ({
    task: 'ledger',
    result: `the backup of ${takenAt} was restored, up to seal ${seal}`,
  }),
  events_forgotten: ({ reason, count }) => ({
    task: 'ledger',
    result: `the content of ${count} events was deleted: ${reason}`,
  }),
};

/** For events that aren't about an order. */
export async function buildTeamEventCells(event: TeamEvent, lookUp: PersonNameLookup): Promise<string[]> {
  const confirmedBy = 'confirmedBy' in event ? event.confirmedBy : undefined;
  return toCells({
    time_utc: event.at.toISOString(),
    event: event.kind,
    by: await lookUp(event.actor),
    decided_by: confirmedBy && (await lookUp(confirmedBy)),
    ...(await buildRow(event.kind, event, lookUp)),
  });
}

function buildRow<Kind extends TeamEvent['kind']>(
  kind: Kind,
  event: TeamEventOf<Kind>,
  lookUp: PersonNameLookup,
) {
  return ROW_BUILDERS[kind](event, lookUp);
}

function formatChange(before = '', after = ''): string {
  return `from "${before}" to "${after}"`;
}

function valuesText(values: Readonly<Record<string, string>> = {}): string {
  return Object.entries(values)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([field, value]) => `${field}: ${value}`)
    .join(', ');
}

function policyChangeText({ kind, rule, from, to, fields }: LoggedChange): string {
  const values = fields.map(({ field, before, after }) =>
    kind === 'changed'
      ? `${field} from "${before.join(' ')}" to "${after.join(' ')}"`
      : `${field} "${[...before, ...after].join(' ')}"`,
  );
  const positions = [...(from === null ? [] : [`from ${from}`]), ...(to === null ? [] : [`to ${to}`])];
  return `${kind} "${rule}" (${[...(kind === 'changed' ? [] : positions), ...values].join(', ')})`;
}

function toCells(row: Row): string[] {
  return AUDIT_COLUMNS.map((column) => row[column] ?? '');
}

function formatSentInput(
  order: Order,
  requestedEntry: Extract<OrderLogEntry, { readonly kind: 'requested' }> | undefined,
  item: OrderItem | undefined,
): string | undefined {
  if (requestedEntry === undefined) return undefined;
  if (requestedEntry.names === undefined && item === undefined)
    return JSON.stringify({ statement: requestedEntry.statement, rows: requestedEntry.rows });
  const { secretField } = getOrderTask(requestedEntry.task);
  const redactedSecret =
    hasSecretInput(order) && secretField !== undefined ? { [secretField]: '[secret]' } : {};
  // For a bulk order, the log has the number of rows, but not their input.
  const loggedInput = requestedEntry.input ?? item?.input;
  const input = typeof loggedInput === 'object' && loggedInput !== null ? loggedInput : {};
  return JSON.stringify({ ...input, ...redactedSecret });
}
