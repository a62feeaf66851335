import type { Button, DataTableBlock } from '@slack/types';
import { formatAccountName, isDemoContext } from '../../accounts/account.ts';
import { dropMissing } from '../../lib/collections.ts';
import { DAY_MS } from '../../lib/duration.ts';
import { isPaused } from '../../orders/bulk/waves.ts';
import {
  findRetryableItems,
  findUpcomingSendTime,
  findWaitingItems,
  getAccountOwner,
  getPeriodYears,
  hasRowSecrets,
  type ItemResult,
  isRetryExpired,
  isWaitingForSendTime,
  type Order,
  type OrderItem,
  type OrderState,
} from '../../orders/order.ts';
import type { OrderLogEntry } from '../../orders/order-events.ts';
import type { NextStep } from '../../orders/order-task.ts';
import type { StoredEvidence } from '../../orders/record-finding.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import { acceptsUnsignedApprovals, needsSignatures } from '../../policy/policy.ts';
import { formatDomainName } from '../../zones/names.ts';
import { findZoneProfile } from '../../zones/rules.ts';
import {
  button,
  capitalize,
  code,
  escapeExceptCode,
  escapeLine,
  escapeText,
  formatCount,
  formatLocalTime,
  formatUtcDate,
  joinAtMost,
  joinWords,
  mention,
  mentionAnyApprover,
  mentionApprover,
  table,
  truncateMarkup,
} from '../kit/blocks.ts';
import { findExpiry, formatKind, messageLine } from './answer.view.ts';
import { formatRecordFinding } from './record-finding.view.ts';
import { summaryText } from './summary.view.ts';

const NEXT_STEP_TEXTS: Readonly<
  Record<NextStep, (approvedAfterDays: number | undefined, dayAfter: (days: number) => string) => string>
> = {
  transfer_period: (days, dayAfter) =>
    days === undefined ? 'the service doesn’t say how long it takes' : `it completes by *${dayAfter(days)}*`,
  manual_processing: () => 'it’s processed by hand; the service doesn’t say how long it takes',
  no_public_record: () => 'both registrants are notified; the service doesn’t report when it’s done',
};

/** The short texts are for lists, and the full texts are for cards and replies. */
export const STATES: Readonly<
  Record<OrderState, { readonly icon: string; readonly shortText: string; readonly fullText: string }>
> = {
  DRAFT: { icon: ':memo:', shortText: 'not confirmed yet', fullText: 'Not confirmed yet' },
  PENDING: {
    icon: ':hourglass_flowing_sand:',
    shortText: 'waiting for approval',
    fullText: 'Waiting for approval',
  },
  APPROVED: {
    icon: ':ballot_box_with_check:',
    shortText: 'already approved',
    fullText: 'Approved, will be sent shortly',
  },
  EXECUTING: { icon: ':gear:', shortText: 'in progress', fullText: 'In progress' },
  SUCCEEDED: { icon: ':white_check_mark:', shortText: 'done', fullText: 'Done' },
  FAILED: { icon: ':x:', shortText: 'failed', fullText: 'Failed' },
  UNKNOWN: {
    icon: ':warning:',
    shortText: 'sent, but its outcome is unknown',
    fullText: 'Outcome unknown. An approver has to mark it as done or failed',
  },
  DENIED: { icon: ':no_entry:', shortText: 'denied', fullText: 'Denied, nothing was sent' },
  EXPIRED: {
    icon: ':alarm_clock:',
    shortText: 'expired',
    fullText: 'Expired without approval, nothing was sent',
  },
  CANCELLED: { icon: ':wastebasket:', shortText: 'canceled', fullText: 'Canceled, nothing was sent' },
};

export function stateIcon(order: Order): string {
  return isPaused(order) ? ':pause_button:' : STATES[order.state].icon;
}

/** Whether the service accepted the task, but hasn't confirmed its result. */
export function isOnlyAccepted({ task, items }: Order, state: OrderState): boolean {
  if (state !== 'SUCCEEDED' || getOrderTask(task).nextStep === undefined) return false;
  return items.some(({ result }) => result?.resolvedBy === undefined);
}

export function isMandateInForce({ task, state, mandateEnd }: Order): boolean {
  return task === 'mandate' && state === 'SUCCEEDED' && mandateEnd === undefined;
}

export function stateText(order: Order): string {
  if (order.task === 'mandate' && order.state === 'SUCCEEDED')
    return isMandateInForce(order) ? 'In force' : 'Ended';
  return isOnlyAccepted(order, order.state)
    ? 'Accepted by the service, not done yet'
    : STATES[order.state].fullText;
}

