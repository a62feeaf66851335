import type { SectionBlock } from '@slack/types';
import { isDemoContext } from '../../accounts/account.ts';
import type { PendingRequirements } from '../../approvals/approvers.ts';
import type { Briefing, DraftBriefing } from '../../approvals/briefing.ts';
import { dropMissing } from '../../lib/collections.ts';
import { DAY_MS } from '../../lib/duration.ts';
import { compareImpacts } from '../../names/impact.ts';
import { isPaused } from '../../orders/bulk/waves.ts';
import {
  findUpcomingSendTime,
  findWaitingItems,
  getAccountOwner,
  isFinal,
  isWaitingForSendTime,
  type Order,
} from '../../orders/order.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import type { PreviousNameServers } from '../../orders/undo.ts';
import { acceptsUnsignedApprovals, findSilentIds, needsSignatures } from '../../policy/policy.ts';
import type { ChargeStatus } from '../../zones/zone-tasks.ts';
import {
  changedRequirementsLine,
  collectRules,
  findLastProgress,
  findLoggedApprovers,
  findValidApprovers,
  formatApprover,
  formatApproverInSentence,
  formatRuleNames,
  getNeededApprovalCount,
  hasPolicyRule,
  requirementLines,
  standInLines,
} from '../approvals/decision.view.ts';
import {
  breakGlassButtons,
  emergencyField,
  emergencyText,
  signOffButtons,
} from '../approvals/emergency.view.ts';
import { findingLines, hasMixedStates, pauseButtons, pausedText, tallyText } from '../bulk/bulk.view.ts';
import { formatExpiryChange, formatExpiryLine, listExpiryWarnings } from '../expiry/expiry.view.ts';
import {
  actions,
  addMenu,
  capitalize,
  code,
  context,
  escapeExceptCode,
  escapeLine,
  escapeText,
  formatCount,
  formatLocalTime,
  header,
  joinAtMost,
  joinWithOr,
  LIMITS,
  lineSections,
  type Message,
  mention,
  mentionApprover,
  message,
  overflowMenu,
  type SectionField,
  section,
} from '../kit/blocks.ts';
import { buttonsHint } from '../kit/buttons-hint.view.ts';
import { isDirectMessage, uncapitalize } from '../kit/mrkdwn.ts';
import { countPhoneLines, fitLines, MAX_LINES, truncateToLines } from '../kit/phone.ts';
import { inForceText, MAX_HELD_ON_CARD, previewLines } from '../mandates/mandate.view.ts';
import {
  budgetWarning,
  formatApprovedOverrun,
  formatBudgets,
  isWaitingOnlyForAdmin,
} from '../money/budget.view.ts';
import {
  amountsText,
  findLoggedCosts,
  formatCost,
  needsPremiumNote,
  priceChangeLine,
} from '../money/price.view.ts';
import { formatList } from '../names/facts.view.ts';
import { openIncidentLine } from '../names/incident.view.ts';
import { impactChangeLines, impactLines, impactWarnings } from './impact.view.ts';
import {
  approverListText,
  briefResultText,
  decisionButtons,
  findLapsedApprovals,
  formatAccount,
  formatContext,
  formatItemName,
  formatLapsedApprovals,
  formatOutcomeShare,
  type HistoryEvent,
  type HistoryEventOf,
  hintLines,
  isMandateInForce,
  isOnlyAccepted,
  newExpiryTexts,
  nextStepTexts,
  orderButton,
  orderDetailsButton,
  orderTitle,
  reasonSuffix,
  receiptButton,
  resolveButtons,
  resultLines,
  retryButtons,
  sentRequestLines,
  shortHash,
  stateIcon,
  stateText,
  stopButtons,
  unsignedApproveButton,
} from './order.view.ts';
import { commonFields, isSentOverXml, isStatementShown, sendTimeText } from './statement.view.ts';
import { reopenReasonText, retryReasonText, summaryText } from './summary.view.ts';
import { formatTaskNote } from './task-notes.view.ts';

export interface CardBriefing extends Briefing {
  /** Shown below the card. Says how to get the next card in the right channel. */
  readonly hint?: string | undefined;
  readonly undo?: UndoOffer | undefined;
}

/** The offer to restore the previous nameservers, and its deadline. */
export interface UndoOffer {
  readonly deadline: Date;
  readonly previousNameServers: Exclude<PreviousNameServers, { readonly kind: 'same' }>;
}

