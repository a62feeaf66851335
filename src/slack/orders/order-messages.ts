import { isDeepStrictEqual } from 'node:util';
import { isDemoContext } from '../../accounts/account.ts';
import type { WaitingDecision } from '../../approvals/approvers.ts';
import type { TeamSettings } from '../../config/environment.ts';
import type { Expiry } from '../../expiry/expiry.ts';
import { MINUTE_MS } from '../../lib/duration.ts';
import type { Log } from '../../lib/log.ts';
import type { MandatePreview } from '../../mandates/overview.ts';
import type { BudgetLook, LookAtBudgets } from '../../money/budget-look.ts';
import type { PriceOrder } from '../../money/order-cost.ts';
import type { OrderCost } from '../../money/prices.ts';
import { addYears } from '../../names/dates.ts';
import type { Impacts } from '../../names/order-impact.ts';
import type { OrderIncidents } from '../../names/order-incidents.ts';
import { isPaused } from '../../orders/bulk/waves.ts';
import {
  accountOwner,
  FOLLOWED_TASKS,
  isFinal,
  isRequester,
  type Order,
  periodOf,
  undoableUntil,
} from '../../orders/order.ts';
import { budgetedItems } from '../../orders/order-budget.ts';
import type { OrderLogEntry } from '../../orders/order-events.ts';
import type { FirstExpiry, OrderStore } from '../../orders/ports.ts';
import type { Statement } from '../../orders/statement-shape.ts';
import type { ClaimedSubject, NotificationStore, PostedMessage } from '../../outbox/notifications.ts';
import { utcDay } from '../../zones/calendar-day.ts';
import { decisionApprovers, isRuled } from '../approvals/decision.view.ts';
import { emergencyNotice, toldOfEmergency } from '../approvals/emergency.view.ts';
import { notSignedNotice, unsignedPartsOf } from '../approvals/not-signed.view.ts';
import {
  type CalledPerson,
  calledPeople,
  copyCard,
  copyPurpose,
  isDirect,
  remindPeople,
} from '../approvals/reach-approvers.ts';
import { sendFiles, sendProgress } from '../bulk/bulk-messages.ts';
import type { AdminsToNotify, ShownCard } from '../context.ts';
import type { Term } from '../expiry/expiry.view.ts';
import { type Message, textMessage } from '../kit/blocks.ts';
import { isSaidInForce, mandateReply } from '../mandates/mandate.view.ts';
import { waitsForItsDay } from '../mandates/mandate-day.ts';
import { overBudgetReply, waitsForAdminAlone } from '../money/budget.view.ts';
import { costsInHistory, repricedReply } from '../money/price.view.ts';
import type { SlackDirectory } from '../outbound/directory.ts';
import {
  directMessageTo,
  type NotificationPlanner,
  ONCE,
  type SendNotification,
  type WantedNotification,
} from '../outbound/notify.ts';
import type { SlackWeb } from '../outbound/web.ts';
import { type CardExtras, noPlaceHint, orderCard, type UndoOffer } from './card.view.ts';
import { logDiffersNotice } from './log-differs.view.ts';
import { type CalledPeople, calledText } from './order.view.ts';
import { CARD, metadataOf, type PlannedOrder, type PlannedThread, type Thread } from './order-posts.ts';
import { changedStatementOf, statementChangedNotice } from './statement-changed.view.ts';
import { named, orderReply } from './thread.view.ts';

export interface OrderPlannerDeps {
  readonly web: SlackWeb;
  readonly directory: SlackDirectory;
  readonly orders: Pick<OrderStore, 'loadWithHistory' | 'history' | 'list' | 'recordShownExcess'>;
  readonly settings: () => Promise<TeamSettings>;
  /** What an order sends; undefined when its rows give no request any more. */
  readonly statementOf: (order: Order) => Statement | undefined;
  /** What an order costs today by the team's price list. */
  readonly priceOf: PriceOrder;
  /** What the order takes out of the team's budgets. */
  readonly lookAtBudgets: LookAtBudgets;
  /** The impact on an order’s name. */
  readonly impacts: Pick<Impacts, 'forCard' | 'former'>;
  /** The open incidents of the names of an order. */
  readonly incidents: Pick<OrderIncidents, 'openOf'>;
  /** What the watch list knows of a name. */
  readonly findListed: Expiry['findListed'];
  /** When the first of an order’s names expires. */
  readonly firstExpiry: FirstExpiry;
  /** Called if nobody else is named, and when an order exceeds a budget. */
  readonly adminsToNotify: AdminsToNotify;
  /** What a waiting order needs at this moment. */
  readonly decisionOf: (order: Order) => Promise<WaitingDecision>;
  /** What a waiting mandate would cover; empty for other orders. */
  readonly previewOf: (order: Order) => Promise<MandatePreview | undefined>;
  /** The people who may approve a waiting order at this moment. */
  readonly peopleWhoMayApprove: (order: Order) => Promise<readonly string[]>;
  readonly now: () => Date;
  readonly log: Log;
}

