import type { SectionBlock } from '@slack/types';
import { isDemoContext } from '../../accounts/account.ts';
import type { BudgetLook } from '../../money/budget-look.ts';
import type { OrderCost } from '../../money/prices.ts';
import { compareImpacts } from '../../names/impact.ts';
import type { OrderImpact } from '../../names/ports.ts';
import type { WaitingDecision } from '../../orders/approvers.ts';
import { type Order, type OrderItem, waitingItems } from '../../orders/order.ts';
import type { Statement } from '../../orders/statement.ts';
import { taskNamed } from '../../orders/tasks.ts';
import type { FormerNameServers } from '../../orders/undo.ts';
import { isPaused } from '../../orders/waves.ts';
import type { Charge } from '../../zones/zone-tasks.ts';
import { bulkBlocks, pauseButtons, pausedText } from '../bulk/bulk.view.ts';
import { type Term, termText } from '../expiry/expiry.view.ts';
import {
  type AnyBlock,
  actions,
  code,
  context,
  count,
  escapeText,
  type Fact,
  facts,
  header,
  LIMITS,
  lines,
  type Message,
  mention,
  message,
  moment,
  ownSentence,
  quote,
  section,
  table,
  truncate,
} from '../kit/blocks.ts';
import { budgetFact, exceededFact, waitsForAdminAlone } from '../money/budget.view.ts';
import { costFact, costsInHistory, hasPremiumNote, quoteCell } from '../money/price.view.ts';
import { formatList } from '../names/facts.view.ts';
import {
  approvalsNeeded,
  approverName,
  changedDemandLine,
  isRuled,
  requirementLines,
  ruleNames,
  rulesOf,
  standInLines,
} from './decision.view.ts';
import { breakGlassButtons, emergencyLines, signOffButtons } from './emergency.view.ts';
import { impactChangeLines, impactLines } from './impact.view.ts';
import {
  approverList,
  decisionButtons,
  formatAccount,
  formatContext,
  formatLapsed,
  formatPart,
  type HistoryEvent,
  hintLines,
  itemName,
  itemText,
  lapsedApprovals,
  lookButton,
  nextSteps,
  orderButton,
  orderTitle,
  reasonOf,
  resolveButtons,
  resultText,
  retryButtons,
  stateIcon,
  stateText,
  stopButtons,
} from './order.view.ts';
import { commonFacts, isOverXml, showWhole } from './statement.view.ts';
import { retryReasonText } from './summary.view.ts';
import { formatTaskNote } from './task-notes.view.ts';

/* The card of an order, which approvers read. */

export interface CardExtras {
  /** What it sends; undefined when its rows give no request any more. */
  readonly statement: Statement | undefined;
  /** The people and user groups of the settings who may approve. */
  readonly approvers: readonly string[];
  /** What it needs at this moment, while it waits. */
  readonly decision?: WaitingDecision | undefined;
  /** What has happened so far. */
  readonly history?: readonly HistoryEvent[] | undefined;
  /** What it costs by the current price list, while it waits. */
  readonly cost?: OrderCost | undefined;
  /** What it takes out of the team's budgets. */
  readonly budgets?: BudgetLook | undefined;
  /** The moment at which it is shown. */
  readonly now?: Date | undefined;
  /** Shown under the card: how to have it posted in the right channel. */
  readonly hint?: string | undefined;
  /** The impact on its name; undefined for a task that puts nothing at risk. */
  readonly impact?: OrderImpact | 'unseen' | undefined;
  /** When the one name of a waiting renewal expires. */
  readonly term?: Term | undefined;
  /** The nameservers that can be set back. */
  readonly undo?: UndoOffer | undefined;
}

/** Until when nameservers can be set back, and to which, if that is known. */
export interface UndoOffer {
  readonly until: Date;
  readonly former: Exclude<FormerNameServers, { readonly kind: 'same' }>;
}

/** `block_id` of the card's buttons. No other message has a row with this id. */
export function cardBlockId(orderId: string): string {
  return `order_${orderId}`;
}