export function itemStateText(order: Order, item: OrderItem): string {
  const { nextStep } = getOrderTask(order.task);
  return nextStep !== undefined && item.state === 'SUCCEEDED' && item.result?.resolvedBy === undefined
    ? 'Accepted'
    : ITEM_STATE_TEXTS[item.state];
}

/** Says how long transfers of an accepted item are locked, and what the next step is. */
export function nextStepTexts(order: Order, item: OrderItem): string[] {
  const { state, name, answeredAt } = item;
  if (state !== 'SUCCEEDED' || answeredAt === undefined) return [];
  const { nextStep, findTransferLock } = getOrderTask(order.task);
  const transferLock = findTransferLock(name);
  const formatDateAfter = (days: number) => formatUtcDate(new Date(answeredAt.getTime() + days * DAY_MS));
  const stepText =
    nextStep !== undefined && isOnlyAccepted(order, 'SUCCEEDED')
      ? NEXT_STEP_TEXTS[nextStep](findZoneProfile(name).transfer.autoApproveDays, formatDateAfter)
      : undefined;
  return dropMissing([
    transferLock !== undefined && `no transfers until *${formatDateAfter(transferLock.days)}*`,
    stepText,
  ]);
}

/** The new expiry of a single renewed name, according to the service. */
export function newExpiryTexts({ task, items }: Order): string[] {
  const [item, ...others] = items;
  const expiry = task !== 'renew' || others.length > 0 ? undefined : findExpiry(item?.result?.data);
  return expiry === undefined ? [] : [formatUtcDate(expiry)];
}

/** IDNs are shown in Unicode and in ASCII. */
export function formatItemName(order: { readonly task: Order['task'] }, name: string): string {
  return getOrderTask(order.task).zoneTask !== undefined ? formatDomainName(name) : name;
}

export function shortHash({ statementHash }: Order): string {
  return statementHash.slice(0, 8);
}

/** `Renew cafe.rest for 2 years`, `Renewed 3 names for 1 year`. Plain text. */
export function orderTitle(order: Order, tense: 'to do' | 'done' = 'to do'): string {
  const [first] = order.items;
  const subject =
    order.items.length === 1 && first !== undefined
      ? formatItemName(order, first.name)
      : formatCount(order.items.length, 'name');
  const period = getPeriodYears(order.input);
  const { verb, pastTense } = getOrderTask(order.task).words;
  return `${tense === 'done' ? pastTense : verb} ${subject}${period === undefined ? '' : ` for ${formatCount(period, 'year')}`}`;
}

export function usesXml({ task, account, input }: Order): boolean {
  return account.method === 'two_factor' || getOrderTask(task).findConstraints(input).xml.length > 0;
}

export function formatContext(contextNumber: number | undefined): string {
  if (contextNumber === undefined) return 'the application’s own context';
  return isDemoContext(contextNumber) ? '*DEMO*' : '*LIVE*';
}

export function formatAccount(order: Order): string {
  if (order.account.isTeamAccount === true)
    return `:busts_in_silhouette: *the team’s account*, ${code(formatAccountName(order.account))}`;
  return `${code(formatAccountName(order.account))} (${mention(getAccountOwner(order))})`;
}

export type HistoryEvent<Entry = OrderLogEntry> = Entry extends unknown
  ? Omit<Entry, 'at' | 'version'>
  : never;
export type HistoryEventOf<Kind extends OrderLogEntry['kind']> = Extract<
  HistoryEvent,
  { readonly kind: Kind }
>;

/** Whether the order still needs approvals or, if it is paused, has to be resumed. */
export function needsMoreApprovals(event: HistoryEvent): boolean {
  return event.state === 'PENDING' || (event.kind === 'approved' && event.waiting !== undefined);
}

/** Approvals that were no longer valid at the last count. */
interface LapsedApprovals {
  readonly userIds: readonly string[];
  /** True if Slack didn't return the members of an approver group. */
  readonly isUncertain: boolean;
}

export interface NotifiedPeople {
  readonly reachedIds: readonly string[];
  /** People who get their message later, because it is night for them or Slack is busy. */
  readonly delayedIds: readonly string[];
}

export const NOBODY_NOTIFIED: NotifiedPeople = { reachedIds: [], delayedIds: [] };