/** The block id of the card's buttons. */
export function buildCardBlockId(orderId: string): string {
  return `order_${orderId}`;
}

/** @returns the order's id, or undefined if the block isn't on a card */
export function parseCardBlockId(blockId: string): string | undefined {
  return /^order_([a-z0-9]+)$/.exec(blockId)?.[1];
}

/**
 * The card of an order, sized for a phone. A pending order's card shows the request, warnings and buttons. Later, the
 * card shows the state. *Details* shows the rest, and the thread has the history.
 */
export function orderCard(order: Order, briefing: CardBriefing): Message {
  const textOnlyHint = `Order ${code(order.id)}. ${buttonsHint(`/domain order ${order.id}`)}`;
  if (order.state !== 'PENDING') return { ...nonPendingCard(order, briefing), textOnlyHint };
  const fullCard = pendingCard(order, briefing, true);
  if (isCardComplete(order, briefing, fullCard)) return { ...fullCard, textOnlyHint };
  return { ...pendingCard(order, briefing, false), textOnlyHint };
}

/** Whether the card shows everything that is sent. A bulk order's rows are always on the pages of *Details*. */
function isCardComplete({ bulk }: Order, { statement }: Briefing, { blocks }: Message): boolean {
  return bulk === undefined && isStatementShown(blocks, statement);
}

/** @param isFullyShown whether the card shows everything that is sent; if not, *Details* has the Approve button */
function pendingCard(order: Order, briefing: CardBriefing, isFullyShown: boolean): Message {
  const { history } = briefing;
  const title = cardTitle(order, briefing);
  return message(`${escapeText(title)}: waiting for approval`, [
    header(title),
    section(
      ...pendingLines(order, briefing),
      requestedLine(order),
      ...timeWarnings(order, history),
      ...questionLines(history),
      ...contentLines(order, briefing),
    ),
    ...lineSections(
      briefing.mandatePreview === undefined ? [] : previewLines(briefing.mandatePreview, MAX_HELD_ON_CARD),
    ),
    ...lineSections(unusualLines(order, briefing)),
    ...actions(buildCardBlockId(order.id), [
      ...decisionButtons(order, isFullyShown),
      overflowMenu('order_more', [
        (isFullyShown || needsSignatures(order.requirements)) && orderDetailsButton(order),
        isFullyShown && unsignedApproveButton(order),
        isFullyShown && acceptsUnsignedApprovals(order.requirements) && commentButton(order),
        orderButton(order, 'order_ask', 'Ask a question'),
        orderButton(order, 'order_cancel', 'Cancel'),
        ...(isFullyShown ? breakGlassButtons(order, briefing.pendingRequirements) : []),
      ]),
    ]),
    context(formatFooter(order, briefing, listRuleNames(briefing))),
    briefing.hint !== undefined && context(briefing.hint),
  ]);
}

function nonPendingCard(order: Order, briefing: CardBriefing): Message {
  const { history } = briefing;
  const title = cardTitle(order, briefing);
  const headerBlock = header(`${stateIcon(order)} ${title}`);
  const isUnknown = order.state === 'UNKNOWN';
  const visibleButtons = isUnknown ? resolveButtons(order) : pauseButtons(order);
  const cardMenu = overflowMenu('order_more', [
    orderDetailsButton(order),
    ...stopButtons(order),
    ...retryButtons(order, briefing.now),
    ...undoButtons(order, briefing),
    ...signOffButtons(order),
    isFinal(order.state) && receiptButton(order),
  ]);
  const otherLines = dropMissing([
    ...(isWaitingForSendTime(order) ? timeWarnings(order, history) : []),
    isPaused(order) && order.expiresAt && `Resume by ${formatLocalTime(order.expiresAt)}`,
    ...(isUnknown
      ? [...singleResultLines(order), ...sentRequestLines(order), NO_RESEND, ...hintLines(order)]
      : []),
    briefing.undo && undoOfferText(briefing.undo),
    order.bulk !== undefined && hasMixedStates(order) && tallyText(order),
  ]);
  const maxLinesAbove = (footer: string) =>
    MAX_LINES.endedCard - countPhoneLines(headerBlock.text.text) - countPhoneLines(footer);
  const fullFooter = formatFooter(order, briefing, listRuleNames(briefing));
  // If the state doesn't fit above the full footer, the footer leaves out the rules.
  const hasRoomForState = countPhoneLines(stateLine(order, history)) <= maxLinesAbove(fullFooter);
  const footer = hasRoomForState ? fullFooter : formatFooter(order, briefing, []);
  const maxLines = Math.max(maxLinesAbove(footer), 1);
  const body = section(
    ...(isFinal(order.state)
      ? fitLines([stateLine(order, history, maxLines), ...otherLines], maxLines)
      : [stateLine(order, history), ...otherLines]),
  );
  const hasButtonRow = visibleButtons.length > 0;
  return message(`${escapeText(title)}: ${uncapitalize(formatShortState(order, history))}`, [
    headerBlock,
    hasButtonRow ? body : addMenu(body, buildCardBlockId(order.id), cardMenu),
    ...(hasButtonRow ? actions(buildCardBlockId(order.id), [...visibleButtons, cardMenu]) : []),
    context(footer),
    briefing.hint !== undefined && context(briefing.hint),
  ]);
}