/** What has to be told of an order: its card, copies of it, and what stands in their threads. */
export function createOrderPlanner(deps: OrderPlannerDeps): NotificationPlanner {
  return async (claim, send) => {
    const again = pauseOf(claim.id, deps.now());
    if (again !== undefined) return { again, isDeferred: true };
    const found = await deps.orders.loadWithHistory(claim.id, 'system');
    if (found === undefined || !wasAskedFor(found.history)) return undefined;
    if (waitsForItsDay(found.order))
      return { again: new Date(deps.now().getTime() + DAY_WAIT_MS), isDeferred: true };
    noteShown(found.order, deps.now());
    const standing = standingMessages(claim);
    const noted: SendNotification = async (wanted) => {
      const sent = await send(wanted);
      if (sent.at !== undefined) standing.set(wanted.purpose, sent.at);
      else if (sent.state === 'refused') standing.delete(wanted.purpose);
      return sent;
    };
    await planOrder(deps, { ...found, version: claim.version, standing, send: noted });
    return undefined;
  };
}

/** Until the message of its day stands, which has its cards shown at once. */
const DAY_WAIT_MS = 5 * MINUTE_MS;

/** Where the messages of a subject stand, by their purposes. */
export function standingMessages({ notifications }: ClaimedSubject): Map<string, PostedMessage> {
  return new Map(
    notifications.flatMap(({ purpose, message }) =>
      message === undefined ? [] : [[purpose, message] as const],
    ),
  );
}

/** Between two updates of the messages of an order that changes all the time: Slack allows about one a second a channel. */
const BULK_UPDATE_MS = 3_000;

/** When the messages of bulk orders were shown last by this process. */
const shownAt = new Map<string, number>();

/** Until when an order's messages stay as they are; undefined when they may be shown now. Asked before its thousands of items are read. */
function pauseOf(orderId: string, now: Date): Date | undefined {
  const since = now.getTime() - (shownAt.get(orderId) ?? Number.NEGATIVE_INFINITY);
  // A clock that was put back does not hold them up.
  return since >= 0 && since < BULK_UPDATE_MS ? new Date(now.getTime() + BULK_UPDATE_MS - since) : undefined;
}

function noteShown({ id, bulk, state }: Order, now: Date): void {
  if (bulk !== undefined && !isFinal(state)) shownAt.set(id, now.getTime());
  else shownAt.delete(id);
}

/**
 * Records a card that was posted while the answer, or the bot, was lost. From now on it is updated as well. A copy for
 * those who decide counts as the one of its place, so that no other is posted there.
 */
export async function adoptCard(
  {
    notifications,
    orders,
    now,
  }: {
    readonly notifications: Pick<NotificationStore, 'adopt'>;
    readonly orders: Pick<OrderStore, 'load'>;
    readonly now: () => Date;
  },
  orderId: string,
  { channelId, ts, shownTo }: ShownCard,
): Promise<void> {
  const order = await orders.load(orderId, 'system');
  if (order === undefined) return;
  // The card itself stands with the person who asked where the bot cannot post in the channel.
  const isCard = channelId === order.channelId || (isDirect({ channelId }) && shownTo === order.requesterId);
  const purposes = isCard ? [CARD, `${COPY}${ts}`] : [CARD, copyPurpose(channelId, shownTo), `${COPY}${ts}`];
  await notifications.adopt({ kind: 'order', id: orderId }, { channelId, ts }, purposes, now());
}

/** The purposes of copies of a card begin with it. */
const COPY = `${CARD}:`;