/** For example, `I messaged @Ada and @Bo.` */
export function notifiedText({ reachedIds, delayedIds }: NotifiedPeople): string {
  const formatNames = (people: readonly string[]) => joinWords(people.map(mention));
  const sentences = dropMissing([
    reachedIds.length > 0 && `I messaged ${formatNames(reachedIds)}.`,
    delayedIds.length > 0 && `I’ll message ${formatNames(delayedIds)} later.`,
  ]);
  return sentences.length === 0 ? 'I couldn’t reach any admin.' : sentences.join(' ');
}

export function findLapsedApprovals(history: readonly HistoryEvent[]): LapsedApprovals {
  const { lapsed = [], unreadableGroups = [] } = history.findLast((event) => event.kind === 'approved') ?? {};
  return { userIds: lapsed, isUncertain: unreadableGroups.length > 0 };
}

/** For example, `@Carol’s approval no longer counts`. */
export function formatLapsedApprovals({ userIds, isUncertain }: LapsedApprovals): string {
  const possessives = userIds.map((userId) => `${mention(userId)}’s`).join(' and ');
  const isSingle = userIds.length === 1;
  return isUncertain
    ? `${possessives} ${isSingle ? 'approval' : 'approvals'} can’t be counted, because Slack doesn’t return the members of an approver group`
    : `${possessives} ${isSingle ? 'approval no longer counts' : 'approvals no longer count'}`;
}

/** A colon and the quoted reason. Empty if there is no reason. */
export function reasonSuffix({ reason, seen }: EventReason): string {
  const text = reason ?? (seen && formatRecordFinding(seen)) ?? '';
  return text === '' ? '' : `: “${escapeLine(text, 1_000)}”`;
}

interface EventReason {
  readonly reason?: string | null | undefined;
  readonly seen?: StoredEvidence | undefined;
}

const MAX_APPROVERS = 12;

export function approverListText(approvers: readonly string[]): string {
  return approvers.length === 0 ? 'an approver' : joinAtMost(approvers.map(mentionApprover), MAX_APPROVERS);
}

/** For example, `@Bob or a member of @team`. Completes “1 approval from …”. */
export function anyApproverText(approvers: readonly string[], needed: number): string {
  return approvers.length === 0 ? 'an approver' : mentionAnyApprover(approvers, needed, MAX_APPROVERS);
}

/** For example, ` @Bob or a member of @team can approve it.` */
export function canApproveText(approvers: readonly string[]): string {
  return approvers.length === 0 ? '' : ` ${capitalize(anyApproverText(approvers, 1))} can approve it.`;
}

/** Whether a request was sent for any name. */
export function wasSent({ items }: Order): boolean {
  return items.some(({ sentAt }) => sentAt !== undefined);
}

const ITEM_STATE_TEXTS: Readonly<Record<OrderItem['state'], string>> = {
  WAITING: 'Waiting',
  SENT: 'Sent, no response yet',
  SUCCEEDED: 'Done',
  FAILED: 'Failed',
  UNKNOWN: 'Unknown',
};

/** ` for 2 of 3 names`, if the outcomes differ. */
export function formatOutcomeShare({ state, items }: Order): string {
  const matchingCount = items.filter((item) => item.state === state).length;
  return items.length > 1 && matchingCount > 0 && matchingCount < items.length
    ? ` for ${matchingCount} of ${formatCount(items.length, 'name')}`
    : '';
}

/** Whether the bot's own summary would only repeat the state and the service's text. */
function isSummaryRedundant(state: OrderItem['state'], result: ItemResult, response: string): boolean {
  if (result.resolvedBy !== undefined) return false;
  return state === 'SUCCEEDED' || (state === 'FAILED' && result.errorKind === 'refused' && response !== '');
}

/** Describes an answer that arrived after the order had ended. */
function formatLateAnswer(isConfirmed: boolean, lateOutcome: NonNullable<ItemResult['lateOutcome']>): string {
  if (isConfirmed) return 'The service confirmed it later.';
  if (lateOutcome === 'UNKNOWN') return 'That request got no response, so it may have been carried out.';
  return `The service said later that it ${lateOutcome === 'SUCCEEDED' ? 'was' : 'wasn’t'} carried out.`;
}

/** An answer may contain any number of messages. */
const MAX_SHOWN_MESSAGES = 5;

function formatSummary({
  state,
  attempts,
  result: { summary, stoppedBy },
}: Pick<OrderItem, 'state' | 'attempts'> & { readonly result: ItemResult }): string {
  if (stoppedBy === undefined || state === 'SENT') return escapeExceptCode(summaryText(summary));
  return state === 'FAILED'
    ? `Stopped by ${mention(stoppedBy)} before it was sent${attempts > 0 ? ' again' : ''}.`
    : `${escapeExceptCode(summaryText(summary))} Stopped by ${mention(stoppedBy)}.`;
}