/** The order whose card has a row of buttons with this id; undefined for rows of other messages. */
export function orderOfCardBlock(blockId: string): string | undefined {
  return /^order_([a-z0-9]+)$/.exec(blockId)?.[1];
}

/**
 * The order's card. It tells at one look what a click does. First come the task, its state, who asks and why; then in
 * two columns the money, the system, the deadline and the account; then the impact and the buttons. Rows without
 * content are left out.
 */
export function orderCard(order: Order, extras: CardExtras): Message {
  const card = cardWith(order, extras, true);
  return order.state === 'PENDING' && !isShownWhole(order, extras, card)
    ? cardWith(order, extras, false)
    : card;
}

/** Whether a card shows all that is sent. The rows of a plan stand on pages of their own, however few they are. */
function isShownWhole({ bulk }: Order, { statement }: CardExtras, { blocks }: Message): boolean {
  return bulk === undefined && showWhole(blocks, statement);
}

/** @param isWhole whether all that is sent stands on it */
function cardWith(order: Order, extras: CardExtras, isWhole: boolean): Message {
  const title = orderTitle(order);
  const pending = order.state === 'PENDING';
  const history = extras.history ?? [];
  return message(`${escapeText(title)}: ${formatStateShort(order, history)}`, [
    header(title),
    section(
      stateLine(order, history, extras.decision),
      `Asked by ${mention(order.requesterId)}${order.reason === undefined ? '' : `: “${quote(order.reason, 1_000)}”`}`,
      ...emergencyLines(order, history),
      ...(pending ? questionLines(history) : []),
    ),
    ...facts([...explainingFacts(order, extras), ...inputsShown(order, extras.statement, title)]),
    ...rowsShown(order, extras),
    ...(pending ? lines([extras.decision && changedDemandLine(extras.decision)]) : []),
    ...(pending ? impactBlocks(extras) : []),
    ...(pending ? lines(noteLines(order, extras)) : []),
    ...(order.bulk === undefined ? lines(resultLines(order)) : []),
    ...(order.state === 'UNKNOWN' ? lines(hintLines(order)) : []),
    pending && context(formatSending(order, extras, isWhole)),
    extras.undo && section(undoText(extras.undo)),
    ...actions(cardBlockId(order.id), cardButtons(order, extras, isWhole)),
    context(
      `Order ${code(order.id)} · asked ${moment(order.createdAt)}${order.isPrivate ? ` · ${PRIVATE}` : ''}`,
    ),
    extras.hint !== undefined && context(extras.hint),
  ]);
}

/** What explains an order beside what it sends: money, who decides, and until when. */
export function explainingFacts(order: Order, extras: CardExtras): Fact[] {
  return [
    ...moneyFacts(order, extras),
    ...(order.state === 'PENDING' ? decisionFacts(order, extras) : []),
    // The rules of the policy that decided, if any did.
    ['Decided by', ruleNames(rulesOf(extras.decision, extras.history ?? [])) || undefined],
  ];
}

/** The latest question of an approver. */
function questionLines(history: readonly HistoryEvent[]): string[] {
  const last = history.findLast((event) => event.kind === 'asked');
  return last === undefined
    ? []
    : [`:speech_balloon: ${mention(last.actor)} asks: “${quote(last.question, 500)}”`];
}

const PRIVATE = 'private: only the person who asked, approvers and admins see it';

/** The impact on the name, and what has changed of it since the order was asked for. */
export function impactBlocks({ impact }: CardExtras): SectionBlock[] {
  if (impact === undefined) return [];
  if (impact === 'unseen') {
    return [
      section(
        '*What hangs on it*\n:grey_question: Not looked at yet. I am looking; what I see stands here in a moment.',
      ),
    ];
  }
  const { asked, latest } = impact;
  return lines([...impactLines(latest), ...impactChangeLines(compareImpacts(asked, latest))]);
}

