import { z } from 'zod';
import { accountName, type TeamAccountChange } from '../../accounts/account.ts';
import { overBudgetInDetail } from '../../money/budget.ts';
import type { BudgetChange, PriceChange } from '../../money/ports.ts';
import type { Alarm } from '../../names/alarm.ts';
import type { NameDecision, PortfolioChange } from '../../names/ports.ts';
import { hasSecretInput, inputOfItem, type Order, type OrderItem } from '../../orders/order.ts';
import type { AuditedEvent, HistoryEntry } from '../../orders/ports.ts';
import { recordFinding } from '../../orders/record-finding.ts';
import { itemSummary, retryReason } from '../../orders/summary.ts';
import { taskNamed } from '../../orders/tasks.ts';
import type { LoggedChange } from '../../policy/change-log.ts';
import type { RuleReference } from '../../policy/policy.ts';
import type { PolicyLogEntry, StandInChange } from '../../policy/ports.ts';
import { storedRule } from '../../policy/stored-demand.ts';
import type { SettingChanged } from '../../settings.ts';
import { budgetLine, overBudgetText } from './budget.ts';
import { progressIn, settingsRuleName } from './decision.ts';
import { priceLine } from './price.ts';
import { recordFindingText } from './record-finding.ts';
import { retryReasonText, summaryText } from './summary.ts';

/*
 * The audit log as rows of a table: one row for every event of an order, for every changed setting, price, budget,
 * name, preset and stand-in, and for every action on the policy.
 */

/** The header row. Programs read these names, so they stay. */
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

/** Looks up how a person is named in the file; `system` is the bot. */
export type NameOf = (userId: string) => Promise<string>;