/** The bot's summary, unless it is redundant, followed by the service's response. */
export function resultLines({ state, attempts, result }: OrderItem): string[] {
  if (result === undefined) return [];
  const codeAndText = dropMissing([
    result.code !== undefined && code(result.code),
    result.text !== undefined && result.text !== '' && escapeLine(result.text, 500),
  ]).join(' ');
  const stidMarkup = result.stid === undefined ? undefined : code(result.stid);
  const response = [codeAndText, formatKind(result.type), stidMarkup].filter(Boolean).join(' · ');
  const messages = result.messages ?? [];
  return dropMissing([
    !isSummaryRedundant(state, result, response) && formatSummary({ state, attempts, result }),
    result.lateOutcome !== undefined && formatLateAnswer(result.lateOutcome === state, result.lateOutcome),
    response !== '' && `The service says: ${response}`,
    ...messages.slice(0, MAX_SHOWN_MESSAGES).map((message) => `• ${messageLine(message)}`),
    messages.length > MAX_SHOWN_MESSAGES &&
      `• and ${formatCount(messages.length - MAX_SHOWN_MESSAGES, 'message')} more`,
  ]);
}

/** Limits the service's text in results of one line. */
const MAX_RESPONSE_LENGTH = 80;

/** One short line, in the service's words or the bot's. */
export function briefResultText(item: OrderItem): string {
  const { code: statusCode, text } = item.result ?? {};
  const response = dropMissing([
    statusCode !== undefined && code(statusCode),
    text !== undefined && text !== '' && `“${escapeLine(text, MAX_RESPONSE_LENGTH)}”`,
  ]).join(' ');
  return response === '' || item.state === 'UNKNOWN'
    ? truncateMarkup(resultLines(item)[0] ?? '', MAX_RESPONSE_LENGTH)
    : response;
}

/** The label names the order for screen readers. It starts with the visible text, for voice control. */
export function orderButton(
  order: Order,
  actionId: string,
  text: string,
  style?: 'primary' | 'danger',
): Button {
  const label = `${text}: ${orderTitle(order)}`;
  return button(actionId, text, order.id, { style, label });
}

export function receiptButton(order: Order): Button {
  return orderButton(order, 'order_receipt', 'Receipt');
}

export function orderDetailsButton(order: Order, style?: 'primary'): Button {
  return orderButton(order, 'order_look', style === 'primary' ? 'Look at it' : 'Details', style);
}

/**
 * The buttons for approvers of a pending order.
 * @param isFullyShown whether everything that is sent is visible; if not, *Details* has the Approve button
 */
export function decisionButtons(order: Order, isFullyShown: boolean): Button[] {
  if (needsSignatures(order.requirements)) {
    // The signing page shows everything.
    return [
      orderButton(order, 'order_sign', 'Sign', 'primary'),
      orderButton(order, 'order_deny', 'Deny', 'danger'),
    ];
  }
  return [
    isFullyShown
      ? orderButton(order, 'order_approve', 'Approve', 'primary')
      : orderDetailsButton(order, 'primary'),
    orderButton(order, 'order_deny', 'Deny', 'danger'),
  ];
}

/** The Approve button next to Sign, for people whose approval needs no signature. */
export function unsignedApproveButton(order: Order): Button | undefined {
  const acceptsBothKinds =
    needsSignatures(order.requirements) && acceptsUnsignedApprovals(order.requirements);
  return acceptsBothKinds ? orderButton(order, 'order_approve', 'Approve') : undefined;
}

/** Shown while requests are still to be sent or retried. */
export function stopButtons(order: Order): Button[] {
  const isRunning = order.state === 'APPROVED' || order.state === 'EXECUTING';
  if (!isRunning || findWaitingItems(order).length === 0) return [];
  return [orderButton(order, 'order_stop', 'Stop', 'danger')];
}

/**
 * Shown if failed items can be requested again.
 * @param now if undefined, the time limit for retries is ignored
 */
export function retryButtons(order: Order, now?: Date): Button[] {
  if (order.state !== 'FAILED' || hasRowSecrets(order) || findRetryableItems(order).length === 0) return [];
  if (now !== undefined && isRetryExpired(order, now)) return [];
  return [orderButton(order, 'order_retry', 'Retry')];
}

export function resolveButtons(order: Order): Button[] {
  return [
    orderButton(order, 'order_resolve_done', 'Mark as done'),
    orderButton(order, 'order_resolve_failed', 'Mark as failed'),
  ];
}