/** Sends all messages of an order, what stands in a thread after the message that begins it. */
async function planOrder(deps: OrderPlannerDeps, planned: PlannedOrder): Promise<void> {
  const { order, history, standing, send } = planned;
  const { extras, otherAdmins, isForAdmins, approvalChannel } = await readCardExtras(deps, order, history);
  const wanted = {
    version: String(planned.version),
    essence: cardEssence(order, extras.budgets),
    since: lastChangeAt(order, history),
    metadata: metadataOf(order),
    message: () => orderCard(order, extras),
  };
  const copies = [...standing.keys()].filter((purpose) => purpose.startsWith(COPY));
  const first = await send(firstCard(deps, planned, extras, wanted));
  const cards = [first];
  for (const purpose of copies) cards.push(await send({ ...wanted, purpose, places: [] }));
  const { at: card } = first;
  if (card === undefined) return;
  if (cards.every(({ state }) => state !== 'pending')) await recordExcess(deps, order, extras.budgets);
  const waiting = { ...planned, card };
  await copyCard(deps, waiting, { ...wanted, approvalChannel, isOverBudget: exceedsBudget(extras.budgets) });
  const inThread = { ...planned, thread: threadOf(order, card), since: wanted.since };
  await sendProgress(deps, inThread);
  // The replies say who was reached.
  const called = new Map([
    ...(await remindPeople(deps, waiting, { approvers: extras.approvers, isForAdmins })),
    ...(await tellOfEmergency(deps, planned)),
  ]);
  const replyTo = (entry: OrderLogEntry) =>
    overBudgetReply(entry, otherAdmins) ??
    mandateReply(order, entry) ??
    (isSaidInForce(order, entry)
      ? undefined
      : orderReply(order, entry, extras.approvers, extras.now, called.get(entry.version))) ??
    repricedReply(entry, history);
  if (await sendReplies(deps, inThread, replyTo)) await sendFiles(deps, inThread);
  await tellOfChangedStatement(deps, inThread);
}

/** By direct message: tells everybody who could have decided, and the other admins, that one admin approved an order alone. */
async function tellOfEmergency(
  deps: Pick<OrderPlannerDeps, 'adminsToNotify' | 'directory'>,
  planned: PlannedOrder,
): Promise<ReadonlyMap<number, CalledPeople>> {
  const { order, history } = planned;
  const entry = history.findLast((each) => each.kind === 'emergency_approved');
  if (entry === undefined) return new Map();
  const people = new Set([...toldOfEmergency(entry), ...(await deps.adminsToNotify())]);
  // Who asked hears of it in the thread.
  for (const told of [entry.actor, order.requesterId]) people.delete(told);
  const about = { about: `${entry.version}:${entry.kind}`, since: entry.at };
  const message = () => emergencyNotice(order, entry);
  return new Map([[entry.version, await sendOnce(deps, planned, people, { ...about, message })]]);
}

/** Tells the admins that an order was not sent because it is not what was asked for any more, or not signed as it has to be. */
async function tellOfChangedStatement(
  deps: Pick<OrderPlannerDeps, 'adminsToNotify' | 'directory'>,
  planned: PlannedThread,
): Promise<void> {
  const { order, send, since, thread } = planned;
  const tell = async (about: string, message: () => Message) => {
    const called = await sendOnce(deps, planned, new Set(await deps.adminsToNotify()), {
      about,
      since,
      message,
    });
    if (called.waiting.length > 0) return;
    await send({
      purpose: `reply:told:${about}`,
      version: ONCE,
      since,
      places: [async () => thread],
      message: () => named(order, textMessage(calledText(called))),
      metadata: metadataOf(order),
    });
  };
  const changed = changedStatementOf(order);
  if (changed !== undefined) await tell('statement_changed', () => statementChangedNotice(order, changed));
  const unsigned = unsignedPartsOf(order);
  if (unsigned !== undefined) await tell('not_signed', () => notSignedNotice(order, unsigned));
  const contradicted = planned.history.find(({ kind }) => kind === 'contradicted');
  if (contradicted !== undefined) await tell('contradicted', () => logDiffersNotice(order, contradicted));
}

async function sendOnce(
  { directory }: Pick<OrderPlannerDeps, 'adminsToNotify' | 'directory'>,
  { order, send }: PlannedOrder,
  people: ReadonlySet<string>,
  { about, ...notice }: Pick<WantedNotification, 'since' | 'message'> & { readonly about: string },
): Promise<CalledPeople> {
  const results: CalledPerson[] = [];
  for (const userId of people) {
    const { state } = await send({
      ...notice,
      purpose: `notice:${about}:${userId}`,
      version: ONCE,
      places: [directMessageTo(directory, userId)],
      metadata: metadataOf(order),
    });
    results.push({ userId, state });
  }
  return calledPeople(results);
}

