import type { SectionBlock } from '@slack/types';
import { dropMissing } from '../../lib/collections.ts';
import type { Amount } from '../../money/amount.ts';
import type { BulkPlan, PlanIssue, SkippedRow } from '../../orders/bulk/bulk.ts';
import { BULK_COLUMNS, BULK_TASKS, type BulkTask } from '../../orders/bulk/columns.ts';
import type { FileIssue, RowIssue } from '../../orders/bulk/read-csv.ts';
import type { PauseReason, PlanFinding } from '../../orders/bulk/stored-bulk.ts';
import { isPaused } from '../../orders/bulk/waves.ts';
import { inputIssueSchema } from '../../orders/input-issue.ts';
import { findWaitingItems, type ItemState, type Order } from '../../orders/order.ts';
import type { Statement } from '../../orders/statement-shape.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import { formatDomainName } from '../../zones/names.ts';
import { requirementLines } from '../approvals/decision.view.ts';
import {
  actions,
  button,
  code,
  context,
  escapeText,
  formatCount,
  formatLocalTime,
  formatUtcTime,
  lineSections,
  type Message,
  mention,
  message,
  section,
  truncate,
} from '../kit/blocks.ts';
import { formatCsvIssue, formatUnreadableFile, TOO_MANY_CELLS_TEXT } from '../kit/csv-issue.view.ts';
import { BUTTON_ROW_LINES, fitLines, MAX_LINES } from '../kit/phone.ts';
import { amountsText } from '../money/price.view.ts';
import { dependentNames } from '../orders/impact.view.ts';
import { issueText, NO_AUTH_CODE } from '../orders/input-issue.view.ts';
import { shortHash } from '../orders/order.view.ts';
import { listStatementFields, sendTimeText } from '../orders/statement.view.ts';

type FindNearest = (word: string, candidates: readonly string[]) => string | undefined;

function fileIssueText(issue: FileIssue, task: BulkTask, findNearest: FindNearest): string {
  const columns = BULK_COLUMNS[task].join(', ');
  switch (issue.code) {
    case 'not_text':
    case 'too_large':
      return formatUnreadableFile(issue);
    case 'empty':
      return `The file has no rows. Add a header (${columns}) and one row per name.`;
    case 'no_header':
      return `Line ${issue.line} looks like a row. Add a header above it: ${columns}.`;
    case 'unknown_column': {
      const suggestion = findNearest(issue.column.toLowerCase(), BULK_COLUMNS[task]);
      const hint = suggestion === undefined ? `The columns are ${columns}.` : `Did you mean “${suggestion}”?`;
      return `Line ${issue.line}: unknown column “${issue.column}”. ${hint}`;
    }
    case 'column_of_other_task':
      return `Line ${issue.line}: this task doesn’t use the column “${issue.column}”. Remove it, or choose another task.`;
    case 'missing_column':
      return `Line ${issue.line}: the column “${issue.column}” is missing. The columns are ${columns}.`;
    default:
      return `Line ${issue.line}: ${formatCsvIssue(issue)}`;
  }
}

/** Explains in plain text why a row is skipped. */
function rowIssueText(issue: PlanIssue | RowIssue): string {
  switch (issue.code) {
    case 'too_many_cells':
      return `${TOO_MANY_CELLS_TEXT} Separate several nameservers with spaces.`;
    case 'no_auth_code':
      return NO_AUTH_CODE;
    case 'auth_code_too_long':
      return 'The auth code is too long. Check it.';
    case 'auth_code_invisible_character':
      return 'The auth code contains an invisible character. Type it again.';
    case 'repeated':
      return `It’s the same as line ${issue.line}.`;
    case 'conflict':
      return `Line ${issue.line} has the same name with other values, so I skipped both. Remove one of them.`;
    case 'open_order':
      return `The name already has an open order, ${issue.orderId}. To see it, use /domain order ${issue.orderId}.`;
    case 'hidden_order':
      return 'The name already has an open private order. Ask an approver about it.';
    case 'refused_by_policy':
      return `The policy doesn’t allow it: ${issue.rule}. Ask an admin.`;
    case 'already_deleted':
      return `It was deleted on ${formatUtcTime(issue.deletedAt).slice(0, 10)}. Restore it first if you still need it.`;
    default: {
      const parsed = inputIssueSchema.safeParse(issue);
      if (!parsed.success) return issue.code;
      const { field } = parsed.data;
      return `${['name', 'names'].includes(field) ? '' : `${field}: `}${issueText(parsed.data)}`;
    }
  }
}