/** Plain text, such as `Renew cafe.rest for 2 years · about €36.00`, or `Renewed cafe.rest …` when done. */
export function cardTitle(
  order: Order,
  { cost, history }: { readonly cost: Briefing['cost']; readonly history: readonly HistoryEvent[] },
): string {
  const { atRequest, atApproval } = findLoggedCosts(history);
  const { sums = [] } = cost ?? atApproval ?? atRequest ?? {};
  const price = sums.length === 0 ? '' : ` · about ${amountsText(sums)}`;
  const demoPrefix = isDemoContext(order.account.context) ? 'DEMO · ' : '';
  const chargeText = { yes: price, assumed: price, not_stated: ' · price unknown', no: '' }[
    findCharge(order)
  ];
  return `${demoPrefix}${orderTitle(order, selectTense(order))}${chargeText}`;
}

/** Orders that were only accepted or partly carried out aren't shown as done. */
function selectTense(order: Order): 'to do' | 'done' {
  return order.state === 'SUCCEEDED' && !isOnlyAccepted(order, order.state) ? 'done' : 'to do';
}

function findCharge({ task, items }: Order): ChargeStatus {
  return getOrderTask(task).findCharge(items.map(({ name }) => name));
}

/** The approvers and the deadline. If several rules apply, each has its own line. */
function pendingLines(order: Order, { approvers, pendingRequirements, history }: Briefing): string[] {
  const deadlineText = order.expiresAt === undefined ? '' : `, until ${formatLocalTime(order.expiresAt)}`;
  const requirements =
    pendingRequirements !== undefined && hasPolicyRule(pendingRequirements.requirements.list)
      ? pendingRequirements.requirements
      : undefined;
  const mentions = approvers.map(mentionApprover);
  const pendingTexts =
    requirements !== undefined && requirements.list.length > 1
      ? [`Waiting for approval${deadlineText}`, ...requirementLines(requirements, history)]
      : [
          `Waiting for ${mentions.length === 0 ? 'approval' : joinWithOr(mentions, MAX_SHOWN_APPROVERS)}${deadlineText}`,
        ];
  const [firstLine = '', ...others] = pendingTexts;
  const approvals = approvalTexts(order, history, pendingRequirements);
  return [`${stateIcon(order)} ${[firstLine, ...approvals].join(' · ')}`, ...others];
}

const MAX_SHOWN_APPROVERS = 4;

/** For example, `@Alice: “client paid”`. *Details* has the whole reason. */
function requestedLine({ requesterId, reason }: Order): string {
  return reason === undefined
    ? `Requested by ${mention(requesterId)}`
    : `${mention(requesterId)}: “${truncateToLines(escapeLine(reason, 1_000), MAX_QUOTE_PHONE_LINES)}”`;
}

const MAX_QUOTE_PHONE_LINES = 3;

function listRuleNames({ pendingRequirements, history }: Briefing): readonly string[] {
  return collectRules(pendingRequirements, history).flatMap((rule) =>
    rule.kind === 'rule' ? formatRuleNames([rule]) : [],
  );
}

function formatFooter(order: Order, { statement }: Briefing, rules: readonly string[]): string {
  const parts = [
    systemText(order),
    isSentOverXml(statement) ? 'XML' : undefined,
    code(order.id),
    order.bulk === undefined ? undefined : `plan ${code(shortHash(order))}`,
    order.isPrivate ? 'private' : undefined,
    ...rules,
  ];
  return parts.filter((part) => part !== undefined).join(' · ');
}

/** The system and the account, such as `LIVE · alice/4`. */
export function systemText({ account }: Order): string {
  const system = isDemoContext(account.context) ? 'DEMO' : 'LIVE';
  return dropMissing([account.context !== undefined && system, formatShortAccount(account)]).join(' · ');
}

