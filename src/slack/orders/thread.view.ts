import type { SectionBlock } from '@slack/types';
import { formatAccountName } from '../../accounts/account.ts';
import { dropMissing, groupBy } from '../../lib/collections.ts';
import { EVIDENCE, getAccountOwner, type Order, type OrderItem } from '../../orders/order.ts';
import type { AnyOrderLogEntry, OrderLogEntry } from '../../orders/order-events.ts';
import type { ReopenReason } from '../../orders/summary.ts';
import { findTask } from '../../orders/tasks.ts';
import { isGenericZone } from '../../zones/rules.ts';
import {
  approverNameInSentence,
  findLastProgress,
  findValidApprovers,
  hasPolicyRule,
  missingApprovalLines,
} from '../approvals/decision.view.ts';
import { emergencyReply, signedOffReply } from '../approvals/emergency.view.ts';
import { isMixed, pausedReply, tallyText } from '../bulk/bulk.view.ts';
import {
  actions,
  addMenu,
  button,
  capitalize,
  code,
  count,
  escapeExceptCode,
  escapeText,
  formatLocalTime,
  joinAtMost,
  lineSections,
  type Message,
  mention,
  message,
  moreMenu,
  quote,
  removeMarkup,
  section,
  textMessage,
  truncateMarkup,
} from '../kit/blocks.ts';
import { BUTTON_ROW_LINES, countPhoneLines, cutToLines, fitLines, MAX_LINES } from '../kit/phone.ts';
import { isReportedByInForceMessage } from '../mandates/mandate.view.ts';
import { formatList } from '../names/facts.view.ts';
import { answerButtons, otherObjectLines } from './answer.view.ts';
import {
  approverList,
  briefResult,
  canApproveText,
  findLapsedApprovals,
  formatLapsed,
  formatOutcomeShare,
  type HistoryEvent,
  type HistoryEventOf,
  isOnlyAccepted,
  itemName,
  itemStateText,
  NOBODY_NOTIFIED,
  type NotifiedPeople,
  needsMoreApprovals,
  newExpiryTexts,
  nextStepTexts,
  notifiedText,
  orderTitle,
  reasonSuffix,
  resolveButtons,
  resultLines,
  retryButtons,
  STATES,
  usesXml,
} from './order.view.ts';
import { formatRecordFinding } from './record-finding.view.ts';
import { reopenReasonText, retryReasonText, summaryText, unknownOutcomeText } from './summary.view.ts';

/* Replies in the thread of an order, and the order's history. */

/** The reply to an event; undefined if the card is enough. */
export function orderReply(
  order: Order,
  event: HistoryEvent,
  approvers: readonly string[],
  now?: Date,
  notified: NotifiedPeople = NOBODY_NOTIFIED,
): Message | undefined {
  switch (event.kind) {
    case 'requested':
      return retriedReply(order, event);
    case 'approved':
      return needsMoreApprovals(event) ? approvedReply(order, event) : lastApprovalReply(event);
    case 'emergency_approved':
      return emergencyReply(order, event, notified);
    case 'signed_off':
      return signedOffReply(order, event);
    case 'asked':
      return askedReply(order, event);
    case 'reopened':
      return buildReply(
        order,
        ':hourglass_flowing_sand:',
        ` wasn’t sent at the scheduled time${isOnlyLate(event.reasons) ? '' : `, because ${reopenReasonText(event.reasons)}`}. Earlier approvals no longer count. ${approverList(approvers)}: check the card and approve it again.`,
        order.requesterId,
      );
    case 'escalated':
      return escalatedReply(order, event, approvers, notified);
    case 'denied':
    case 'cancelled':
    case 'expired':
      return endedReply(order, event);
    case 'reminded':
      return buildReply(
        order,
        ':bell:',
        ` is still waiting for approval. ${approverList(approvers)}: it’s also on my Home tab.`,
      );
    case 'stopped':
      return stoppedReply(order, event);
    case 'paused':
      return pausedReply(order, event.pause, orderTitle(order), approverList(approvers));
    case 'resumed':
      return buildReply(order, ':arrow_forward:', ` was resumed by ${mention(event.actor)}.`);
    case 'resolved':
      return resolvedReply(order, event, approvers, now);
    case 'answered_late':
      return lateReply(order, event, approvers);
    case 'confirmed_by_registry':
      return registryConfirmedReply(order, event);
    case 'overdue':
      return overdueReply(order, event);
    case 'delegation_seen':
      return delegationReply(order, event);
    case 'finished':
      return finishedReply(order, event, approvers, now);
    default:
      return undefined;
  }
}