const FINDING_TEXTS: Readonly<Record<PlanFinding['code'], string>> = {
  expires_soon: 'expiring within 30 days',
  in_use: 'with mail or a website',
  not_watched: 'not on the watch list',
  price_unknown: 'with an unknown price',
  set_to_lapse: 'set to lapse',
  unusual_period: 'with an unusual period',
  unusual_price: 'with an unusually high price',
  use_unknown: 'with an unknown impact',
};

function findingText(finding: PlanFinding, maxNames: number): string {
  const names = maxNames === 0 ? '' : `: ${dependentNames(finding, maxNames)}`;
  return `*${formatCount(finding.count, 'name')}* ${FINDING_TEXTS[finding.code]}${names}`;
}

const MAX_FINDINGS_WITH_NAMES = 3;

/** Lines for a card. *Details* lists all names. */
export function findingLines({ findings }: { readonly findings: readonly PlanFinding[] }): string[] {
  const maxNames = findings.length > MAX_FINDINGS_WITH_NAMES ? 0 : 2;
  return findings.map((finding) => `:warning: ${findingText(finding, maxNames)}`);
}

const MAX_SHOWN_NAMES = 5;

export function findingBlocks({ findings }: { readonly findings: readonly PlanFinding[] }): SectionBlock[] {
  return findings.length === 0
    ? []
    : lineSections([
        '*Check these names first*',
        ...findings.map((finding) => `• ${findingText(finding, MAX_SHOWN_NAMES)}`),
      ]);
}

export function planMessage(
  plan: BulkPlan,
  order: Order | undefined,
  knownCosts: readonly Amount[],
): Message {
  const { words } = getOrderTask(plan.task);
  const validCount = plan.rows.length;
  const rowsText = formatCount(validCount + plan.skipped.length, 'row');
  if (order === undefined) {
    const lead = `${words.verb}: ${plan.skipped.length === 1 ? 'the only row can’t' : `none of the ${rowsText} can`} be used.`;
    return message(lead, [
      section(
        `*${escapeText(lead)}* Fix the file and try \`/domain bulk ${plan.task}\` again.`,
        ...skippedLines(plan.skipped, MAX_SKIPPED_ROWS),
      ),
    ]);
  }
  const price = knownCosts.length === 0 ? '' : `, about ${amountsText(knownCosts)}`;
  const lead = `${words.verb} ${formatCount(validCount, 'name')}: ${validCount} of ${rowsText} ${validCount === 1 ? 'is' : 'are'} valid${price}`;
  const planLines = dropMissing([
    `*${escapeText(lead)}*`,
    approversText(order),
    order.sendAfter && sendTimeText(order.sendAfter),
    ...findingLines(plan),
    ...skippedLines(plan.skipped, MAX_SKIPPED_ROWS_WITH_PLAN),
  ]);
  return message(`${lead}.`, [
    ...lineSections(fitLines(planLines, MAX_PLAN_LINES)),
    ...actions(`plan_${order.id}`, [
      button('order_confirm', `Request ${formatCount(validCount, 'name')}`, order.id, { style: 'primary' }),
      button('bulk_drop', 'Discard', order.id),
    ]),
    context(`Plan ${code(shortHash(order))} · expires in 15 minutes`),
  ]);
}

/** The maximum number of lines above the buttons. One line follows the buttons. */
const MAX_PLAN_LINES = MAX_LINES.plan - BUTTON_ROW_LINES - 1;

function approversText({ requirements }: Order): string {
  return requirements.outcome === 'free'
    ? 'Needs no approval'
    : requirementLines(requirements, [])
        .map((line) => `Needs ${line}`)
        .join('\n');
}

/** An uploaded file lists all skipped rows. */
const MAX_SKIPPED_ROWS = 5;
const MAX_SKIPPED_ROWS_WITH_PLAN = 3;
/** About two lines on a phone. */
const MAX_ROW_LENGTH = 78;