/** For example, `alice/4`. Applications have no name. */
function formatShortAccount({ login, context: contextNumber, ...account }: Order['account']): string {
  if (account.isTeamAccount === true) return 'the team’s account';
  const name = account.method === 'trusted_application' ? 'application' : escapeText(login);
  return contextNumber === undefined ? name : `${name}/${contextNumber}`;
}

const MAX_CONTENT_LENGTH = 400;

/** The expiry, the names and the input. Input that is too long is only in *Details*. */
function contentLines(order: Order, briefing: Briefing): string[] {
  if (order.bulk !== undefined) {
    const { skipped } = order.bulk;
    return skipped === 0
      ? []
      : [`${skipped} of ${formatCount(skipped + order.items.length, 'row')} in the file skipped`];
  }
  const expiryLine = briefing.expiryChange && formatExpiryLine(briefing.expiryChange);
  const names = order.items.map(({ name }) => escapeText(formatItemName(order, name)));
  const title = orderTitle(order);
  const fieldsText = commonFields(briefing.statement, order)
    .filter(([label, value]) => label !== 'Period' || !title.endsWith(` for ${value}`))
    .map(([label, value]) => `${label}: ${value.replaceAll('\n', ', ')}`)
    .join(' · ');
  return dropMissing([
    expiryLine,
    // The title truncates long names.
    names.length === 1 && title.length > LIMITS.headerText && names[0],
    names.length > 1 &&
      (names.join(', ').length <= MAX_CONTENT_LENGTH ? names.join(', ') : joinAtMost(names, MAX_SHOWN_NAMES)),
    fieldsText !== '' &&
      (fieldsText.length <= MAX_CONTENT_LENGTH ? fieldsText : 'Click *Details* to see what will be sent'),
  ]);
}

/** Warnings about the scheduled time. */
function timeWarnings({ state }: Order, history: readonly HistoryEvent[]): string[] {
  const occursTwice = history.some((event) => event.kind === 'requested' && event.occursTwice === true);
  const reopening = history.findLast((event) => event.kind === 'reopened');
  return dropMissing([
    occursTwice && ':warning: Local clocks show that time twice: the first one counts',
    state === 'PENDING' &&
      reopening !== undefined &&
      `:warning: Needs approval again: ${reopenReasonText(reopening.reasons)}`,
  ]);
}

const MAX_SHOWN_NAMES = 5;

/** Unusual facts about a pending order, sorted as on its card. */
export const UNUSUAL_FACTS = [
  ...(['price', 'account', 'retry', 'zone', 'policy', 'stand_in', 'budget', 'price_change'] as const),
  ...(['findings', 'expiry_change', 'incidents', 'impact', 'last_change', 'restore'] as const),
] as const;
export type UnusualFact = (typeof UNUSUAL_FACTS)[number];

function buildUnusualLines(
  order: Order,
  briefing: Briefing,
): Readonly<Record<UnusualFact, readonly (string | undefined)[]>> {
  const { pendingRequirements, history, cost, budgetComparison, expiryChange } = briefing;
  const isZoneUnknown = listTaskNotes(order).some((note) => note.code === 'zone_not_documented');
  return {
    price: priceWarnings(order, briefing),
    account: [accountLine(order)],
    retry: [order.retryOf && `:warning: Retry of order ${code(order.retryOf)}, which failed`],
    zone: isZoneUnknown ? [':warning: No rules known for its zone: the service decides'] : [],
    policy: [pendingRequirements && changedRequirementsLine(pendingRequirements)],
    stand_in:
      pendingRequirements === undefined
        ? []
        : standInLines(pendingRequirements).map((line) => `:warning: ${line}`),
    budget: [budgetComparison && budgetWarning(budgetComparison, isWaitingForBudget(briefing))],
    price_change: [cost && priceChangeLine(cost, findLoggedCosts(history).atRequest)],
    findings: order.bulk === undefined ? [] : findingLines(order.bulk),
    expiry_change: expiryChange === undefined ? [] : listExpiryWarnings(expiryChange),
    incidents: briefing.incidents.map(openIncidentLine),
    impact: impactWarningLines(briefing),
    last_change: [lastChangeLine(briefing)],
    restore: restorabilityLines(order, briefing),
  };
}

/**
 * Facts that approvers should know, one per line.
 * @param excludedFacts facts that the view already shows
 */