/** The reason “late” isn't shown, because the reply already says that the scheduled time has passed. */
function isOnlyLate(reasons: readonly ReopenReason[]): boolean {
  return reasons.every((reason) => reason === 'late');
}

function endedReply(order: Order, event: HistoryEventOf<'denied' | 'cancelled' | 'expired'>): Message {
  const { requesterId } = order;
  if (event.kind === 'cancelled')
    return buildReply(
      order,
      STATES.CANCELLED.icon,
      ` was canceled by ${mention(requesterId)}. Nothing was sent.`,
    );
  if (event.kind === 'denied') {
    const replyText = ` was denied by ${mention(event.actor)}${reasonSuffix(event)}. Nothing was sent.`;
    return buildReply(order, STATES.DENIED.icon, replyText, requesterId);
  }
  const replyText =
    event.state === 'EXPIRED'
      ? ' wasn’t approved in time. Nothing was sent. Request it again if you still need it.'
      : ' wasn’t resumed in time. The rest won’t be sent.';
  return buildReply(order, STATES.EXPIRED.icon, replyText, requesterId);
}

/** Lock screens show a reply without its thread, so the reply starts with the order. */
export function startWithTitle(order: Order, { text, blocks }: Message): Message {
  const titles = (['to do', 'done'] as const).map((tense) =>
    removeMarkup(escapeText(orderTitle(order, tense))),
  );
  const isNamed = [...titles, ...order.items.map(({ name }) => itemName(order, name))].some((name) =>
    text.startsWith(name),
  );
  return { text: isNamed ? text : `${titles[0]}: ${text}`, blocks };
}

/**
 * A sentence that starts with the order, because lock screens show little more.
 * @param replyText continues after the title, so it starts with a space or a colon
 * @param recipientId mentioned first
 */
function buildReply(order: Order, icon: string, replyText: string, recipientId?: string): Message {
  const prefix = recipientId === undefined ? '' : `${mention(recipientId)}: `;
  return textMessage(`${icon} ${prefix}*${escapeText(orderTitle(order))}*${replyText}`);
}

const SYSTEM = 'system';

/** Tells the owner of the account that another person has retried the order. */
function retriedReply(order: Order, event: HistoryEvent): Message | undefined {
  const owner = getAccountOwner(order);
  if (order.retryOf === undefined || owner === order.requesterId) return undefined;
  const approvalText =
    event.state === 'APPROVED'
      ? 'It needs no approval.'
      : 'Someone else has to approve it, because neither of you can.';
  const accountText = order.account.isTeamAccount === true ? 'the team’s' : 'your';
  return buildReply(
    order,
    ':repeat:',
    `: ${mention(order.requesterId)} retried the failed order ${code(order.retryOf)} with ${accountText} account ${code(formatAccountName(order.account))}. The new order is ${code(order.id)}. ${approvalText}`,
    owner,
  );
}