function skippedLines(rows: readonly SkippedRow[], maxRows: number): string[] {
  if (rows.length === 0) return [];
  return [
    `:x: *I skipped ${formatCount(rows.length, 'row')}* (see the file):`,
    ...rows.slice(0, maxRows).map(skippedLine),
  ];
}

function skippedLine({ line, name, issues }: SkippedRow): string {
  const issuesText = issues.map(rowIssueText).join(' ');
  const [firstSentence = issuesText] = issuesText.split(/(?<=\.) /, 1);
  const linePrefix = `Line ${line}${name === '' ? '' : ` (${name.slice(0, 40)})`}: `;
  const shownText = linePrefix.length + issuesText.length > MAX_ROW_LENGTH ? firstSentence : issuesText;
  return `• ${escapeText(truncate(linePrefix + shownText, MAX_ROW_LENGTH))}`;
}

export function skippedCells(rows: readonly SkippedRow[]): string[][] {
  const cells = rows.map(({ line, name, issues }) => [
    String(line),
    name.slice(0, 300),
    issues.map(rowIssueText).join(' '),
  ]);
  return [['line', 'name', 'problem'], ...cells];
}

/** CSV column names by the path of the statement field. */
const PLAN_COLUMNS: ReadonlyMap<string, string> = new Map([
  ['period', 'period'],
  ['ownerc.id', 'ownerc'],
  ['adminc.id', 'adminc'],
  ['techc.id', 'techc'],
  ['nameServers.name', 'nameservers'],
  ['auth', 'auth'],
]);

/** CSV cells of all rows, for approvers. Auth codes are masked. */
export function planCells({ items }: Statement): string[][] {
  const rows = items.map((item) => ({
    cells: [String(item.n), item.name],
    values: new Map(
      listStatementFields(item, '[secret]').map(({ path, values }) => [path, values.join(' ')]),
    ),
  }));
  const fields = [...new Set([...PLAN_COLUMNS.keys(), ...rows.flatMap(({ values }) => [...values.keys()])])];
  return [
    ['row', 'name', ...fields.map((field) => PLAN_COLUMNS.get(field) ?? field)],
    ...rows.map(({ cells, values }) => [...cells, ...fields.map((field) => values.get(field) ?? '')]),
  ];
}

export function fileIssuesText(
  issues: readonly FileIssue[],
  task: BulkTask,
  findNearest: FindNearest,
): string {
  return ['Nothing was requested.', ...issues.map((issue) => fileIssueText(issue, task, findNearest))].join(
    '\n',
  );
}

function countStates({ items }: Order): Readonly<Record<ItemState, number>> {
  const counts = { WAITING: 0, SENT: 0, SUCCEEDED: 0, FAILED: 0, UNKNOWN: 0 };
  for (const { state } of items) counts[state] += 1;
  return counts;
}

/** The service accepts some tasks first and completes them later. */
function itemStateTexts(order: Order): Readonly<Record<ItemState, string>> {
  return {
    SUCCEEDED: getOrderTask(order.task).nextStep === undefined ? 'done' : 'accepted',
    FAILED: 'failed',
    UNKNOWN: 'unknown',
    SENT: 'in progress',
    WAITING: 'waiting',
  };
}

const STATE_ORDER = ['SUCCEEDED', 'FAILED', 'UNKNOWN', 'SENT', 'WAITING'] as const;

export function hasMixedStates({ items }: Order): boolean {
  return new Set(items.map(({ state }) => state)).size > 1;
}

/** For example, `1850 done · 3 failed · 145 waiting`. States without rows are omitted. */
export function tallyText(order: Order): string {
  const counts = countStates(order);
  const texts = itemStateTexts(order);
  return STATE_ORDER.filter((state) => counts[state] !== 0)
    .map((state) => `${counts[state]} ${texts[state]}`)
    .join(' · ');
}

function pauseReasonText(reason: PauseReason): string {
  const names = reason.names.map((name) => `*${escapeText(formatDomainName(name))}*`).join(', ');
  return reason.code === 'refusals'
    ? `the service refused three names in a row: ${names}`
    : `the outcome of ${formatCount(reason.names.length, 'name')} of ${reason.rows} is unknown: ${names}`;
}