export function unusualLines(
  order: Order,
  briefing: Briefing,
  excludedFacts: ReadonlySet<UnusualFact> = new Set(),
): string[] {
  const linesByFact = buildUnusualLines(order, briefing);
  return UNUSUAL_FACTS.flatMap((fact) => (excludedFacts.has(fact) ? [] : dropMissing(linesByFact[fact])));
}

/** Whether the order is pending only because of the budgets. */
function isWaitingForBudget({ pendingRequirements, history }: Briefing): boolean {
  return (
    pendingRequirements?.requirements.outcome === 'free' ||
    (pendingRequirements?.isStricter !== true && isWaitingOnlyForAdmin(history))
  );
}

function priceWarnings(order: Order, { cost }: Briefing): string[] {
  const charge = findCharge(order);
  // If the charge isn't stated, the title already says that the price is unknown.
  if (charge === 'no' || charge === 'not_stated' || cost?.unknown === 0) return [];
  if (cost === undefined || cost.sums.length === 0)
    return [`:warning: This ${charge === 'yes' ? 'costs' : 'may cost'} money (price unknown)`];
  return [`:warning: Price unknown for ${formatCount(cost.unknown, 'name')}`];
}

export function accountLine(order: Order): string | undefined {
  if (order.account.isTeamAccount === true) return ':warning: Uses *the team’s account*';
  const owner = getAccountOwner(order);
  return owner === order.requesterId ? undefined : `:warning: Uses ${mention(owner)}’s account`;
}

function listTaskNotes({ task, items }: Order) {
  return getOrderTask(task).listNotes(items.map(({ name }) => name));
}

/** A recent change that the order would waste or repeat, such as `Renewed a week ago for about €36.00`. */
export function lastChangeLine({ lastChange, now }: DraftBriefing): string | undefined {
  const closedAt = lastChange?.order.closedAt;
  if (lastChange === undefined || closedAt === undefined) return undefined;
  const days = Math.floor((now.getTime() - closedAt.getTime()) / DAY_MS);
  const price =
    lastChange.cost === undefined || lastChange.cost.sums.length === 0
      ? ''
      : ` for about ${amountsText(lastChange.cost.sums)}`;
  return days > RECENT_DAYS
    ? undefined
    : `:warning: ${getOrderTask(lastChange.order.task).words.pastTense} ${daysAgo(days)}${price}`;
}

/** Repeating a task within this time is unusual. */
const RECENT_DAYS = 90;

function daysAgo(days: number): string {
  if (days <= 0) return 'today';
  if (days === 1) return 'yesterday';
  return days === 7 ? 'a week ago' : `${days} days ago`;
}

/** Whether the name can be restored after the deletion, and at what price. */
export function restorabilityLines(order: Order, { restoreCost }: DraftBriefing): string[] {
  const note = listTaskNotes(order).find(({ code }) => code === 'restorable_then_available');
  if (note?.code !== 'restorable_then_available') return [];
  const price =
    restoreCost === undefined || restoreCost.sums.length === 0
      ? 'price unknown'
      : `about ${amountsText(restoreCost.sums)}`;
  return [`Can be restored for ${note.restorableDays} days, ${price}`];
}

/** Warnings about the impact, worst first, and how it has changed since the request. */
export function impactWarningLines({ impact }: Briefing): string[] {
  if (impact === 'none') return [];
  if (impact === 'unseen') return [':warning: Still checking what would stop working'];
  const { atRequest, latest } = impact;
  return impactWarnings(latest, compareImpacts(atRequest, latest));
}

/** The fields shown in *Details*. */
export function orderFields(order: Order, briefing: Briefing): SectionField[] {
  return [
    ...costFields(order, briefing),
    ...(order.state === 'PENDING' ? approvalFields(order, briefing) : []),
    ['Rules', formatRuleNames(collectRules(briefing.pendingRequirements, briefing.history)) || undefined],
    ['Break glass', emergencyField(order, briefing.history)],
    ['Account', formatAccount(order)],
    [
      'Requested',
      `${formatLocalTime(order.createdAt)}${order.reason === undefined ? '' : `: “${escapeLine(order.reason, 1_000)}”`}`,
    ],
    ['Owner', order.ownership?.owner && mention(order.ownership.owner)],
    ['Purpose', order.ownership?.note && escapeLine(order.ownership.note)],
    ['Plan', order.bulk && code(order.statementHash)],
    ['Retry of', order.retryOf && code(order.retryOf)],
    ['Visible to', order.isPrivate ? 'Only the requester, approvers and admins' : undefined],
    ['Notes', taskNoteLines(order, briefing).join('\n') || undefined],
    ['If approved', order.state === 'PENDING' ? formatSending(order, briefing) : undefined],
  ];
}