/** Says that the rest of an order won't be sent. If that ends the order, the final reply says it. */
function stoppedReply(order: Order, event: HistoryEventOf<'stopped'>): Message | undefined {
  if (STATES_FROM_ITEMS.has(event.state)) return undefined;
  const { names } = event;
  const namesText = names.length < order.items.length ? ` Not sent: ${formatNames(order, names)}.` : '';
  const stopText = ` was stopped by ${mention(event.actor)}.`;
  const buildStopReply = (replyText: string) =>
    buildReply(order, STATES.CANCELLED.icon, replyText, order.requesterId);
  if (event.state === 'CANCELLED' && event.actor === SYSTEM)
    return buildStopReply(`: ${escapeExceptCode(summaryText(event.summary))}`);
  if (event.state === 'CANCELLED')
    return buildStopReply(
      order.items.some(({ attempts }) => attempts > 0)
        ? `${stopText} The service refused the earlier requests, so nothing was carried out.`
        : `${stopText} Nothing was sent.`,
    );
  return buildStopReply(
    event.actor === SYSTEM
      ? `: ${escapeExceptCode(summaryText(event.summary))}${namesText}`
      : `${stopText}${namesText} Requests already sent continue.`,
  );
}

/** States that result from the items' outcomes. The final reply lists the outcomes. */
const STATES_FROM_ITEMS: ReadonlySet<Order['state']> = new Set(['SUCCEEDED', 'FAILED', 'UNKNOWN']);

function formatNames(order: Order, names: readonly string[]): string {
  return truncateMarkup(names.map((name) => `*${escapeText(itemName(order, name))}*`).join(', '), 1_000);
}

function askedReply(order: Order, event: HistoryEventOf<'asked'>): Message {
  return buildReply(
    order,
    ':speech_balloon:',
    `: ${mention(event.actor)} asks: “${quote(event.question, 2_000)}” ${order.isPrivate ? `Send ${mention(event.actor)} a direct message` : 'Reply here'}. The approval deadline was reset.`,
    order.requesterId,
  );
}

function escalatedReply(
  order: Order,
  { to, toAdmins }: HistoryEventOf<'escalated'>,
  approvers: readonly string[],
  notified: NotifiedPeople,
): Message {
  const escalationText =
    to.length > 0 ? ` Escalated to ${approverList(to)}.` : toAdmins ? ' Escalated to the admins.' : '';
  const isOnlyMentioned = !toAdmins && notified.reached.length + notified.delayed.length === 0;
  const notifiedSentence = isOnlyMentioned ? '' : `${notifiedText(notified)} `;
  return buildReply(
    order,
    ':mega:',
    ` is still waiting for approval.${escalationText} ${notifiedSentence}Requested by ${mention(order.requesterId)}.${canApproveText(approvers)}`,
  );
}

/** The card doesn't show approvers' comments or whether the impact was unknown. */
function lastApprovalReply(event: HistoryEventOf<'approved'>): Message | undefined {
  const impactNote = unknownImpactText(event);
  return reasonSuffix(event) === '' && impactNote === ''
    ? undefined
    : textMessage(
        `:ballot_box_with_check: ${approverNameInSentence(event.actor, [event])} approved${reasonSuffix(event)}.${impactNote}`,
      );
}

function unknownImpactText({ isImpactUnknown }: HistoryEventOf<'approved'>): string {
  return isImpactUnknown === true ? ' The impact wasn’t known yet.' : '';
}

function approvedReply(order: Order, event: HistoryEventOf<'approved'>): Message {
  const lapsedApprovals = findLapsedApprovals([event]);
  const progress = findLastProgress([event]);
  const givenCount = findValidApprovers([event]).length;
  const needed = progress?.requirements[0]?.needed ?? order.approvalsRequired;
  const missingCount = Math.max(needed - givenCount, 1);
  const remedy = lapsedApprovals.isUncertain
    ? 'click *Approve* again in a minute'
    : 'only current approvers count';
  const lapsedText =
    lapsedApprovals.userIds.length === 0 ? '' : ` ${formatLapsed(lapsedApprovals)}: ${remedy}.`;
  const neededText =
    progress !== undefined && hasPolicyRule(progress.requirements)
      ? `Still needed: ${missingApprovalLines(progress).join('; ')}.`
      : `${count(missingCount, 'more approval')} ${missingCount === 1 ? 'is' : 'are'} needed.`;
  const stricterText =
    progress?.isStricter === true ? ' The requirements have become stricter since it was requested.' : '';
  return textMessage(
    `:ballot_box_with_check: ${approverNameInSentence(event.actor, [event])} approved${reasonSuffix(event)}.${lapsedText} ${neededText}${stricterText}${unknownImpactText(event)}`,
  );
}