function formatSending(order: Order, { decision, statement }: CardExtras, isWhole: boolean): string {
  const approval = (approvalsNeeded(order, decision) ?? 2) > 1 ? 'The last approval' : 'Approving';
  const what = order.items.length === 1 ? 'it' : `${order.items.length} requests, one a name,`;
  const when = order.bulk === undefined ? 'at once' : `in waves of ${order.bulk.waveSize}`;
  const over = isOverXml(statement) ? ', over the service’s XML interface' : '';
  const { context: number } = order.account;
  const live = number !== undefined && !isDemoContext(number);
  const shown = isWhole
    ? 'What is shown here'
    : order.bulk === undefined
      ? 'What *Look at it* shows'
      : 'The rows of this plan';
  const verb = order.bulk === undefined ? 'is' : 'are';
  return `${live ? ':red_circle: *LIVE*: ' : ''}${approval} sends ${what} ${when}${over}. ${shown} ${verb} all that is sent.`;
}

/** What it costs, for which time, and in which system. That it costs nothing is not mentioned. */
function moneyFacts(order: Order, extras: CardExtras): Fact[] {
  const charge = taskNamed(order.task).charge(order.items.map(({ name }) => name));
  return [
    ['Costs money', CHARGES[charge]],
    ['Price', charge === 'no' ? undefined : priceText(extras)],
    ['Budget', budgetText(extras)],
    ['Goes on until', isPaused(order) ? order.expiresAt && moment(order.expiresAt) : undefined],
    ['Expiry', extras.term && termText(extras.term)],
    ['System', formatContext(order.account.context)],
  ];
}

/** The price: by the current list while the order waits, afterwards as it was approved or asked for. */
function priceText({ cost, history = [] }: CardExtras): string | undefined {
  const { asked, approved } = costsInHistory(history);
  const shown = cost ?? approved ?? asked;
  return shown && costFact(shown, asked);
}

/** What it takes out of the budgets while it waits, and afterwards the budgets that it exceeded. */
function budgetText({ budgets, decision, history = [] }: CardExtras): string | undefined {
  if (budgets === undefined) return exceededFact(history);
  const isApproved = decision?.isStricter !== true && waitsForAdminAlone(history);
  return budgetFact(budgets, decision?.demand.outcome === 'free' || isApproved);
}

/** Until when it can be decided, and by whom. */
function decisionFacts({ expiresAt }: Order, { approvers, decision, history = [] }: CardExtras): Fact[] {
  const ruled = decision !== undefined && isRuled(decision.demand) ? decision.demand : undefined;
  return [
    ['Open until', expiresAt && moment(expiresAt)],
    ['Needs', ruled && requirementLines(ruled, history).join('\n')],
    ['Can approve', ruled === undefined && approvers.length > 0 ? approverList(approvers) : undefined],
    ['Stands in', decision && (standInLines(decision).join('\n') || undefined)],
  ];
}

/** The account, and everything that is sent and not in the title. */
function inputsShown(order: Order, statement: CardExtras['statement'], title: string): Fact[] {
  const [first] = order.items;
  return [
    ['With the account', formatAccount(order)],
    // A long name is cut in the title, so it is shown in full here.
    [
      'Name',
      order.items.length === 1 && first !== undefined && title.length > LIMITS.headerText
        ? escapeText(itemName(order, first.name))
        : undefined,
    ],
    // The rows of a plan stand in a table. The period of an order stands in its title.
    ...(order.bulk === undefined
      ? commonFacts(statement).filter(
          ([label, value]) => label !== 'Period' || !title.endsWith(` for ${value}`),
        )
      : []),
    ['Interface', isOverXml(statement) ? 'XML' : undefined],
    ['Asked again after', order.retryOf && code(order.retryOf)],
  ];
}

const CHARGES: Readonly<Record<Charge, string | undefined>> = {
  yes: '*Yes*',
  no: undefined,
  not_stated: 'Not stated by the service’s document',
};

/** What the zone says about the task, without what the facts of the card say already. */
function noteLines(order: Order, { cost }: CardExtras): string[] {
  const isPremiumNoted = cost !== undefined && hasPremiumNote(cost);
  return taskNamed(order.task)
    .notes(order.items.map((item) => item.name))
    .filter(({ code }) => code !== 'costs_money' && !(code === 'premium_names' && isPremiumNoted))
    .map((note) => `• ${escapeText(formatTaskNote(note))}`);
}