function questionLines(history: readonly HistoryEvent[]): string[] {
  const lastQuestion = history.findLast((event) => event.kind === 'asked');
  return lastQuestion === undefined
    ? []
    : [
        `:speech_balloon: ${mention(lastQuestion.actor)} asks: “${truncateToLines(escapeLine(lastQuestion.question, 500), MAX_QUOTE_PHONE_LINES)}”`,
      ];
}

export function impactBlocks({ impact }: Briefing): SectionBlock[] {
  if (impact === 'none') return [];
  if (impact === 'unseen') {
    return [section('*Impact*\n:grey_question: Still checking. The result appears here in a moment.')];
  }
  const { atRequest, latest } = impact;
  return lineSections([...impactLines(latest), ...impactChangeLines(compareImpacts(atRequest, latest))]);
}

function formatSending(order: Order, { pendingRequirements, statement }: Briefing): string {
  const approvalText =
    (getNeededApprovalCount(order, pendingRequirements) ?? 2) > 1 ? 'The last approval' : 'Approving';
  const requestsText =
    order.items.length === 1 ? 'the request' : `${order.items.length} requests, one per name,`;
  const sendTime = findUpcomingSendTime(order);
  if (!getOrderTask(order.task).sendsRequests)
    return `${approvalText} puts the mandate in force. Nothing is sent until a name is due for renewal.`;
  const wavesText =
    order.bulk && order.items.length > order.bulk.waveSize && `in waves of ${order.bulk.waveSize}`;
  const sendText =
    sendTime === undefined
      ? `${approvalText} sends ${requestsText} ${wavesText || 'immediately'}`
      : `${capitalize(requestsText)} will be sent ${dropMissing([formatLocalTime(sendTime), wavesText]).join(', ')}`;
  const interfaceText = isSentOverXml(statement) ? ', through the service’s XML interface' : '';
  return `${sendText}${interfaceText}. Everything that will be sent is shown here.`;
}

export function costFields(order: Order, briefing: Briefing): SectionField[] {
  const charge = findCharge(order);
  return [
    ['Costs money', CHARGE_TEXTS[charge]],
    ['Price', charge === 'no' ? undefined : priceText(briefing)],
    ['Budget', budgetText(order, briefing)],
    ['Resume by', isPaused(order) ? order.expiresAt && formatLocalTime(order.expiresAt) : undefined],
    ['Expires', briefing.expiryChange && formatExpiryChange(briefing.expiryChange)],
    ['System', formatContext(order.account.context)],
  ];
}

/** The current price while pending; later, the price at the approval or request. */
function priceText({ cost, history }: Briefing): string | undefined {
  const { atRequest, atApproval } = findLoggedCosts(history);
  const shownCost = cost ?? atApproval ?? atRequest;
  return shownCost && formatCost(shownCost, atRequest);
}

/** While pending, the order's share of the budgets; later, the budgets that it exceeded. */
function budgetText({ state }: Order, briefing: Briefing): string | undefined {
  const { budgetComparison, history } = briefing;
  return budgetComparison === undefined || state !== 'PENDING'
    ? formatApprovedOverrun(history)
    : formatBudgets(budgetComparison, isWaitingForBudget(briefing));
}

function approvalFields(
  { expiresAt }: Order,
  { approvers, pendingRequirements, history }: Briefing,
): SectionField[] {
  const requirements =
    pendingRequirements !== undefined && hasPolicyRule(pendingRequirements.requirements.list)
      ? pendingRequirements.requirements
      : undefined;
  const silentApproverIds = findSilentIds(pendingRequirements?.requirements.list ?? []);
  return [
    ['Approve by', expiresAt && formatLocalTime(expiresAt)],
    ['Required approvals', requirements && requirementLines(requirements, history).join('\n')],
    [
      'Approvers',
      requirements === undefined && approvers.length > 0 ? approverListText(approvers) : undefined,
    ],
    [
      'Approvers, not notified',
      silentApproverIds.length > 0 ? approverListText(silentApproverIds) : undefined,
    ],
    ['Stand-ins', pendingRequirements && (standInLines(pendingRequirements).join('\n') || undefined)],
  ];
}