function resolvedReply(
  order: Order,
  event: HistoryEventOf<'resolved'>,
  approvers: readonly string[],
  now: Date | undefined,
): Message {
  const outcome = event.outcome === 'SUCCEEDED' ? 'done' : 'failed';
  const resolvedText =
    event.actor === EVIDENCE && event.seen !== undefined
      ? `I marked this as ${outcome}. ${escapeText(formatRecordFinding(event.seen))}`
      : `${mention(event.actor)} marked this as ${outcome}${reasonSuffix(event)}.`;
  return outcomeReply(
    order,
    STATES[event.state].icon,
    `${resolvedTitle(order, event)}: ${resolvedText}`,
    approvers,
    now,
  );
}

/** Names the items if the outcome was entered for only some of them. */
function resolvedTitle(order: Order, { ctids }: HistoryEventOf<'resolved'>): string {
  const settledItems = order.items.filter(({ ctid }) => ctids.includes(ctid));
  const title = `*${escapeText(orderTitle(order))}*`;
  if (settledItems.length === 0 || settledItems.length === order.items.length) return title;
  const names = formatNames(
    order,
    settledItems.map(({ name }) => name),
  );
  return `${names} (${escapeText(orderTitle(order))})`;
}

/** Says that the registry shows the result of an accepted task. */
function registryConfirmedReply(order: Order, { name }: HistoryEventOf<'confirmed_by_registry'>): Message {
  const nameText = escapeText(itemName(order, name));
  return buildReply(
    order,
    ':white_check_mark:',
    `: the registry’s public record now shows this for ${nameText}.`,
    order.requesterId,
  );
}

/** Says that the registry still doesn't show the result of an accepted task. */
function overdueReply(order: Order, event: HistoryEventOf<'overdue'>): Message {
  const name = escapeText(itemName(order, event.name));
  const delayText = `${count(event.days, 'day')} after the service accepted the ${order.task}`;
  const replyText =
    order.task === 'restore'
      ? `: the registry still shows ${name} as deleted, ${delayText}. Contact the service now: the name will be lost when its redemption period ends.`
      : `: the registry doesn’t show the transfer of ${name}, ${delayText}. Contact the service; the losing registrar may have refused.`;
  return buildReply(order, ':warning:', replyText, order.requesterId);
}

function delegationReply(order: Order, event: HistoryEventOf<'delegation_seen'>): Message {
  const { name, delegation, hosts, hours } = event;
  const nameText = escapeText(itemName(order, name));
  const isOne = hosts.length === 1;
  const delayText = hours < 1 ? '' : `, ${count(hours, 'hour')} after the change`;
  const [icon, replyText] =
    delegation === 'answering'
      ? [':white_check_mark:', `*${nameText}*: all the new nameservers now answer for it.`]
      : [
          ':warning:',
          `*${nameText}*: ${formatList(hosts)} ${isOne ? 'doesn’t' : 'don’t'} answer for it${delayText}. The website and mail may fail. Set up the name there, or click *Undo* on the card.`,
        ];
  return textMessage(`${icon} ${mention(order.requesterId)}: ${replyText}`);
}