/** What the state means. It does not claim that nothing was sent where a request turned out to have left. */
function stateWords(order: Order): string {
  const words = stateText(order);
  return order.items.some(isKnownToBeSent) ? words.replace(', nothing was sent', '') : words;
}

function isKnownToBeSent({ result }: OrderItem): boolean {
  return result?.late !== undefined;
}

/** The state of the order, since when, and through whom. */
function stateLine(
  order: Order,
  history: readonly HistoryEvent[],
  decision: WaitingDecision | undefined,
): string {
  const state = `${stateIcon(order)} *${formatStateShort(order, history)}*${formatPart(order)}`;
  switch (order.state) {
    case 'PENDING':
      return [state, ...formatApprovals(order, history, decision)].join(' · ');
    case 'DENIED': {
      const denied = history.findLast((event) => event.kind === 'denied');
      if (denied === undefined) return state;
      return `${state} · by ${mention(denied.actor)}${reasonOf(denied)}`;
    }
    case 'APPROVED':
    case 'EXECUTING':
      return [state, ...formatWait(order, history), ...formatApproved(order, history)].join(' · ');
    case 'CANCELLED': {
      const stop = stopOf(history);
      return stop === undefined ? state : `${state} · by ${mention(stop.actor)}`;
    }
    case 'EXPIRED':
      return state;
    default:
      return [state, ...formatApproved(order, history)].join(' · ');
  }
}

function formatStateShort(order: Order, history: readonly HistoryEvent[]): string {
  const paused = pausedText(order);
  if (paused !== undefined) return paused;
  if (order.state === 'APPROVED' && waitsUntil(order) !== undefined) return 'To be sent again';
  if (order.state !== 'CANCELLED' || stopOf(history) === undefined) return stateWords(order);
  // A request that the service refused for load was sent all the same.
  return order.items.some(({ attempts }) => attempts > 0)
    ? 'Stopped, nothing was carried out'
    : 'Stopped, nothing was sent';
}

/** A person stopped the order before anything of it was carried out. */
function stopOf(history: readonly HistoryEvent[]): HistoryEvent | undefined {
  return history.findLast(({ kind, state }) => kind === 'stopped' && state === 'CANCELLED');
}

function formatApproved({ approvals }: Order, history: readonly HistoryEvent[]): string[] {
  return approvals.length === 0
    ? []
    : [`approved by ${approvals.map(({ userId }) => approverName(userId, history)).join(', ')}`];
}

/** When the first of the waiting items may be sent again. */
function waitsUntil(order: Order): Date | undefined {
  const moments = waitingItems(order).flatMap(({ notBefore }) => notBefore?.getTime() ?? []);
  return moments.length === 0 ? undefined : new Date(Math.min(...moments));
}

/** `waits until 10:05: The service is busy.` */
function formatWait(order: Order, history: readonly HistoryEvent[]): string[] {
  const first = waitsUntil(order);
  if (first === undefined) return [];
  const why = history.findLast((event) => event.kind === 'retry_scheduled')?.why;
  const until = `waits until ${moment(first)}`;
  return [why === undefined ? until : `${until}: ${ownSentence(retryReasonText(why))}`];
}

/** `1 of 2 approvals (@Bob)`, and whose approvals no longer count. */
function formatApprovals(
  order: Order,
  history: readonly HistoryEvent[],
  decision: WaitingDecision | undefined,
): string[] {
  const needed = approvalsNeeded(order, decision);
  const lapsed = lapsedApprovals(history);
  const counting = order.approvals.filter(({ userId }) => !lapsed.userIds.includes(userId));
  const by =
    counting.length === 0
      ? ''
      : ` (${counting.map(({ userId }) => approverName(userId, history)).join(', ')})`;
  const gone = lapsed.userIds.length === 0 ? '' : ` · ${formatLapsed(lapsed)}`;
  // If several requirements each need approvals, the card lists them.
  if (needed === undefined) return lapsed.userIds.length === 0 ? [] : [formatLapsed(lapsed)];
  if (needed <= 1 && order.approvals.length === 0) return [];
  return [`${counting.length} of ${count(needed, 'approval')}${by}${gone}`];
}