const CHARGE_TEXTS: Readonly<Record<ChargeStatus, string | undefined>> = {
  yes: 'Yes',
  no: undefined,
  assumed:
    'Probably. The service’s documentation doesn’t cover this zone, so I assume the same as for .rest.',
  not_stated: 'Unknown. The service’s documentation doesn’t say.',
};

/** Notes on the task in this zone, except those on the card. */
function taskNoteLines(order: Order, { cost }: Briefing): string[] {
  const isPremiumNoted = cost !== undefined && needsPremiumNote(cost);
  return listTaskNotes(order)
    .filter(({ code }) => code !== 'costs_money' && !(code === 'premium_names' && isPremiumNoted))
    .map((note) => `• ${escapeText(formatTaskNote(note))}`);
}

/** Leaves out “nothing was sent” if a late answer shows that a request was sent. */
function correctedStateText(order: Order): string {
  const text = stateText(order);
  const hasLateOutcome = order.items.some(({ result }) => result?.lateOutcome !== undefined);
  return hasLateOutcome ? text.replace(', nothing was sent', '') : text;
}

/**
 * For example, `Requested by @Alice, approved by @Bob · now expires 16 Dec 2028`.
 * @param maxLines the limit for a successful order. If the line is longer, the next step is left out, then the end of
 *   a long reason. The reply and *Details* show both.
 */
function stateLine(
  order: Order,
  history: readonly HistoryEvent[],
  maxLines = Number.POSITIVE_INFINITY,
): string {
  const requestText = `requested by ${mention(order.requesterId)}`;
  const peopleText = [requestText, ...approvedByTexts(order, history)].join(', ');
  const shortState = `*${formatShortState(order, history)}*${formatOutcomeShare(order)}`;
  if (order.state !== 'SUCCEEDED' || order.task === 'mandate')
    return capitalize(stateParts(order, history, { requestText, peopleText, shortState }).join(' · '));
  const isAccepted = isOnlyAccepted(order, order.state);
  const [item, ...others] = order.items;
  const nextSteps = item === undefined || others.length > 0 ? [] : nextStepTexts(order, item);
  const facts = [...newExpiryTexts(order).map((expiry) => `now expires ${expiry}`), ...nextSteps];
  const joinParts = (shownPeople: string, shownFacts: readonly string[]) =>
    capitalize(dropMissing([isAccepted && shortState, shownPeople, ...shownFacts]).join(' · '));
  const fullText = joinParts(peopleText, facts);
  if (countPhoneLines(fullText) <= maxLines) return fullText;
  const remainingFacts = isAccepted ? facts.slice(0, -1) : facts;
  return truncateToLines(peopleText, maxLines, (shownPeople) => joinParts(shownPeople, remainingFacts));
}

function stateParts(
  order: Order,
  history: readonly HistoryEvent[],
  {
    requestText,
    peopleText,
    shortState,
  }: { readonly requestText: string; readonly peopleText: string; readonly shortState: string },
): string[] {
  switch (order.state) {
    case 'DENIED': {
      const denial = history.findLast((event) => event.kind === 'denied');
      return [
        shortState,
        denial === undefined
          ? requestText
          : `${requestText}, denied by ${mention(denial.actor)}${reasonSuffix(denial)}`,
      ];
    }
    case 'CANCELLED': {
      const stop = findStopEvent(history);
      return [shortState, stop === undefined ? requestText : `${requestText}, ${stoppedText(stop)}`];
    }
    case 'FAILED':
      return [shortState, peopleText, ...failureLines(order)];
    default:
      return [shortState, peopleText, ...retryTexts(order, history)];
  }
}

/** The policy can stop an order at its scheduled time. */
function stoppedText(stop: HistoryEventOf<'stopped'>): string {
  return stop.actor === 'system'
    ? escapeExceptCode(summaryText(stop.summary))
    : `stopped by ${mention(stop.actor)}`;
}

/** For orders with a single name. */
function singleResultLines({ items }: Order): string[] {
  const [item, ...others] = items;
  return item === undefined || others.length > 0 ? [] : resultLines(item);
}

/** For requests that were sent but have no known outcome. */
const NO_RESEND =
  'It won’t be sent again automatically. Check with the domain service, then mark it as done or failed.';

/** For orders with a single name. */
function failureLines({ items }: Order): string[] {
  const [item, ...others] = items;
  return item?.result === undefined || others.length > 0 ? [] : [briefResultText(item)];
}