/** Says that the service answered after the order or the item had ended. */
function lateReply(
  order: Order,
  { n, agrees, outcome, resolvedBy }: HistoryEventOf<'answered_late'>,
  approvers: readonly string[],
): Message | undefined {
  const item = order.items.find((candidate) => candidate.n === n);
  if (item === undefined) return undefined;
  const prefix = order.items.length > 1 ? `*${escapeText(itemName(order, item.name))}* of ` : '';
  const title = `${prefix}*${escapeText(orderTitle(order))}*`;
  if (resolvedBy === undefined) return lostReply(order, item, outcome, title, approvers);
  if (agrees) {
    const replyText = `${title}: the service has now responded and confirms the outcome that was entered.`;
    const hasSecret = item.result?.hasSecret === true;
    return message(replyText, [
      section(`:incoming_envelope: ${replyText}`),
      ...actions(`late_${order.id}`, hasSecret ? [revealButton(order)] : []),
    ]);
  }
  const wasDone = outcome === 'SUCCEEDED';
  const lead = `${title}: the service has now responded and contradicts the outcome that was entered.`;
  return message(lead, [
    section(`:rotating_light: ${mention(order.requesterId)}, ${approverList(approvers)}: ${lead}`),
    section(
      `${resolvedBy === EVIDENCE ? 'I' : mention(resolvedBy)} marked it as ${wasDone ? 'failed' : 'done'}${resolvedBy === EVIDENCE ? ', based on the registry’s public record' : ''}. The service says that it ${wasDone ? 'was' : 'wasn’t'} carried out.`,
    ),
    section(itemLine(order, item)),
    section(
      wasDone
        ? 'It can’t be retried anymore, and a pending retry won’t be sent. If a retry was already sent, check with the domain service whether it was done twice.'
        : 'Check with the domain service. Request it again with `/domain` if you still need it.',
    ),
  ]);
}

/** Says that the database lost the record of a sent request. */
function lostReply(
  order: Order,
  item: OrderItem,
  outcome: 'SUCCEEDED' | 'FAILED' | 'UNKNOWN',
  title: string,
  approvers: readonly string[],
): Message {
  const lead = `${title}: my database lost the record of a sent request.`;
  return message(lead, [
    section(`:rotating_light: ${mention(order.requesterId)}, ${approverList(approvers)}: ${lead}`),
    ...lineSections(resultLines(item)),
    section(
      outcome === 'FAILED'
        ? 'That request wasn’t carried out. Check with the domain service before you request it again.'
        : 'Check with the domain service whether it was carried out, and whether it was done twice. If it was requested again meanwhile, deny that order.',
    ),
  ]);
}

function formatActor(actor: string): string {
  return actor === EVIDENCE ? 'based on the registry’s public record' : `by ${mention(actor)}`;
}

function finishedReply(
  order: Order,
  event: HistoryEventOf<'finished'>,
  approvers: readonly string[],
  now: Date | undefined,
): Message | undefined {
  // The reply to the `resolved` event reports the outcome of a settled order.
  const wasSettledLater = event.state === 'UNKNOWN' && order.state !== 'UNKNOWN';
  if (wasSettledLater || event.endingEvent === 'resolved') return undefined;
  // The lines below the heading count the outcomes.
  const hasGroups = order.items.length > 1 && order.state === 'FAILED';
  const isPartial = order.items.some(({ state }) => state === 'SUCCEEDED');
  const heading = hasGroups
    ? `*${escapeText(orderTitle(order))}* ${isPartial ? 'partly failed' : 'failed'}.`
    : undefined;
  return outcomeReply(order, STATES[order.state].icon, formatOutcome(order), approvers, now, heading);
}

/** For example, `*Renewed cafe.rest for 2 years*, until 16 Dec 2028.` */
function formatOutcome(order: Order): string {
  const isDone = order.state === 'SUCCEEDED' && !isOnlyAccepted(order, order.state);
  const title = `*${escapeText(orderTitle(order, isDone ? 'done' : 'to do'))}*`;
  if (isDone)
    return `${title}${['', ...newExpiryTexts(order)].join(', until ')}${formatOutcomeShare(order)}.`;
  const words = isOnlyAccepted(order, order.state)
    ? ': accepted by the service, not done yet'
    : (OUTCOME_WORDS[order.state] ?? `: ${STATES[order.state].line.toLowerCase()}`);
  return `${title}${words}${formatOutcomeShare(order)}.`;
}