const text = z.string().optional().catch(undefined);
const detailOf = z.object({
  name: text,
  ctid: text,
  reason: text,
  question: text,
  summary: itemSummary.optional().catch(undefined),
  why: retryReason.optional().catch(undefined),
  seen: recordFinding.optional().catch(undefined),
  hint: recordFinding.optional().catch(undefined),
  outcome: text,
  statement: text,
  policyVersion: z.int().optional().catch(undefined),
  decidedBy: z.array(storedRule).optional().catch(undefined),
  lapsed: z.array(z.string()).optional().catch(undefined),
  result: z
    .object({
      summary: itemSummary.optional().catch(undefined),
      code: text,
      text,
      stid: text,
      messages: z
        .array(z.object({ code: text, text }))
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
});

/** Events whose row has the request that is or will be sent. */
const SENT: ReadonlySet<HistoryEntry['kind']> = new Set(['requested', 'sending']);
/** Events that are a person's decision about the order. */
const DECISIONS: ReadonlySet<HistoryEntry['kind']> = new Set([
  'approved',
  'emergency_approved',
  'denied',
  'resolved',
]);

/** A line of the audit log. */
export interface OrderLine {
  readonly cells: string[];
  /** The item that it is about, where it is about one. */
  readonly n: number | undefined;
}

/**
 * The lines of an event of an order: one, but for an event that concerns several rows of a bulk order, which has one a row.
 */
export async function orderLines(event: AuditedEvent, nameOf: NameOf): Promise<OrderLine[]> {
  const { order, entry } = event;
  const items = order.bulk === undefined ? [] : itemsOf(order, entry);
  const n = itemDetail.safeParse(entry.detail).data?.n;
  const about = items.length === 0 ? [order.items.find((item) => item.n === n)] : items;
  return Promise.all(
    about.map(async (item) => ({ cells: await orderRow(event, nameOf, item), n: item?.n ?? n })),
  );
}

const itemDetail = z.object({ n: z.number() });
const itemsDetail = z.object({
  names: z.array(z.string()).optional(),
  lost: z.array(z.string()).optional(),
  ctids: z.array(z.string()).optional(),
});
/** Events that say something of several items at once. */
const JOINT: ReadonlySet<HistoryEntry['kind']> = new Set([
  'stopped',
  'expired',
  'released',
  'resolved',
  'invalidated',
]);

/** What such an event makes of a row, where it does not say it itself. */
const JOINT_OUTCOMES: Readonly<Partial<Record<HistoryEntry['kind'], string>>> = {
  stopped: 'FAILED',
  expired: 'FAILED',
  released: 'UNKNOWN',
  invalidated: 'UNKNOWN',
};

function itemsOf({ items }: Order, { kind, detail }: HistoryEntry): readonly OrderItem[] {
  if (!JOINT.has(kind)) return [];
  if (kind === 'invalidated')
    return items.filter(({ state, answeredAt }) => state === 'UNKNOWN' && answeredAt === undefined);
  const { names = [], lost = [], ctids = [] } = itemsDetail.safeParse(detail).data ?? {};
  const named = new Set(names);
  const sent = new Set([...lost, ...ctids]);
  return items.filter(({ name, ctid }) => named.has(name) || sent.has(ctid));
}

/**
 * An event of an order, as cells in the order of {@link AUDIT_COLUMNS}. Holds no secret: orders keep none.
 * @param item the one that it is about
 */
export async function orderRow(event: AuditedEvent, nameOf: NameOf, item?: OrderItem): Promise<string[]> {
  const { order, entry } = event;
  const detail = detailOf.parse(entry.detail);
  const { result } = detail;
  const approvers = standingApprovers(event);
  const deciders = DECISIONS.has(entry.kind) ? [...approvers, entry.actor] : approvers;
  return cells({
    time_utc: entry.at.toISOString(),
    event: entry.kind,
    by: await nameOf(entry.actor),
    order: order.id,
    state: entry.state,
    task: order.task,
    names: detail.name ?? namesOf(order, item),
    asked_by: await nameOf(order.requesterId),
    account: `${accountName(order.account)}${order.account.isTeamAccount === true ? ' (the team’s account)' : ''}`,
    reason: order.reason,
    decided_by: (await Promise.all([...new Set(deciders)].map(nameOf))).join('; '),
    decision_reason: DECISIONS.has(entry.kind) ? decisionReasonOf(detail) : detail.question,
    ctid: detail.ctid ?? (order.bulk && item?.ctid),
    sent: SENT.has(entry.kind) ? sentInput(order, item) : undefined,
    outcome: detail.outcome ?? (order.bulk && item && JOINT_OUTCOMES[entry.kind]),
    service_code: result?.code,
    service_text: result?.text,
    service_messages: result?.messages
      ?.map((message) => [message.code, message.text].filter(Boolean).join(' '))
      .join('; '),
    stid: result?.stid,
    result: resultOf(detail),
    retry_of: order.retryOf,
    ...(await groundsOf(event, nameOf)),
  });
}

/** Whose approvals counted at the moment of an event: those that had lapsed by the last approval before it did not. */
function standingApprovers({ order, entry, approvals }: AuditedEvent): readonly string[] {
  const last = approvals.findLast(({ version }) => version <= entry.version);
  const lapsed = new Set(detailOf.parse(last?.detail ?? {}).lapsed);
  return order.approvals
    .filter(({ userId, at }) => at <= entry.at && !lapsed.has(userId))
    .map(({ userId }) => userId);
}

/** By what an event was decided: for whom, by which rules and version, about which statement, beyond which budget. */
async function groundsOf({ order, entry }: AuditedEvent, nameOf: NameOf): Promise<Row> {
  const { decidedBy, policyVersion, statement } = detailOf.parse(entry.detail);
  const isDecision = DECISIONS.has(entry.kind);
  const progress = progressIn(entry.detail);
  const needed = isDecision ? order.demand.requirements.map(({ rule }) => rule) : undefined;
  const rules = decidedBy ?? progress?.requirements.map(({ rule }) => rule) ?? needed ?? [];
  const version = policyVersion ?? progress?.policyVersion ?? (isDecision ? order.policyVersion : undefined);
  const versions = rules.map((rule) => (rule.kind === 'rule' ? rule.version : version));
  const seats = progress?.requirements.flatMap(({ given }) => given) ?? [];
  const standIns = await Promise.all(
    seats.flatMap(({ userId, standsInFor }) =>
      standsInFor === undefined ? [] : [nameBoth(userId, standsInFor, nameOf)],
    ),
  );
  const { over = [], admins = [] } = overBudgetInDetail(entry.detail) ?? {};
  const agreed = await Promise.all(admins.map(nameOf));
  return {
    for: joined(standIns),
    rule: joined(rules.map(ruleText)),
    policy_version: joined(versions.flatMap((each) => (each === undefined ? [] : [String(each)]))),
    statement: statement ?? (isDecision ? order.statementHash : undefined),
    exceeded: agreed.length === 0 ? undefined : `${overBudgetText(over)} Agreed to by ${agreed.join(', ')}.`,
  };
}

async function nameBoth(userId: string, away: string, nameOf: NameOf): Promise<string> {
  return `${await nameOf(userId)} for ${await nameOf(away)}`;
}

function joined(texts: readonly string[]): string {
  return [...new Set(texts)].join('; ');
}

function ruleText(rule: RuleReference): string {
  return rule.kind === 'rule' ? rule.name : settingsRuleName(rule.kind);
}

function decisionReasonOf({ reason, seen }: z.output<typeof detailOf>): string | undefined {
  return reason ?? (seen === undefined ? undefined : recordFindingText(seen));
}

function resultOf({ result, summary, why, hint }: z.output<typeof detailOf>): string | undefined {
  if (result?.summary !== undefined) return summaryText(result.summary);
  if (summary !== undefined) return summaryText(summary);
  if (why !== undefined) return retryReasonText(why);
  return hint && recordFindingText(hint);
}

/** A changed setting, as cells in the order of {@link AUDIT_COLUMNS}. */
export async function settingRow(change: SettingChanged, nameOf: NameOf): Promise<string[]> {
  return changeRow(change, nameOf, {
    event: 'setting_changed',
    task: 'settings',
    names: change.name,
    decided_by: await nameOfConfirmer(change, nameOf),
    result: `from "${change.before}" to "${change.after}"`,
  });
}

/** The team's account was linked or unlinked, as cells in the order of {@link AUDIT_COLUMNS}. */
export async function teamAccountRow(
  { kind, login, application, by, at }: TeamAccountChange,
  nameOf: NameOf,
): Promise<string[]> {
  return changeRow({ by, at }, nameOf, {
    event: `team_account_${kind}`,
    task: kind === 'linked' ? 'link' : 'unlink',
    names: 'team',
    account: `${accountName({ login, context: undefined })} (the team’s account)`,
    result: `${kind} the application "${application}"`,
  });
}

/** A price that somebody changed, as cells in the order of {@link AUDIT_COLUMNS}. */
export async function priceRow(change: PriceChange, nameOf: NameOf): Promise<string[]> {
  const { before, after } = change;
  return changeRow(change, nameOf, {
    event: 'price_changed',
    task: 'prices',
    names: after.zone,
    decided_by: await nameOfConfirmer(change, nameOf),
    result: `from "${before === undefined ? '' : priceLine(before)}" to "${priceLine(after)}"`,
  });
}

/** The begin or end of an absence, as cells in the order of {@link AUDIT_COLUMNS}. */
export async function standInRow(
  { userId, standIn, by, at }: StandInChange,
  nameOf: NameOf,
): Promise<string[]> {
  return changeRow({ by, at }, nameOf, {
    event: 'stand_in_changed',
    task: 'away',
    names: await nameOf(userId),
    result:
      standIn === undefined
        ? 'nobody stands in any more'
        : `${await nameOf(standIn.userId)} stands in until ${standIn.until.toISOString()}`,
  });
}

const POLICY_EVENTS: Readonly<Record<PolicyLogEntry['kind'], string>> = {
  draft_changed: 'policy_draft_changed',
  draft_discarded: 'policy_draft_discarded',
  published: 'policy_published',
  confirmed: 'policy_confirmed',
};

/** An action on the policy, as cells in the order of {@link AUDIT_COLUMNS}. */
export async function policyRow(entry: PolicyLogEntry, nameOf: NameOf): Promise<string[]> {
  const { kind, version, changes, by, at } = entry;
  return changeRow({ by, at }, nameOf, {
    event: POLICY_EVENTS[kind],
    task: 'policy',
    names: version === undefined ? 'draft' : `version ${version}`,
    result: changes.map(policyChangeText).join('; '),
  });
}

function policyChangeText({ kind, rule, from, to, fields }: LoggedChange): string {
  const values = fields.map(({ field, before, after }) =>
    kind === 'changed'
      ? `${field} from "${before.join(' ')}" to "${after.join(' ')}"`
      : `${field} "${[...before, ...after].join(' ')}"`,
  );
  const places = [...(from === null ? [] : [`from ${from}`]), ...(to === null ? [] : [`to ${to}`])];
  return `${kind} "${rule}" (${[...(kind === 'changed' ? [] : places), ...values].join(', ')})`;
}

/** A changed budget, as cells in the order of {@link AUDIT_COLUMNS}. */
export async function budgetRow({ before, after, by, at }: BudgetChange, nameOf: NameOf): Promise<string[]> {
  const line = (budget: typeof before) => (budget === undefined ? '' : budgetLine(budget));
  return changeRow({ by, at }, nameOf, {
    event: 'budget_changed',
    task: 'budgets',
    names: (after ?? before)?.tag ?? '',
    result: `from "${line(before)}" to "${line(after)}"`,
  });
}

/** A change of a name's details or of a preset, as cells in the order of {@link AUDIT_COLUMNS}. */
export async function portfolioRow(change: PortfolioChange, nameOf: NameOf): Promise<string[]> {
  const { kind, subject, before, after } = change;
  const words = (values: PortfolioChange['before']) =>
    Object.entries(values ?? {})
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([field, value]) => `${field}: ${value}`)
      .join(', ');
  return changeRow(change, nameOf, {
    event: kind === 'name' ? 'name_changed' : 'preset_changed',
    task: kind === 'name' ? 'names' : 'presets',
    names: subject,
    result: `from "${words(before)}" to "${words(after)}"`,
  });
}

/** A change of a name that no order explains, as cells in the order of {@link AUDIT_COLUMNS}. */
export async function alarmRow(
  { name, kind, fact, before, after, raisedAt }: Alarm,
  nameOf: NameOf,
): Promise<string[]> {
  return changeRow({ by: 'system', at: raisedAt }, nameOf, {
    event: 'alarm_raised',
    task: 'alarm',
    names: name,
    result: `${kind}: ${fact} from "${before.join(' ')}" to "${after.join(' ')}"`,
  });
}

const DECISION_EVENTS: Readonly<
  Record<NameDecision['kind'], { readonly event: string; readonly task: string }>
> = {
  watched: { event: 'name_watched', task: 'watch' },
  dated: { event: 'name_dated', task: 'import' },
  unwatched: { event: 'name_unwatched', task: 'unwatch' },
  snoozed: { event: 'name_snoozed', task: 'snooze' },
  lapse_requested: { event: 'lapse_requested', task: 'lapse' },
  lapse_confirmed: { event: 'lapse_confirmed', task: 'lapse' },
  alarm_proposed: { event: 'alarm_proposed', task: 'alarm' },
  alarm_explained: { event: 'alarm_explained', task: 'alarm' },
  alarm_escalated: { event: 'alarm_escalated', task: 'alarm' },
};

/** What was decided about a name without an order, as cells in the order of {@link AUDIT_COLUMNS}. */
export async function decisionRow(decision: NameDecision, nameOf: NameOf): Promise<string[]> {
  const { name, kind, until, reason, alarm } = decision;
  return changeRow(decision, nameOf, {
    ...DECISION_EVENTS[kind],
    names: name,
    reason,
    result: alarm ?? until?.toISOString(),
  });
}

/** The other admin, where one had to confirm the change. */
async function nameOfConfirmer(
  { confirmedBy }: Pick<SettingChanged, 'confirmedBy'>,
  nameOf: NameOf,
): Promise<string | undefined> {
  return confirmedBy === undefined ? undefined : nameOf(confirmedBy);
}

async function changeRow(
  { by, confirmedBy, at }: Pick<PortfolioChange, 'by' | 'confirmedBy' | 'at'>,
  nameOf: NameOf,
  row: Row,
): Promise<string[]> {
  const second = confirmedBy === undefined ? {} : { decided_by: await nameOf(confirmedBy) };
  return cells({ time_utc: at.toISOString(), by: await nameOf(by), ...second, ...row });
}

function cells(row: Row): string[] {
  return AUDIT_COLUMNS.map((column) => row[column] ?? '');
}

function namesOf({ bulk, items }: Order, item: OrderItem | undefined): string {
  if (bulk === undefined) return items.map(({ name }) => name).join(' ');
  return item?.name ?? `${items.length} names`;
}

function sentInput(order: Order, item: OrderItem | undefined): string {
  if (order.bulk !== undefined && item === undefined)
    return JSON.stringify({ statement: order.statementHash, rows: order.items.length });
  const { secretField } = taskNamed(order.task);
  const secret = hasSecretInput(order) && secretField !== undefined ? { [secretField]: '[secret]' } : {};
  const asked = item === undefined ? order.input : inputOfItem(order, item);
  const input = typeof asked === 'object' && asked !== null ? asked : {};
  return JSON.stringify({ ...input, ...secret });
}