export function pauseButtons(order: Order) {
  return isPaused(order)
    ? [
        button('order_resume', 'Resume', order.id, {
          style: 'primary',
          label: `Resume with ${formatCount(findWaitingItems(order).length, 'name')}`,
        }),
      ]
    : [];
}

export function pausedReply(
  order: Order,
  reason: PauseReason,
  title: string,
  approversMrkdwn: string,
): Message {
  const lead = `*${escapeText(title)}* is paused, because ${pauseReasonText(reason)}.`;
  return message(lead, [
    section(`:pause_button: ${mention(order.requesterId)}, ${approversMrkdwn}: ${lead}`),
    section(
      `${tallyText(order)}. Check at the domain service what happened. Then click *Resume* or *Stop*.${order.expiresAt === undefined ? '' : ` The order expires ${formatLocalTime(order.expiresAt)}.`}`,
    ),
    ...actions(`paused_${order.id}`, [
      ...pauseButtons(order),
      isPaused(order) && button('order_stop', 'Stop', order.id, { style: 'danger' }),
    ]),
  ]);
}

export function pausedText(order: Order): string | undefined {
  return isPaused(order) ? 'Paused. To continue, click Resume' : undefined;
}

const BAR_LENGTH = 20;

export function progressMessage(order: Order, startedAt: Date | undefined, now: Date): Message {
  const counts = countStates(order);
  const total = order.items.length;
  const endedCount = total - counts.WAITING - counts.SENT;
  const filledLength = Math.floor((endedCount / total) * BAR_LENGTH);
  const bar = `${'▓'.repeat(filledLength)}${'░'.repeat(BAR_LENGTH - filledLength)}`;
  const barText = `${bar} ${Math.floor((endedCount / total) * 100)}%`;
  const timeLeft = timeLeftText(order, endedCount, startedAt, now);
  return message(`${barText}: ${tallyText(order)}`, [
    section(`${code(barText)}\n${tallyText(order)}${timeLeft === '' ? '' : `\n${timeLeft}`}`),
  ]);
}

function timeLeftText(order: Order, endedCount: number, startedAt: Date | undefined, now: Date): string {
  const waitingCount = findWaitingItems(order).length;
  if (order.state !== 'EXECUTING') {
    if (waitingCount > 0) return isPaused(order) ? 'Paused.' : 'Continuing in a moment…';
    return 'Finished.';
  }
  if (startedAt === undefined || endedCount === 0) return '';
  const seconds = Math.round((((now.getTime() - startedAt.getTime()) / endedCount) * waitingCount) / 1_000);
  if (seconds < 60) return 'Less than a minute left.';
  return seconds < 5_400
    ? `About ${formatCount(Math.round(seconds / 60), 'minute')} left.`
    : `About ${formatCount(Math.round(seconds / 3_600), 'hour')} left.`;
}

export const AUTH_CODES_NOTE = context(
  'I encrypt each auth code and delete it when its row is finished. Delete your own copy when you no longer need it.',
);

export function bulkTasksText(suggestion: string | undefined): string {
  const hint = suggestion === undefined ? '' : ` Did you mean \`/domain bulk ${suggestion}\`?`;
  return `Enter one of these tasks: ${BULK_TASKS.map(code).join(', ')}.${hint} You can enter the names in the form.`;
}

export const PLAN_DISCARDED = 'I discarded the plan. Nothing was requested.';

export function alreadyPlannedText({ id, state, requesterId }: Order): string {
  return state === 'DRAFT'
    ? `${mention(requesterId)} is already retrying this order. Their plan expires within 15 minutes if they don’t confirm it.`
    : `This was already requested. To see the order, use \`/domain order ${id}\`.`;
}

export const planComment = ({ items }: Order) => `The plan: ${formatCount(items.length, 'row')}.`;
export const resultComment = ({ items }: Order) =>
  `The result: ${formatCount(items.length, 'row')}, in the format of the audit log.`;
export const noFileText = ({ cause, remedy }: { readonly cause: string; readonly remedy: string }) =>
  `I can’t share a file here. ${cause} ${remedy}`;