function formatShortState(order: Order, history: readonly HistoryEvent[]): string {
  const pausedState = pausedText(order);
  if (pausedState !== undefined) return pausedState;
  if (order.state === 'APPROVED' && findNextRetry(order) !== undefined) return 'Waiting to retry';
  if (isWaitingForSendTime(order) && order.sendAfter !== undefined) return sendTimeText(order.sendAfter);
  if (isMandateInForce(order)) return inForceText(order);
  if (order.state !== 'CANCELLED' || findStopEvent(history) === undefined) return correctedStateText(order);
  // Requests that the busy service refused were still sent.
  return order.items.some(({ attempts }) => attempts > 0)
    ? 'Stopped, nothing was carried out'
    : 'Stopped, nothing was sent';
}

/** The event that stopped the order before anything was carried out. */
function findStopEvent(history: readonly HistoryEvent[]): HistoryEventOf<'stopped'> | undefined {
  const stop = history.findLast((event) => event.kind === 'stopped');
  return stop?.state === 'CANCELLED' ? stop : undefined;
}

function approvedByTexts(order: Order, history: readonly HistoryEvent[]): string[] {
  const approvers = findLoggedApprovers(history);
  if (order.emergencyApprovedBy !== undefined) return [emergencyText(order, history)];
  if (approvers.length === 0) return [];
  const budgetNote = formatApprovedOverrun(history) === undefined ? '' : ' over budget';
  const names = approvers.map((userId) => formatApproverInSentence(userId, history)).join(' and ');
  return [`approved${budgetNote} by ${names}`];
}

function findNextRetry(order: Order): Date | undefined {
  const retryTimes = findWaitingItems(order).flatMap(({ notBefore }) => notBefore?.getTime() ?? []);
  return retryTimes.length === 0 ? undefined : new Date(Math.min(...retryTimes));
}

/** For example, `next attempt 10:05. The service is busy.` */
function retryTexts(order: Order, history: readonly HistoryEvent[]): string[] {
  const nextRetry = findNextRetry(order);
  if (nextRetry === undefined) return [];
  const reason = history.findLast((event) => event.kind === 'retry_scheduled')?.retryReason;
  const retryText = `next attempt ${formatLocalTime(nextRetry)}`;
  return [reason === undefined ? retryText : `${retryText}. ${escapeExceptCode(retryReasonText(reason))}`];
}

/** For example, `1 of 2 approvals (@Bob)`, and the approvals that no longer count. */
function approvalTexts(
  order: Order,
  history: readonly HistoryEvent[],
  decision: PendingRequirements | undefined,
): string[] {
  const neededCount = getNeededApprovalCount(order, decision);
  const lapsedApprovals = findLapsedApprovals(history);
  const validApprovers = findValidApprovers(history);
  const validNames = validApprovers.map((userId) => formatApprover(userId, history)).join(', ');
  const approversSuffix = validNames === '' ? '' : ` (${validNames})`;
  const lapsedTexts = lapsedApprovals.userIds.length === 0 ? [] : [formatLapsedApprovals(lapsedApprovals)];
  // If several requirements need approvals, the card lists the requirements.
  if (neededCount === undefined) return lapsedTexts;
  if (neededCount <= 1 && findLastProgress(history) === undefined) return [];
  return [
    `${validApprovers.length} of ${formatCount(neededCount, 'approval')}${approversSuffix}`,
    ...lapsedTexts,
  ];
}

function undoOfferText({ deadline, previousNameServers }: UndoOffer): string {
  return previousNameServers.kind === 'known'
    ? `Undo by ${formatLocalTime(deadline)} to restore ${formatList(previousNameServers.nameServers)}`
    : ':warning: The previous nameservers are unknown, so this can’t be undone';
}

function undoButtons(order: Order, { undo }: CardBriefing) {
  return undo?.previousNameServers.kind === 'known' ? [orderButton(order, 'order_undo', 'Undo')] : [];
}

export function commentButton(order: Order) {
  return orderButton(order, 'order_approve_comment', 'Approve with a comment');
}

/** Says why the card is in a direct message and how to get the next one in the conversation. */
export function directMessageHint({ requesterId, channelId }: Order): string {
  const remedy = isDirectMessage(channelId)
    ? 'Next time, use this conversation or a channel I’m in.'
    : 'To get the next card there, invite me with `/invite @Domain Steward`.';
  return `I can’t post in the conversation where ${mention(requesterId)} requested this, so the card is here. I’ll notify the approvers. ${remedy}`;
}