/** What an order is about, where its title does not say it all. */
function rowsShown(order: Order, { statement, cost }: CardExtras): AnyBlock[] {
  if (order.bulk !== undefined) return bulkBlocks(order, statement, order.bulk);
  return order.items.length > 1 ? itemTable(order, cost) : [];
}

/** All names of an order. Names for which a table has no room stand below it: an approver sees every one. */
function itemTable(order: Order, cost: OrderCost | undefined): AnyBlock[] {
  const stopped = order.state === 'DENIED' || order.state === 'EXPIRED' || order.state === 'CANCELLED';
  const rows = order.items.map((item) => ({
    name: itemName(order, item.name),
    price: cost === undefined ? [] : [quoteCell(cost.names[item.n - 1]?.quote)],
    state: stopped ? (isKnownToBeSent(item) ? 'Sent' : 'Not sent') : itemText(order, item),
    said: truncate([item.result?.code, item.result?.text].filter(Boolean).join(' ') || '–', SAID_LENGTH),
  }));
  let room = LIMITS.tableText - 100;
  const fitting = rows.filter(({ name, state, said }) => {
    room -= name.length + state.length + said.length;
    return room >= 0 && name.length <= LIMITS.cellText;
  });
  return [
    order.state === 'PENDING'
      ? table({
          caption: 'Names',
          columns: ['Name', ...(cost === undefined ? [] : ['Price'])],
          rows: fitting.map(({ name, price }) => [name, ...price]),
        })
      : table({
          caption: 'Names',
          columns: ['Name', 'State', 'The service says'],
          rows: fitting.map(({ name, state, said }) => [name, state, said]),
        }),
    ...lines(
      rows
        .filter((row) => !fitting.includes(row))
        .map(({ name, state }) => `• ${escapeText(name)} · ${state.toLowerCase()}`),
    ),
  ];
}

/** The length of the service's words in the table; the thread has more of them. */
const SAID_LENGTH = 80;

/** The result of a single item, as facts that people can quote to the service. */
function resultLines(order: Order): string[] {
  const [item, ...others] = order.items;
  return item === undefined || others.length > 0 ? [] : [...resultText(item), ...nextSteps(order, item)];
}

function undoText({ until, former }: UndoOffer): string {
  return former.kind === 'known'
    ? `:rewind: Until ${moment(until)} *Undo* asks for the nameservers as they were: ${formatList(former.nameServers)}. Until then I check whether the new ones answer.`
    : ':grey_question: What the nameservers were before is not known, so I cannot offer to undo this.';
}

function undoButtons(order: Order, { undo }: CardExtras) {
  return undo?.former.kind === 'known' ? [orderButton(order, 'order_undo', 'Undo')] : [];
}

/** Approves with words for the thread. */
export function commentButton(order: Order) {
  return orderButton(order, 'order_approve_comment', 'Approve with a comment');
}

function cardButtons(order: Order, extras: CardExtras, isWhole: boolean) {
  if (order.state === 'PENDING') {
    return [
      ...decisionButtons(order, isWhole),
      ...(isWhole ? [lookButton(order), commentButton(order)] : []),
      orderButton(order, 'order_ask', 'Ask back'),
      orderButton(order, 'order_cancel', 'Cancel'),
      ...(isWhole ? breakGlassButtons(order, extras.decision) : []),
    ];
  }
  if (order.state === 'UNKNOWN')
    return [...resolveButtons(order), ...signOffButtons(order), lookButton(order)];
  return [
    ...pauseButtons(order),
    ...stopButtons(order),
    ...retryButtons(order, extras.now),
    ...undoButtons(order, extras),
    ...signOffButtons(order),
    lookButton(order),
  ];
}

/** Why the card of an order is in a direct message. */
export function noPlaceHint(requesterId: string): string {
  return `I cannot post where ${mention(requesterId)} asked, so this card is here, and approvers hear of it from me. Invite me there with \`/invite @Domain Steward\` to have the next one in that place.`;
}
