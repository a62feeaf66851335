import type { SectionBlock } from '@slack/types';
import { formatAccountName } from '../../accounts/account.ts';
import { dropMissing, groupBy } from '../../lib/collections.ts';
import { EVIDENCE_ACTOR, getAccountOwner, type Order, type OrderItem } from '../../orders/order.ts';
import type { AnyOrderLogEntry, OrderLogEntry } from '../../orders/order-events.ts';
import type { ReopenReason } from '../../orders/summary.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import { isInGenericZone } from '../../zones/rules.ts';
import {
  findLastProgress,
  findValidApprovers,
  formatApproverInSentence,
  hasPolicyRule,
  missingApprovalLines,
} from '../approvals/decision.view.ts';
import { emergencyReply, signedOffReply } from '../approvals/emergency.view.ts';
import { hasMixedStates, pausedReply, tallyText } from '../bulk/bulk.view.ts';
import {
  actions,
  addMenu,
  button,
  capitalize,
  code,
  escapeExceptCode,
  escapeLine,
  escapeText,
  formatCount,
  formatLocalTime,
  joinAtMost,
  lineSections,
  type Message,
  mention,
  message,
  overflowMenu,
  removeMarkup,
  section,
  textMessage,
  truncateMarkup,
} from '../kit/blocks.ts';
import { BUTTON_ROW_LINES, countPhoneLines, fitLines, MAX_LINES, truncateToLines } from '../kit/phone.ts';
import { isReportedByInForceMessage } from '../mandates/mandate.view.ts';
import { formatList } from '../names/facts.view.ts';
import { answerButtons, otherObjectLines } from './answer.view.ts';
import {
  approverListText,
  briefResultText,
  canApproveText,
  findLapsedApprovals,
  formatItemName,
  formatLapsedApprovals,
  formatOutcomeShare,
  type HistoryEvent,
  type HistoryEventOf,
  isOnlyAccepted,
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
  notifiedPeople: NotifiedPeople = NOBODY_NOTIFIED,
): Message | undefined {
  switch (event.kind) {
    case 'requested':
      return retriedReply(order, event);
    case 'approved':
      return needsMoreApprovals(event) ? approvedReply(order, event) : lastApprovalReply(event);
    case 'emergency_approved':
      return emergencyReply(order, event, notifiedPeople);
    case 'signed_off':
      return signedOffReply(order, event);
    case 'asked':
      return askedReply(order, event);
    case 'reopened':
      return buildReply(
        order,
        ':hourglass_flowing_sand:',
        ` wasn’t sent at the scheduled time${isOnlyLate(event.reasons) ? '' : `, because ${reopenReasonText(event.reasons)}`}. Earlier approvals no longer count. ${approverListText(approvers)}: check the card and approve it again.`,
        order.requesterId,
      );
    case 'escalated':
      return escalatedReply(order, event, approvers, notifiedPeople);
    case 'denied':
    case 'cancelled':
    case 'expired':
      return endedReply(order, event);
    case 'reminded':
      return buildReply(
        order,
        ':bell:',
        ` is still waiting for approval. ${approverListText(approvers)}: it’s also on my Home tab.`,
      );
    case 'stopped':
      return stoppedReply(order, event);
    case 'paused':
      return pausedReply(order, event.pause, orderTitle(order), approverListText(approvers));
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

/** Lock screens show a reply without its thread, so the reply starts with the order's title. */
export function startWithTitle(order: Order, { text, blocks }: Message): Message {
  const titles = (['to do', 'done'] as const).map((tense) =>
    removeMarkup(escapeText(orderTitle(order, tense))),
  );
  const startsWithName = [...titles, ...order.items.map(({ name }) => formatItemName(order, name))].some(
    (name) => text.startsWith(name),
  );
  return { text: startsWithName ? text : `${titles[0]}: ${text}`, blocks };
}

/**
 * A sentence that starts with the order's title, because lock screens show little more.
 * @param replyText continues after the title, so it starts with a space or a colon
 * @param recipientId the person to mention first
 */
function buildReply(order: Order, icon: string, replyText: string, recipientId?: string): Message {
  const prefix = recipientId === undefined ? '' : `${mention(recipientId)}: `;
  return textMessage(`${icon} ${prefix}*${escapeText(orderTitle(order))}*${replyText}`);
}

const SYSTEM_ACTOR = 'system';

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

/** Says that the rest of an order won't be sent; undefined if the final reply lists the outcomes. */
function stoppedReply(order: Order, event: HistoryEventOf<'stopped'>): Message | undefined {
  if (OUTCOME_STATES.has(event.state)) return undefined;
  const { names } = event;
  const notSentText = names.length < order.items.length ? ` Not sent: ${formatNames(order, names)}.` : '';
  const stopText = ` was stopped by ${mention(event.actor)}.`;
  const buildStopReply = (replyText: string) =>
    buildReply(order, STATES.CANCELLED.icon, replyText, order.requesterId);
  if (event.state === 'CANCELLED' && event.actor === SYSTEM_ACTOR)
    return buildStopReply(`: ${escapeExceptCode(summaryText(event.summary))}`);
  if (event.state === 'CANCELLED')
    return buildStopReply(
      order.items.some(({ attempts }) => attempts > 0)
        ? `${stopText} The service refused the earlier requests, so nothing was carried out.`
        : `${stopText} Nothing was sent.`,
    );
  return buildStopReply(
    event.actor === SYSTEM_ACTOR
      ? `: ${escapeExceptCode(summaryText(event.summary))}${notSentText}`
      : `${stopText}${notSentText} Requests already sent continue.`,
  );
}

/** States that result from the items' outcomes. The final reply lists the outcomes. */
const OUTCOME_STATES: ReadonlySet<Order['state']> = new Set(['SUCCEEDED', 'FAILED', 'UNKNOWN']);

function formatNames(order: Order, names: readonly string[]): string {
  return truncateMarkup(
    names.map((name) => `*${escapeText(formatItemName(order, name))}*`).join(', '),
    1_000,
  );
}

function askedReply(order: Order, event: HistoryEventOf<'asked'>): Message {
  return buildReply(
    order,
    ':speech_balloon:',
    `: ${mention(event.actor)} asks: “${escapeLine(event.question, 2_000)}” ${order.isPrivate ? `Send ${mention(event.actor)} a direct message` : 'Reply here'}. The approval deadline was reset.`,
    order.requesterId,
  );
}

function escalatedReply(
  order: Order,
  { to, toAdmins }: HistoryEventOf<'escalated'>,
  approvers: readonly string[],
  notifiedPeople: NotifiedPeople,
): Message {
  const escalationText =
    to.length > 0 ? ` Escalated to ${approverListText(to)}.` : toAdmins ? ' Escalated to the admins.' : '';
  const isOnlyMentioned =
    !toAdmins && notifiedPeople.reachedIds.length + notifiedPeople.delayedIds.length === 0;
  const notifiedSentence = isOnlyMentioned ? '' : `${notifiedText(notifiedPeople)} `;
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
        `:ballot_box_with_check: ${formatApproverInSentence(event.actor, [event])} approved${reasonSuffix(event)}.${impactNote}`,
      );
}

function unknownImpactText({ isImpactUnknown }: HistoryEventOf<'approved'>): string {
  return isImpactUnknown === true ? ' The impact wasn’t known yet.' : '';
}

function approvedReply(order: Order, event: HistoryEventOf<'approved'>): Message {
  const lapsedApprovals = findLapsedApprovals([event]);
  const progress = findLastProgress([event]);
  const approvalCount = findValidApprovers([event]).length;
  const neededCount = progress?.requirements[0]?.needed ?? order.approvalsRequired;
  const missingCount = Math.max(neededCount - approvalCount, 1);
  const remedy = lapsedApprovals.isUncertain
    ? 'click *Approve* again in a minute'
    : 'only current approvers count';
  const lapsedText =
    lapsedApprovals.userIds.length === 0 ? '' : ` ${formatLapsedApprovals(lapsedApprovals)}: ${remedy}.`;
  const neededText =
    progress !== undefined && hasPolicyRule(progress.requirements)
      ? `Still needed: ${missingApprovalLines(progress).join('; ')}.`
      : `${formatCount(missingCount, 'more approval')} ${missingCount === 1 ? 'is' : 'are'} needed.`;
  const stricterText =
    progress?.isStricter === true ? ' The requirements have become stricter since it was requested.' : '';
  return textMessage(
    `:ballot_box_with_check: ${formatApproverInSentence(event.actor, [event])} approved${reasonSuffix(event)}.${lapsedText} ${neededText}${stricterText}${unknownImpactText(event)}`,
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
    event.actor === EVIDENCE_ACTOR && event.seen !== undefined
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
  const nameText = escapeText(formatItemName(order, name));
  return buildReply(
    order,
    ':white_check_mark:',
    `: the registry’s public record now shows this for ${nameText}.`,
    order.requesterId,
  );
}

/** Says that the registry still doesn't show the result of an accepted task. */
function overdueReply(order: Order, event: HistoryEventOf<'overdue'>): Message {
  const name = escapeText(formatItemName(order, event.name));
  const delayText = `${formatCount(event.days, 'day')} after the service accepted the ${order.task}`;
  const replyText =
    order.task === 'restore'
      ? `: the registry still shows ${name} as deleted, ${delayText}. Contact the service now: the name will be lost when its redemption period ends.`
      : `: the registry doesn’t show the transfer of ${name}, ${delayText}. Contact the service; the losing registrar may have refused.`;
  return buildReply(order, ':warning:', replyText, order.requesterId);
}

function delegationReply(order: Order, event: HistoryEventOf<'delegation_seen'>): Message {
  const { name, delegation, hosts, hours } = event;
  const nameText = escapeText(formatItemName(order, name));
  const isSingleHost = hosts.length === 1;
  const delayText = hours < 1 ? '' : `, ${formatCount(hours, 'hour')} after the change`;
  const [icon, replyText] =
    delegation === 'answering'
      ? [':white_check_mark:', `*${nameText}*: all the new nameservers now answer for it.`]
      : [
          ':warning:',
          `*${nameText}*: ${formatList(hosts)} ${isSingleHost ? 'doesn’t' : 'don’t'} answer for it${delayText}. The website and mail may fail. Set up the name there, or click *Undo* on the card.`,
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
  const prefix = order.items.length > 1 ? `*${escapeText(formatItemName(order, item.name))}* of ` : '';
  const title = `${prefix}*${escapeText(orderTitle(order))}*`;
  if (resolvedBy === undefined) return lostRequestReply(order, item, outcome, title, approvers);
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
    section(`:rotating_light: ${mention(order.requesterId)}, ${approverListText(approvers)}: ${lead}`),
    section(
      `${resolvedBy === EVIDENCE_ACTOR ? 'I' : mention(resolvedBy)} marked it as ${wasDone ? 'failed' : 'done'}${resolvedBy === EVIDENCE_ACTOR ? ', based on the registry’s public record' : ''}. The service says that it ${wasDone ? 'was' : 'wasn’t'} carried out.`,
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
function lostRequestReply(
  order: Order,
  item: OrderItem,
  outcome: 'SUCCEEDED' | 'FAILED' | 'UNKNOWN',
  title: string,
  approvers: readonly string[],
): Message {
  const lead = `${title}: my database lost the record of a sent request.`;
  return message(lead, [
    section(`:rotating_light: ${mention(order.requesterId)}, ${approverListText(approvers)}: ${lead}`),
    ...lineSections(resultLines(item)),
    section(
      outcome === 'FAILED'
        ? 'That request wasn’t carried out. Check with the domain service before you request it again.'
        : 'Check with the domain service whether it was carried out, and whether it was done twice. If it was requested again meanwhile, deny that order.',
    ),
  ]);
}

function formatActor(actor: string): string {
  return actor === EVIDENCE_ACTOR ? 'based on the registry’s public record' : `by ${mention(actor)}`;
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
  // The lines below the heading list the outcomes, so the heading doesn't count them.
  const hasOutcomeGroups = order.items.length > 1 && order.state === 'FAILED';
  const isPartial = order.items.some(({ state }) => state === 'SUCCEEDED');
  const heading = hasOutcomeGroups
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
    : (OUTCOME_WORDS[order.state] ?? `: ${STATES[order.state].fullText.toLowerCase()}`);
  return `${title}${words}${formatOutcomeShare(order)}.`;
}

/** Appended to the order's title. */
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

/** Limits each text from the service, as shown on a phone. The bot's own text isn't truncated. */
const MAX_SERVICE_TEXT_LINES = 2;

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
    // The bytes of an unreadable answer don't help here. `/domain order` has the button that shows them.
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
  const fittedLines = fitLines(
    replyLines,
    order.items.some(isRequestLost) ? MAX_LINES.alarm : MAX_LINES.reply,
  );
  // The button for the secret must not be hidden in a menu.
  const firstLines = hasSecret ? fittedLines.slice(0, 1) : [];
  const otherLines = fittedLines.slice(firstLines.length);
  return message(lead, [
    ...firstLines.map((line) => ({ ...section(line), accessory: revealButton(order) })),
    ...(otherLines.length > 0
      ? [addMenu(section(...otherLines), blockId, overflowMenu('order_more', otherButtons))]
      : actions(blockId, otherButtons)),
  ]);
}

/** Whether the database lost the record that the request was sent. */
function isRequestLost({ result }: OrderItem): boolean {
  return result?.summary.code === 'sending_lost';
}

const REGISTRANT_TASKS: ReadonlySet<Order['task']> = new Set(['create', 'transfer', 'owner-change']);

/** Registrars must verify registrants in generic zones (ICANN's Whois Accuracy Program Specification). */
function registrantNote({ task, items }: Order): string | false {
  const needsConfirmation = ({ name, state }: OrderItem) => state === 'SUCCEEDED' && isInGenericZone(name);
  return (
    REGISTRANT_TASKS.has(task) &&
    items.some(needsConfirmation) &&
    'The registrant may get a confirmation email. Many registries suspend a name that isn’t confirmed within 15 days.'
  );
}

/** The key facts of a result, most important first. */
function summaryLines(order: Order, approvers: readonly string[]): string[] {
  const [item, ...otherItems] = order.items;
  if (item === undefined || otherItems.length > 0) {
    const fileLines =
      order.bulk === undefined
        ? []
        : [`${hasMixedStates(order) ? `${tallyText(order)}. ` : ''}The file has the result for each name.`];
    const maxLines = order.items.some(isRequestLost) ? MAX_LINES.alarm : MAX_SERVICE_TEXT_LINES;
    const groupLines = outcomeGroupLines(order, MAX_NAMES_PER_OUTCOME).map((line) =>
      truncateToLines(line, maxLines),
    );
    return order.state === 'UNKNOWN'
      ? [settlementHint(order, approvers), ...groupLines]
      : dropMissing([registrantNote(order), ...groupLines, ...fileLines]);
  }
  const [firstLine, ...moreLines] = resultLines(item);
  const isUnknown = order.state === 'UNKNOWN';
  const detailLines = [...moreLines, ...otherObjectLines(item)].map((line) =>
    truncateToLines(line, MAX_SERVICE_TEXT_LINES),
  );
  return dropMissing([
    ...nextStepTexts(order, item).map(capitalize),
    registrantNote(order),
    // The bot's own sentence says what to do, so it isn't truncated. The lead already covers settled orders.
    item.result?.summary.code !== 'settled' &&
      ((isUnknown && item.result && unknownOutcomeText(item.result.summary)) || firstLine),
    ...(isRequestLost(item) ? detailLines : []),
    isUnknown && settlementHint(order, approvers),
    ...(isRequestLost(item) ? [] : detailLines),
  ]);
}

/** Names the approvers, who can settle an unknown outcome, and the request's id at the service. */
function settlementHint(order: Order, approvers: readonly string[]): string {
  const [item, ...otherItems] = order.items;
  const unknownCount = order.items.filter(({ state }) => state === 'UNKNOWN').length;
  const [subjectPronoun, objectPronoun] = unknownCount > 1 ? ['They', 'them'] : ['It', 'it'];
  const subject =
    item === undefined || otherItems.length > 0 || usesXml(order) ? subjectPronoun : code(item.ctid);
  return `${subject} won’t be sent again automatically. ${approverListText(approvers)}: mark ${objectPronoun} as done or failed.`;
}

const MAX_NAMES_PER_OUTCOME = 3;

function itemLine(order: Order, item: OrderItem): string {
  return `${ITEM_ICONS[item.state]} *${escapeText(formatItemName(order, item.name))}*: ${itemStateText(order, item).toLowerCase()} · ${briefResultText(item)}`;
}

/**
 * One line per group of items with the same outcome, largest group first.
 * @param maxNames the number of names to show per group
 */
export function outcomeGroupLines(order: Order, maxNames: number): string[] {
  // Ignores the name, which the service may repeat in its answer.
  const getReasonKey = (item: OrderItem) => briefResultText(item).replaceAll(item.name, '');
  // A bulk order's successful rows are only in the result file.
  const states = (['SUCCEEDED', 'UNKNOWN', 'FAILED'] as const).slice(order.bulk === undefined ? 0 : 1);
  return states.flatMap((state) => {
    const items = order.items.filter((item) => item.state === state);
    return [...groupBy(items, getReasonKey).values()]
      .sort((a, b) => b.length - a.length)
      .flatMap((group) => {
        const [firstItem] = group;
        const names = joinAtMost(
          group.map(({ name }) => escapeText(formatItemName(order, name))),
          maxNames,
        );
        if (firstItem === undefined) return [];
        // Next to failures, successes need no explanation.
        const isStateEnough =
          (state === 'SUCCEEDED' && order.state !== state) || firstItem.result?.summary.code === 'settled';
        const reasonText = isStateEnough ? '' : ` · ${briefResultText(firstItem)}`;
        return [
          `${ITEM_ICONS[state]} *${names}*: ${itemStateText(order, firstItem).toLowerCase()}${reasonText}`,
        ];
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

/** Used for requests whose record the database had lost. */
const LOST_EVENT_WORDS: Partial<Readonly<Record<OrderLogEntry['kind'], string>>> = {
  answered_late: 'result of a request that the database had lost',
  invalidated: 'stopped, because the database lost that it was sent',
};

function eventWords(entry: OrderLogEntry): string {
  if (entry.kind === 'resolved') return entry.outcome === 'SUCCEEDED' ? 'marked as done' : 'marked as failed';
  const wasRecordLost = entry.kind === 'invalidated' ? 'ctid' in entry : !('resolvedBy' in entry);
  return (wasRecordLost ? LOST_EVENT_WORDS[entry.kind] : undefined) ?? EVENT_WORDS[entry.kind];
}

/** In characters. The oldest entries are left out. */
const MAX_HISTORY_LENGTH = 5_000;

/** Shows the oldest entry first. */
export function orderHistory(
  { task }: { readonly task: Order['task'] },
  history: readonly OrderLogEntry[],
): SectionBlock[] {
  const allLines = history
    .filter((entry) => !isReportedByInForceMessage({ task, state: entry.state }, entry))
    .map((entry) => historyLine(task, entry));
  let remainingLength = MAX_HISTORY_LENGTH;
  const newestLines = allLines.reverse().filter((line) => {
    remainingLength -= line.length;
    return remainingLength >= 0;
  });
  const hiddenCount = allLines.length - newestLines.length;
  return lineSections([
    '*History*',
    ...(hiddenCount === 0 ? [] : [`${formatCount(hiddenCount, 'earlier event')} not shown`]),
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
  const isAccepted = getOrderTask(task).nextStep !== undefined && endingEvent !== 'resolved';
  return endState === 'SUCCEEDED' && isAccepted ? 'accepted' : endState && STATES[endState].shortText;
}

function historyLine(task: Order['task'], entry: OrderLogEntry): string {
  const actorText =
    entry.actor === SYSTEM_ACTOR || entry.kind === 'finished' ? '' : ` ${formatActor(entry.actor)}`;
  const { ctid, question, reason, reasons, seen, hint, retryReason }: AnyOrderLogEntry = entry;
  const quotedText =
    reason ?? (seen && formatRecordFinding(seen)) ?? question ?? (hint && formatRecordFinding(hint));
  const details = [
    ctid && code(ctid),
    outcomeText(task, entry),
    quotedText && `“${escapeLine(quotedText)}”`,
    reasons && `(${reopenReasonText(reasons)})`,
    retryReason && `(${escapeText(retryReasonText(retryReason))})`,
  ].filter(Boolean);
  return `${formatLocalTime(entry.at)}: ${eventWords(entry)}${actorText}${details.length === 0 ? '' : ` ${details.join(' ')}`}`;
}