/** The card, in the place where it was asked for; where the bot cannot post there, with who asked. */
function firstCard(
  { directory }: OrderPlannerDeps,
  { order, standing }: PlannedOrder,
  extras: CardExtras,
  wanted: Pick<WantedNotification, 'version' | 'essence' | 'since' | 'metadata'>,
): WantedNotification {
  const { channelId, threadTs, requesterId } = order;
  return {
    ...wanted,
    purpose: CARD,
    places: [async () => ({ channelId, threadTs }), directMessageTo(directory, requesterId)],
    message: (place) => {
      // A card that replaces another one is no place to learn how to invite the bot.
      const isFirst = place > 0 && !standing.has(CARD);
      return orderCard(order, isFirst ? { ...extras, hint: noPlaceHint(order) } : extras);
    },
    mustArrive: true,
  };
}

/** The buttons of a card, and the budget excess that a click agrees to. */
function cardEssence(order: Order, budgets: BudgetLook | undefined): string {
  const { state } = order;
  const over = budgets?.over.map(({ tag, period, currency, leftMinor, takesMinor }) =>
    [tag, period, currency, leftMinor, takesMinor].join(' '),
  );
  const phase = state === 'EXECUTING' ? 'APPROVED' : state;
  return [isPaused(order) ? 'paused' : phase, ...(over ?? [])].join(' · ');
}

/** An order that was asked for on a message is shown in that message's thread, not in a thread below the card. */
function threadOf({ channelId, threadTs }: Order, card: PostedMessage): Thread {
  return {
    channelId: card.channelId,
    threadTs: threadTs !== undefined && card.channelId === channelId ? threadTs : card.ts,
  };
}

/** Keeps what the cards say by now of budgets that the order exceeds: who presses from now on agrees to that. */
async function recordExcess(
  { orders }: Pick<OrderPlannerDeps, 'orders'>,
  order: Order,
  budgets: BudgetLook | undefined,
): Promise<void> {
  if (budgets !== undefined && !isDeepStrictEqual(budgets.over, order.shownExcess))
    await orders.recordShownExcess(order.id, budgets.over);
}

/** What an order's messages say beside the order at this moment, and whom they call. */
async function readCardExtras(deps: OrderPlannerDeps, order: Order, history: readonly OrderLogEntry[]) {
  const isWaiting = order.state === 'PENDING';
  const now = deps.now();
  const pricing = isWaiting || isPaused(order) ? costNow(deps, order) : undefined;
  const [admins, decision, settings, cost, budgets, term, impact, incidents, undo, past, preview] =
    await Promise.all([
      deps.adminsToNotify(),
      isWaiting ? deps.decisionOf(order) : undefined,
      deps.settings(),
      isWaiting ? pricing : undefined,
      budgetsNow(deps, order, pricing),
      termNow(deps, order),
      deps.impacts.forCard(order),
      isWaiting ? deps.incidents.openOf(order) : [],
      undoOffer(deps, order, now),
      pastNow(deps, order),
      deps.previewOf(order),
    ]);
  const otherAdmins = admins.filter((userId) => !isRequester(order, userId));
  const isForAdmins = exceedsBudget(budgets) && otherAdmins.length > 0 && waitsForAdminAlone(history);
  const awaited =
    decision === undefined || decision.demand.requirements.length === 0
      ? formerApprovers(order, settings.approvers)
      : decisionApprovers(decision);
  const extras = {
    statement: deps.statementOf(order),
    approvers: isForAdmins ? otherAdmins : awaited,
    history,
    now,
    cost,
    decision,
    budgets,
    term,
    impact: impact === 'none' ? undefined : impact,
    incidents,
    undo,
    ...past,
    preview,
  };
  return { extras, otherAdmins, isForAdmins, approvalChannel: settings.approvalChannel };
}

function exceedsBudget(budgets: CardExtras['budgets']): boolean {
  return budgets !== undefined && budgets.over.length > 0;
}

/** When the last event happened that is to be told. */
function lastChangeAt({ createdAt }: Order, history: readonly OrderLogEntry[]): Date {
  return history.at(-1)?.at ?? createdAt;
}

function replyPurpose({ version, kind }: OrderLogEntry): string {
  return `reply:${version}:${kind}`;
}

/**
 * Posts the replies that are missing, one after the other. If the bot was removed from the channel since the card was posted,
 * who asked is told the outcome directly.
 * @returns whether all stand
 */