/** Follows the title. */
const OUTCOME_WORDS: Partial<Readonly<Record<Order['state'], string>>> = {
  FAILED: ' failed',
  UNKNOWN: ': outcome unknown',
};

function revealButton(order: Order) {
  return button(
    'order_reveal',
    order.task === 'authcode' ? 'Show the auth code once' : 'Show the password once',
    order.id,
    { style: 'primary' },
  );
}

/** For each of the service's texts. The bot's own text isn't truncated. */
const MAX_SERVICE_PHONE_LINES = 2;

/**
 * The outcome and what happens next, short enough to read at a glance. *Details* has the rest.
 * @param heading replaces the lead in the blocks if later lines contain the outcome
 */
function outcomeReply(
  order: Order,
  icon: string,
  lead: string,
  approvers: readonly string[],
  now: Date | undefined,
  heading = lead,
): Message {
  const hasSecret = order.state === 'SUCCEEDED' && order.items.some(({ result }) => result?.hasSecret);
  const otherButtons = dropMissing([
    ...(order.state === 'UNKNOWN' ? resolveButtons(order) : []),
    ...retryButtons(order, now),
    // An answer that couldn't be read doesn't help here. *Details* has its bytes.
    ...(order.items.some(({ result }) => result?.summary.code === 'no_readable_answer')
      ? []
      : answerButtons(order)),
  ]);
  const replyLines = [`${icon} ${mention(order.requesterId)}: ${heading}`, ...summaryLines(order, approvers)];
  const blockId = `result_${order.id}`;
  if (countPhoneLines(replyLines.join('\n')) <= MAX_LINES.reply - BUTTON_ROW_LINES) {
    const buttons = [...(hasSecret ? [revealButton(order)] : []), ...otherButtons];
    return message(lead, [section(...replyLines), ...actions(blockId, buttons)]);
  }
  // A lost request is an alarm, which may be longer.
  const fittedLines = fitLines(replyLines, order.items.some(isLost) ? MAX_LINES.alarm : MAX_LINES.reply);
  // The button for the secret must not be hidden in a menu.
  const firstLines = hasSecret ? fittedLines.slice(0, 1) : [];
  const otherLines = fittedLines.slice(firstLines.length);
  return message(lead, [
    ...firstLines.map((line) => ({ ...section(line), accessory: revealButton(order) })),
    ...(otherLines.length > 0
      ? [addMenu(section(...otherLines), blockId, moreMenu('order_more', otherButtons))]
      : actions(blockId, otherButtons)),
  ]);
}

/** Whether the database lost the record that the request was sent. */
function isLost({ result }: OrderItem): boolean {
  return result?.summary.code === 'sending_lost';
}

const REGISTRANT_TASKS: ReadonlySet<Order['task']> = new Set(['create', 'transfer', 'owner-change']);

/** Registrars must verify registrants in generic zones (ICANN, RAA, Whois Accuracy Program Specification). */
function registrantNote({ task, items }: Order): string | false {
  const needsConfirmation = ({ name, state }: OrderItem) => state === 'SUCCEEDED' && isGenericZone(name);
  return (
    REGISTRANT_TASKS.has(task) &&
    items.some(needsConfirmation) &&
    'The registrant may get a confirmation email. Many registries suspend a name that isn’t confirmed within 15 days.'
  );
}