const MAX_SENT_REQUEST_LINES = 20;

/** For each unknown outcome, the client transaction ID of the request and when it was sent. */
export function sentRequestLines(order: Order): string[] {
  const isXml = usesXml(order);
  const unknownItems = order.items.filter(({ state }) => state === 'UNKNOWN');
  const hiddenCount = unknownItems.length - MAX_SENT_REQUEST_LINES;
  return dropMissing([
    ...unknownItems.slice(0, MAX_SENT_REQUEST_LINES).map(({ name, ctid, sentAt }) => {
      const transactionText = isXml
        ? 'no client transaction ID (XML)'
        : `client transaction ID ${code(ctid)}`;
      const prefix = order.items.length > 1 ? `${escapeText(formatItemName(order, name))}: ` : '';
      const sentText = sentAt === undefined ? '' : `, sent ${formatLocalTime(sentAt)}`;
      return `${prefix === '' ? capitalize(transactionText) : `${prefix}${transactionText}`}${sentText}`;
    }),
    hiddenCount > 0 && `The audit log has ${hiddenCount} more.`,
  ]);
}

const MAX_HINTS = 50;

/** Public records about unknown outcomes, for the person who settles them. */
export function hintLines(order: Order): string[] {
  const hints = order.items.flatMap(({ state, name, result }) => {
    const hint = state === 'UNKNOWN' ? result?.hint : undefined;
    if (hint === undefined) return [];
    const prefix = order.items.length > 1 ? `${escapeText(formatItemName(order, name))}: ` : '';
    return [
      `• ${prefix}${escapeExceptCode(formatRecordFinding(hint.seen))} Source: ${code(hint.source)}, ${formatLocalTime(new Date(hint.seenAt))}.`,
    ];
  });
  if (hints.length === 0) return [];
  const hiddenCount = hints.length - MAX_HINTS;
  return dropMissing([
    '*Public records (not proof)*',
    ...hints.slice(0, MAX_HINTS),
    hiddenCount > 0 && `The audit log has ${hiddenCount} more.`,
  ]);
}

/** Like {@link hintLines}, but says so if there are no hints. */
export function publicRecordLines(order: Order): string[] {
  const hints = hintLines(order);
  return hints.length > 0 ? hints : ['I found nothing conclusive in public records.'];
}

function shortStateText(order: Order): string {
  if (isPaused(order)) return 'paused until someone resumes or stops it';
  if (isWaitingForSendTime(order)) return 'approved and scheduled';
  if (order.task === 'mandate' && order.state === 'SUCCEEDED') return stateText(order).toLowerCase();
  return isOnlyAccepted(order, order.state) ? 'accepted' : STATES[order.state].shortText;
}

export function orderLine(order: Order): string {
  return `${stateIcon(order)} ${code(order.id)} *${escapeText(orderTitle(order))}*: ${shortStateText(order)}, requested by ${mention(order.requesterId)} ${formatLocalTime(order.createdAt)}`;
}

export function orderLineWithTimes(order: Order): string {
  const { state, expiresAt } = order;
  const deadlineText =
    state === 'PENDING' && expiresAt !== undefined ? ` · until ${formatLocalTime(expiresAt)}` : '';
  const sendTime = findUpcomingSendTime(order);
  const sendTimePrefix = isWaitingForSendTime(order) ? ' for' : ' · scheduled for';
  const sendTimeText = sendTime === undefined ? '' : `${sendTimePrefix} ${formatLocalTime(sendTime)}`;
  return `${stateIcon(order)} ${code(order.id)} *${escapeText(orderTitle(order))}*: ${shortStateText(order)}${sendTimeText}${deadlineText}`;
}

const buildSendTimeCell = (order: Order) => {
  const time = findUpcomingSendTime(order);
  return time === undefined ? '' : { moment: time };
};

export function ordersTable(caption: string, orders: readonly Order[]): DataTableBlock {
  const hasSendTime = orders.some((order) => findUpcomingSendTime(order) !== undefined);
  return table({
    caption,
    columns: [
      'Order',
      'Task',
      'Status',
      'Requested by',
      'Requested',
      ...(hasSendTime ? ['Scheduled for'] : []),
    ],
    rows: orders.map((order) => [
      order.id,
      orderTitle(order),
      shortStateText(order),
      { person: order.requesterId },
      { moment: order.createdAt },
      ...(hasSendTime ? [buildSendTimeCell(order)] : []),
    ]),
  });
}