async function sendReplies(
  { directory }: OrderPlannerDeps,
  { order, history, standing, send, thread, since }: PlannedThread,
  replyTo: (entry: OrderLogEntry) => Message | undefined,
): Promise<boolean> {
  const directlyTo = (userId: string) => directMessageTo(directory, userId);
  for (const entry of history) {
    const purpose = replyPurpose(entry);
    const reply = standing.has(purpose) ? undefined : replyTo(entry);
    if (reply === undefined) continue;
    // If the card is a direct message to whoever retries, the owner of the account would not see the reply there.
    const isForOwner = entry.kind === 'requested' && thread.channelId !== order.channelId;
    const { state } = await send({
      purpose,
      version: ONCE,
      since,
      places: [
        isForOwner ? directlyTo(accountOwner(order)) : async () => thread,
        directlyTo(order.requesterId),
      ],
      message: () => named(order, reply),
      metadata: metadataOf({ ...order, state: entry.state }),
    });
    if (state === 'pending') return false;
  }
  return true;
}

/** Those who decided about an order that no longer waits: the approvers of its rules, or of the settings. */
function formerApprovers({ demand }: Order, general: readonly string[]): readonly string[] {
  if (!isRuled(demand)) return general;
  return [...new Set(demand.requirements.flatMap(({ approvers }) => approvers))];
}

/** Nameservers can be set back for a while, if it is known what they were before. */
async function undoOffer(
  { impacts }: OrderPlannerDeps,
  order: Order,
  now: Date,
): Promise<UndoOffer | undefined> {
  const [item, ...others] = order.items;
  const until = item && undoableUntil(order, item);
  if (until === undefined || until <= now || others.length > 0) return undefined;
  const former = await impacts.former(order);
  return former.kind === 'same' ? undefined : { until, former };
}

/** What an order, or the rest of a paused one, costs by the price list of today; undefined where it has no price. */
export function costNow({ priceOf }: Pick<OrderPlannerDeps, 'priceOf'>, order: Order) {
  const { task, input } = order;
  return priceOf({ task, names: budgetedItems(order).items.map(({ name }) => name), input });
}

/** What the watch list tells of the one name of a waiting order on a live system; undefined where no card shows it. */
export async function termNow(
  { findListed }: Pick<OrderPlannerDeps, 'findListed'>,
  { state, task, account, items, input }: Order,
): Promise<Term | undefined> {
  const [item, ...others] = items;
  const isShown = state === 'PENDING' && !isDemoContext(account.context);
  if (!isShown || item === undefined || others.length > 0) return undefined;
  if (task !== 'renew' && task !== 'restore' && task !== 'create') return undefined;
  const listed = await findListed(item.name);
  if (task !== 'renew') return listed && { task, listed };
  const day = listed?.day && new Date(listed.day);
  return { task, listed, renewedUntil: day && utcDay(addYears(day, periodOf(input) ?? 1)) };
}

/** What happened last to the one name of a waiting order, or of a draft, on a live system, and what undoing a deletion would cost. */
export async function pastNow(
  {
    orders,
    priceOf,
  }: { readonly orders: Pick<OrderStore, 'list' | 'history'> } & Pick<OrderPlannerDeps, 'priceOf'>,
  { state, task, account, items }: Order,
): Promise<Pick<CardExtras, 'last' | 'restoreCost'>> {
  const [item, ...others] = items;
  const isAsked = state === 'PENDING' || state === 'DRAFT';
  const isShown = isAsked && FOLLOWED_TASKS.includes(task) && !isDemoContext(account.context);
  if (!isShown || item === undefined || others.length > 0) return {};
  const [[last], restoreCost] = await Promise.all([
    orders.list({
      ...{ viewer: 'system', name: item.name, tasks: FOLLOWED_TASKS },
      ...{ states: ['SUCCEEDED'], isLive: true, limit: 1 },
    }),
    task === 'delete' ? priceOf({ task: 'restore', names: [item.name], input: undefined }) : undefined,
  ]);
  if (last === undefined || last.isPrivate) return { restoreCost };
  const { asked, approved } = costsInHistory(await orders.history(last.id, 'system'));
  return { restoreCost, last: { order: last, cost: approved ?? asked } };
}

/** What a waiting order, or the rest of a paused one, takes out of the team's budgets; undefined where it has no price. */
export async function budgetsNow(
  { lookAtBudgets }: Pick<OrderPlannerDeps, 'lookAtBudgets'>,
  order: Order,
  pricing: Promise<OrderCost | undefined> | undefined,
): Promise<BudgetLook | undefined> {
  return pricing === undefined || isDemoContext(order.account.context)
    ? undefined
    : lookAtBudgets(budgetedItems(order), pricing);
}

/** Only its requester is told of a draft that was never confirmed. Anything that was sent had been confirmed. */
function wasAskedFor(history: readonly OrderLogEntry[]): boolean {
  return history.some(
    ({ state, kind }) =>
      state !== 'DRAFT' && (kind === 'requested' || kind === 'confirmed' || kind === 'invalidated'),
  );
}