/** The key facts of a result, most important first. */
function summaryLines(order: Order, approvers: readonly string[]): string[] {
  const [item, ...others] = order.items;
  if (item === undefined || others.length > 0) {
    const fileLines =
      order.bulk === undefined
        ? []
        : [`${isMixed(order) ? `${tallyText(order)}. ` : ''}The file has the result for each name.`];
    const maxLines = order.items.some(isLost) ? MAX_LINES.alarm : MAX_SERVICE_PHONE_LINES;
    const groups = outcomeGroupLines(order, MAX_NAMES_PER_OUTCOME).map((line) => cutToLines(line, maxLines));
    return order.state === 'UNKNOWN'
      ? [settlementHint(order, approvers), ...groups]
      : dropMissing([registrantNote(order), ...groups, ...fileLines]);
  }
  const [first, ...more] = resultLines(item);
  const isUnknown = order.state === 'UNKNOWN';
  const detailLines = [...more, ...otherObjectLines(item)].map((line) =>
    cutToLines(line, MAX_SERVICE_PHONE_LINES),
  );
  return dropMissing([
    ...nextStepTexts(order, item).map(capitalize),
    registrantNote(order),
    // The bot's own sentence isn't truncated, because it says what to do. The lead already says how the order was
    // settled.
    item.result?.summary.code !== 'settled' &&
      ((isUnknown && item.result && unknownOutcomeText(item.result.summary)) || first),
    ...(isLost(item) ? detailLines : []),
    isUnknown && settlementHint(order, approvers),
    ...(isLost(item) ? [] : detailLines),
  ]);
}

/** Names the approvers, who can settle an unknown outcome, and the request's id at the service. */
function settlementHint(order: Order, approvers: readonly string[]): string {
  const [item, ...others] = order.items;
  const unknownCount = order.items.filter(({ state }) => state === 'UNKNOWN').length;
  const [pronoun, object] = unknownCount > 1 ? ['They', 'them'] : ['It', 'it'];
  const subject = item === undefined || others.length > 0 || usesXml(order) ? pronoun : code(item.ctid);
  return `${subject} won’t be sent again automatically. ${approverList(approvers)}: mark ${object} as done or failed.`;
}

const MAX_NAMES_PER_OUTCOME = 3;

function itemLine(order: Order, item: OrderItem): string {
  return `${ITEM_ICONS[item.state]} *${escapeText(itemName(order, item.name))}*: ${itemStateText(order, item).toLowerCase()} · ${briefResult(item)}`;
}

/**
 * One line per group of items with the same outcome, largest group first.
 * @param maxNames the number of names to show per group
 */
export function outcomeGroupLines(order: Order, maxNames: number): string[] {
  // The service may repeat the name in its answer, although the reason is the same.
  const getReasonKey = (item: OrderItem) => briefResult(item).replaceAll(item.name, '');
  // A bulk order's successful rows are only in the result file.
  const states = (['SUCCEEDED', 'UNKNOWN', 'FAILED'] as const).slice(order.bulk === undefined ? 0 : 1);
  return states.flatMap((state) => {
    const items = order.items.filter((item) => item.state === state);
    return [...groupBy(items, getReasonKey).values()]
      .sort((a, b) => b.length - a.length)
      .flatMap((group) => {
        const [first] = group;
        const names = joinAtMost(
          group.map(({ name }) => escapeText(itemName(order, name))),
          maxNames,
        );
        if (first === undefined) return [];
        // Next to failures, successes need no explanation.
        const isStateEnough =
          (state === 'SUCCEEDED' && order.state !== state) || first.result?.summary.code === 'settled';
        const reasonText = isStateEnough ? '' : ` · ${briefResult(first)}`;
        return [`${ITEM_ICONS[state]} *${names}*: ${itemStateText(order, first).toLowerCase()}${reasonText}`];
      });
  });
}

const ITEM_ICONS: Readonly<Record<OrderItem['state'], string>> = {
  WAITING: STATES.PENDING.icon,
  SENT: STATES.EXECUTING.icon,
  SUCCEEDED: STATES.SUCCEEDED.icon,
  FAILED: STATES.FAILED.icon,
  UNKNOWN: STATES.UNKNOWN.icon,
};

const EVENT_WORDS: Readonly<Record<OrderLogEntry['kind'], string>> = {
  requested: 'requested',
  confirmed: 'confirmed',
  approved: 'approved',
  emergency_approved: 'approved by one admin (break glass)',
  signed_off: 'emergency approval signed off',
  denied: 'denied',
  cancelled: 'canceled',
  expired: 'expired',
  reminded: 'approvers reminded',
  escalated: 'escalated',
  asked: 'question asked',
  reopened: 'not sent at the scheduled time, waiting for approval again',
  claimed: 'started',
  sending: 'request sent',
  retry_scheduled: 'not carried out, will retry',
  answered: 'service responded',
  answered_late: 'service responded after the outcome was entered',
  confirmed_by_registry: 'seen at the registry',
  overdue: 'still not visible at the registry',
  delegation_seen: 'checked the new nameservers',
  stopped: 'stopped: the rest won’t be sent',
  contradicted: 'stopped: database and log disagree',
  paused: 'paused: nothing is sent until someone resumes it',
  resumed: 'resumed',
  hinted: 'found in public records:',
  invalidated: 'stopped, because the database was restored or the bot slept',
  released: 'returned to approved',
  resolved: 'marked as done or failed',
  in_force: 'in force',
  mandate_ending: 'ends soon',
  mandate_ended: 'mandate ended',
  finished: 'result:',
};

/** For requests whose record the database had lost. */
const LOST_EVENT_WORDS: Partial<Readonly<Record<OrderLogEntry['kind'], string>>> = {
  answered_late: 'result of a request that the database had lost',
  invalidated: 'stopped, because the database lost that it was sent',
};

function eventWords(entry: OrderLogEntry): string {
  if (entry.kind === 'resolved') return entry.outcome === 'SUCCEEDED' ? 'marked as done' : 'marked as failed';
  const wasLost = entry.kind === 'invalidated' ? 'ctid' in entry : !('resolvedBy' in entry);
  return (wasLost ? LOST_EVENT_WORDS[entry.kind] : undefined) ?? EVENT_WORDS[entry.kind];
}

/** The newest entries are kept. */
const MAX_HISTORY_LENGTH = 5_000;

/** Oldest first. */
export function orderHistory(
  { task }: { readonly task: Order['task'] },
  history: readonly OrderLogEntry[],
): SectionBlock[] {
  const allLines = history
    .filter((entry) => !isReportedByInForceMessage({ task, state: entry.state }, entry))
    .map((entry) => historyLine(task, entry));
  let remaining = MAX_HISTORY_LENGTH;
  const newestLines = allLines.reverse().filter((line) => {
    remaining -= line.length;
    return remaining >= 0;
  });
  const hiddenCount = allLines.length - newestLines.length;
  return lineSections([
    '*History*',
    ...(hiddenCount === 0 ? [] : [`${count(hiddenCount, 'earlier event')} not shown`]),
    ...newestLines.reverse(),
  ]);
}

/** The outcome in a history entry. Tasks that were only accepted aren't shown as done. */
function outcomeText(
  task: Order['task'],
  { kind, state, outcome, endingEvent }: AnyOrderLogEntry,
): string | undefined {
  if (kind === 'resolved') return undefined;
  const endState = outcome ?? (kind === 'finished' ? state : undefined);
  const isAccepted = findTask(task).nextStep !== undefined && endingEvent !== 'resolved';
  return endState === 'SUCCEEDED' && isAccepted ? 'accepted' : endState && STATES[endState].words;
}

function historyLine(task: Order['task'], entry: OrderLogEntry): string {
  const actorText = entry.actor === SYSTEM || entry.kind === 'finished' ? '' : ` ${formatActor(entry.actor)}`;
  const { ctid, question, reason, reasons, seen, hint, retryReason }: AnyOrderLogEntry = entry;
  const quotedText =
    reason ?? (seen && formatRecordFinding(seen)) ?? question ?? (hint && formatRecordFinding(hint));
  const details = [
    ctid && code(ctid),
    outcomeText(task, entry),
    quotedText && `“${quote(quotedText)}”`,
    reasons && `(${reopenReasonText(reasons)})`,
    retryReason && `(${escapeText(retryReasonText(retryReason))})`,
  ].filter(Boolean);
  return `${formatLocalTime(entry.at)}: ${eventWords(entry)}${actorText}${details.length === 0 ? '' : ` ${details.join(' ')}`}`;
}
