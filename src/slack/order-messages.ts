import { isDeepStrictEqual } from 'node:util';
import { isDemoContext } from '../accounts/account.ts';
import type { TeamSettings } from '../config.ts';
import { utcDay } from '../expiry/days.ts';
import type { Expiry } from '../expiry/expiry.ts';
import { addYears } from '../expiry/expiry-date.ts';
import type { Log } from '../log.ts';
import type { BudgetLook, LookAtBudgets } from '../money/budget-look.ts';
import type { PriceOrder } from '../money/order-cost.ts';
import type { OrderCost } from '../money/prices.ts';
import type { Impacts } from '../names/order-impact.ts';
import type { PostedMessage } from '../notifications.ts';
import type { WaitingDecision } from '../orders/approvers.ts';
import { budgetedItems } from '../orders/budget.ts';
import { accountOwner, isFinal, isRequester, type Order, periodOf, undoableUntil } from '../orders/order.ts';
import type {
  FirstExpiry,
  HistoryEntry,
  MessageRef,
  MessageStore,
  OrderStore,
  UnnotifiedOrder,
} from '../orders/ports.ts';
import type { Statement } from '../orders/statement.ts';
import { isPaused } from '../orders/waves.ts';
import { shareFiles, type Thread, updateProgress } from './bulk-messages.ts';
import type { SlackDirectory } from './directory.ts';
import { NOTIFICATION_LEASE_MS } from './notify.ts';
import { tellOfChangedStatement, tellOfEmergency } from './order-notices.ts';
import { cannotPost, metadataOf } from './order-posts.ts';
import { retryDelayOf, SlackApiError, type SlackWeb } from './platform/web.ts';
import { postMessage, updateMessage } from './post-message.ts';
import { type ChannelAlert, copyCard, copyPurpose, isDirect, remindPeople } from './reach-approvers.ts';
import { type Message, mention } from './views/blocks.ts';
import { overBudgetReply, waitsForAdminAlone } from './views/budget.ts';
import { type CardExtras, orderCard, type UndoOffer } from './views/card.ts';
import { decisionApprovers, isRuled } from './views/decision.ts';
import type { Term } from './views/expiry.ts';
import { repricedReply } from './views/price.ts';
import { orderReply } from './views/thread.ts';

export interface NotifierDeps {
  readonly web: SlackWeb;
  readonly directory: SlackDirectory;
  readonly orders: OrderStore;
  readonly messages: MessageStore;
  readonly settings: () => Promise<TeamSettings>;
  /** What an order sends; undefined when its rows give no request any more. */
  readonly statementOf: (order: Order) => Statement | undefined;
  /** What an order costs today by the team's price list. */
  readonly priceOf: PriceOrder;
  /** What the order takes out of the team's budgets. */
  readonly lookAtBudgets: LookAtBudgets;
  /** The impact on an order’s name. */
  readonly impacts: Pick<Impacts, 'forCard'> & Partial<Pick<Impacts, 'former'>>;
  /** What the watch list knows of a name. */
  readonly findListed?: Expiry['findListed'];
  /** When the first of an order’s names expires. */
  readonly firstExpiry?: FirstExpiry;
  /** `ADMINS`: whom to call where nobody else is named, and when an order exceeds a budget. */
  readonly admins: readonly string[];
  readonly approvalChannelAlert: ChannelAlert;
  /** What a waiting order needs at this moment. */
  readonly decisionOf: (order: Order) => Promise<WaitingDecision>;
  /** The people who may approve a waiting order at this moment. */
  readonly peopleWhoMayApprove: (order: Order) => Promise<readonly string[]>;
  readonly now: () => Date;
  readonly log: Log;
  /** {@link NOTIFICATION_LEASE_MS} when left out. */
  readonly leaseMs?: number;
}

const HEARTBEATS = 4;

/**
 * Brings what Slack shows of an order to its latest state: posts the card if it is missing, updates it, and posts the
 * missing replies. Safe to repeat. When Slack is away or limits the bot, this order alone is put off.
 * @param isClaimed its messages are claimed for this process already
 */
export async function notifyOrder(deps: NotifierDeps, orderId: string, isClaimed = false): Promise<void> {
  const { messages } = deps;
  // The process with the lease shows this change too, because it looks for newer versions before it releases the lease.
  let known = isClaimed
    ? await messages.unnotified(orderId)
    : await messages.claimNotification(orderId, deps.now(), deps.leaseMs ?? NOTIFICATION_LEASE_MS);
  while (known !== undefined) {
    const shown = known;
    const pause = pauseBefore(shown.order, deps.now());
    if (pause !== undefined) return messages.deferNotification(orderId, pause);
    let updated: Updated;
    try {
      updated = await keepingLease(deps, orderId, () => updateMessages(deps, shown));
    } catch (error) {
      const again = new Date(deps.now().getTime() + retryDelayOf(error, shown.failedAttempts));
      deps.log.warn({ err: error, orderId, again }, 'showing an order in Slack; will try again');
      await messages.postponeNotification(orderId, again);
      return;
    }
    const { last, again } = updated;
    if (await messages.releaseNotification(shown, last === undefined ? [] : [last], again)) return;
    known = await messages.unnotified(orderId);
  }
}

/** Between two updates of the messages of an order that changes all the time: Slack allows about one a second a channel. */
const BULK_UPDATE_MS = 3_000;

/** When the messages of bulk orders were shown last by this process. */
const shownAt = new Map<string, number>();

/** Until when an order's messages stay as they are; undefined when they may be shown now, which is noted. */
function pauseBefore({ id, bulk, state }: Order, now: Date): Date | undefined {
  if (bulk === undefined) return undefined;
  const since = now.getTime() - (shownAt.get(id) ?? Number.NEGATIVE_INFINITY);
  // A clock that was put back does not hold them up.
  if (since >= 0 && since < BULK_UPDATE_MS) return new Date(now.getTime() + BULK_UPDATE_MS - since);
  if (isFinal(state)) shownAt.delete(id);
  else shownAt.set(id, now.getTime());
  return undefined;
}

async function keepingLease<T>(deps: NotifierDeps, orderId: string, work: () => Promise<T>): Promise<T> {
  const { leaseMs = NOTIFICATION_LEASE_MS } = deps;
  let renewal: Promise<void> | undefined;
  const heartbeat = setInterval(() => {
    renewal = deps.messages
      .extendShowLease(orderId, leaseMs)
      .catch((err: unknown) => deps.log.warn({ err, orderId }, 'keeping the messages of an order'));
  }, leaseMs / HEARTBEATS);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    // An extension under way could otherwise take the lease again after its release.
    await renewal;
  }
}

/** A card on which somebody did something. */
export interface ShownCard {
  readonly channelId: string;
  readonly ts: string;
  readonly shownTo: string;
}

/**
 * Records a card that was posted while the answer, or the bot, was lost. From now on it is updated as well. A copy for
 * those who decide counts as the one of its place, so that no other is posted there.
 */
export async function adoptCard(
  { messages, orders, now }: Pick<NotifierDeps, 'messages' | 'orders' | 'now'>,
  orderId: string,
  { channelId, ts, shownTo }: ShownCard,
): Promise<void> {
  const order = await orders.load(orderId);
  if (order === undefined) return;
  // The card itself stands with the person who asked where the bot cannot post in the channel.
  const isCard = channelId === order.channelId || (isDirect({ channelId }) && shownTo === order.requesterId);
  const purposes = isCard
    ? [CARD, `${CARD}:${ts}`]
    : [CARD, copyPurpose(channelId, shownTo), `${CARD}:${FURTHER_COPY}:${ts}`];
  await messages.adoptMessage(orderId, { channelId, ts }, purposes, now());
}

/** Shows all orders again that wait for approval, because what their cards say of prices or people has changed. */
export async function refreshWaitingCards({
  orders,
  now,
}: Pick<NotifierDeps, 'orders' | 'now'>): Promise<void> {
  const waiting = await orders.list({
    states: ['PENDING'],
    limit: MAX_REFRESHED,
  });
  for (const { id } of waiting) await orders.requestTelling(id, now());
}

/** More than the number of orders that ever wait for approval. */
const MAX_REFRESHED = 1_000;

const CARD = 'card';
/** A copy beside the one of its place. Nothing is said in its thread. */
const FURTHER_COPY = 'again';
/** A copy of the card in its own channel, whose thread may be continued. This is not so for copies elsewhere. */
const OLD_COPY = /^card:\d/;

interface Updated {
  /** The message that was posted last. It is recorded by the statement that releases the lease. */
  readonly last?: MessageRef | undefined;
  /** When somebody is to be told who is not disturbed at night. */
  readonly again?: Date | undefined;
}

async function updateMessages(
  deps: NotifierDeps,
  { order, history, messages: refs }: UnnotifiedOrder,
): Promise<Updated> {
  if (!wasAskedFor(history)) return {};
  const { extras, otherAdmins, isForAdmins, approvalChannel } = await readCardExtras(deps, order, history);
  const { approvers } = extras;
  const since = lastChangeAt(order, history);
  const cards = refs.filter(({ purpose }) => purpose === CARD || purpose.startsWith(`${CARD}:`));
  const updated = await updateCards(deps, order, cards, extras);
  const card =
    updated.card ?? (await postNewCard(deps, order, extras, { since, isFirst: cards.length === 0 }));
  if (updated.problem === undefined) await recordExcess(deps, order, extras.budgets);
  const copies = await copyCard(deps, {
    order,
    card,
    refs,
    message: () => orderCard(order, extras),
    isOverBudget: isOver(extras.budgets),
    since,
    approvalChannel,
  });
  // An order that was asked for on a message is shown in that message's thread, not in a thread below the card.
  const thread = {
    channelId: card.channelId,
    threadTs: order.threadTs !== undefined && card.channelId === order.channelId ? order.threadTs : card.ts,
  };
  const inThread = { ...deps, thread };
  const known = new Map(refs.map((ref) => [ref.purpose, ref]));
  await updateProgress(inThread, order, history, known);
  const replyTo = (entry: HistoryEntry) =>
    known.has(replyPurpose(entry))
      ? undefined
      : (overBudgetReply(entry, otherAdmins) ??
        orderReply(order, entry, approvers, extras.now) ??
        repricedReply(entry, history));
  const last = await postReplies(inThread, order, history, replyTo);
  // A file may have to be tried again, and the reply before it not.
  if (order.bulk !== undefined && last !== undefined) await deps.messages.recordMessage(order.id, last);
  await shareFiles(inThread, order, history, known);
  const waiting = { order, card, refs: [...refs, ...copies.posted] };
  const people = await remindPeople(deps, { ...waiting, history, approvers, isForAdmins });
  const emergency = await tellOfEmergency(deps, { order, history, refs });
  const changed = await tellOfChangedStatement(deps, { order, history, refs });
  const problem = updated.problem ?? copies.problem ?? people.problem ?? emergency ?? changed;
  if (problem === undefined) return { last, again: people.again };
  if (last !== undefined) await deps.messages.recordMessage(order.id, last);
  throw problem;
}

/** Keeps what the cards say by now of budgets that the order exceeds: who presses from now on agrees to that. */
async function recordExcess(
  { messages }: NotifierDeps,
  order: Order,
  budgets: BudgetLook | undefined,
): Promise<void> {
  if (budgets !== undefined && !isDeepStrictEqual(budgets.over, order.shownExcess))
    await messages.recordShownExcess(order.id, budgets.over);
}

/** What an order's messages say beside the order at this moment, and whom they call. */
async function readCardExtras(deps: NotifierDeps, order: Order, history: readonly HistoryEntry[]) {
  const isWaiting = order.state === 'PENDING';
  const now = deps.now();
  const pricing = isWaiting || isPaused(order) ? costNow(deps, order) : undefined;
  const [decision, settings, cost, budgets, term, impact, undo] = await Promise.all([
    isWaiting ? deps.decisionOf(order) : undefined,
    deps.settings(),
    isWaiting ? pricing : undefined,
    budgetsNow(deps, order, pricing),
    termNow(deps, order),
    deps.impacts.forCard(order),
    undoOffer(deps, order, now),
  ]);
  const otherAdmins = deps.admins.filter((userId) => !isRequester(order, userId));
  const isForAdmins = isOver(budgets) && otherAdmins.length > 0 && waitsForAdminAlone(history);
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
    undo,
  };
  return { extras, otherAdmins, isForAdmins, approvalChannel: settings.approvalChannel };
}

function isOver(budgets: CardExtras['budgets']): boolean {
  return budgets !== undefined && budgets.over.length > 0;
}

/**
 * Posts a card where none stands, and records it.
 * @param isFirst no card was posted before
 */
async function postNewCard(
  deps: NotifierDeps,
  order: Order,
  extras: CardExtras,
  { since, isFirst }: { readonly since: Date; readonly isFirst: boolean },
): Promise<MessageRef> {
  const at = await postCard(deps, order, extras, since);
  const first = { purpose: CARD, ...at };
  // If another process took over meanwhile, there is a second card, which is updated as well.
  if (isFirst && (await deps.messages.recordMessage(order.id, first))) return first;
  const copy = { purpose: `${CARD}:${at.ts}`, ...at };
  await deps.messages.recordMessage(order.id, copy);
  return copy;
}

/** When the last event happened that is to be told. */
function lastChangeAt({ createdAt }: Order, history: readonly HistoryEntry[]): Date {
  return history.at(-1)?.at ?? createdAt;
}

function replyPurpose({ version, kind }: HistoryEntry): string {
  return `reply:${version}:${kind}`;
}

/** Posts the replies that are missing. @returns the last one, which is not recorded yet */
async function postReplies(
  deps: NotifierDeps & { readonly thread: Thread },
  order: Order,
  history: readonly HistoryEntry[],
  replyTo: (entry: HistoryEntry) => Message | undefined,
): Promise<MessageRef | undefined> {
  const { thread } = deps;
  const since = lastChangeAt(order, history);
  let last: MessageRef | undefined;
  for (const entry of history) {
    const reply = replyTo(entry);
    if (reply === undefined) continue;
    if (last !== undefined) await deps.messages.recordMessage(order.id, last);
    // If the card is a direct message to whoever retries, the owner of the account would not see the reply there.
    const to =
      entry.kind === 'requested' && thread.channelId !== order.channelId
        ? { channelId: await deps.directory.directMessage(accountOwner(order)), threadTs: undefined }
        : thread;
    const at = await postReply(deps, { ...order, state: entry.state }, to, reply, since);
    last = { purpose: replyPurpose(entry), ...at };
  }
  return last;
}

/** Those who decided about an order that no longer waits: the approvers of its rules, or of the settings. */
function formerApprovers({ demand }: Order, general: readonly string[]): readonly string[] {
  if (!isRuled(demand)) return general;
  return [...new Set(demand.requirements.flatMap(({ approvers }) => approvers))];
}

/** Nameservers can be set back for a while, if it is known what they were before. */
async function undoOffer({ impacts }: NotifierDeps, order: Order, now: Date): Promise<UndoOffer | undefined> {
  const [item, ...others] = order.items;
  const until = item && undoableUntil(order, item);
  if (until === undefined || until <= now || others.length > 0) return undefined;
  const former = await impacts.former?.(order);
  return former === undefined || former.kind === 'same' ? undefined : { until, former };
}

/** What an order, or the rest of a paused one, costs by the price list of today; undefined where it has no price. */
export function costNow({ priceOf }: Pick<NotifierDeps, 'priceOf'>, order: Order) {
  const { task, input } = order;
  return priceOf({ task, names: budgetedItems(order).items.map(({ name }) => name), input });
}

/** What the watch list tells of the one name of a waiting order on a live system; undefined where no card shows it. */
export async function termNow(
  { findListed }: Pick<NotifierDeps, 'findListed'>,
  { state, task, account, items, input }: Order,
): Promise<Term | undefined> {
  const [item, ...others] = items;
  const isLive = state === 'PENDING' && !isDemoContext(account.context);
  if (findListed === undefined || !isLive || item === undefined || others.length > 0) return undefined;
  if (task !== 'renew' && task !== 'restore' && task !== 'create') return undefined;
  const listed = await findListed(item.name);
  if (task !== 'renew') return listed && { task, listed };
  const day = listed?.day && new Date(listed.day);
  return { task, listed, renewedUntil: day && utcDay(addYears(day, periodOf(input) ?? 1)) };
}

/** What a waiting order, or the rest of a paused one, takes out of the team's budgets; undefined where it has no price. */
export async function budgetsNow(
  { lookAtBudgets }: Pick<NotifierDeps, 'lookAtBudgets'>,
  order: Order,
  pricing: Promise<OrderCost | undefined> | undefined,
): Promise<BudgetLook | undefined> {
  return pricing === undefined || isDemoContext(order.account.context)
    ? undefined
    : lookAtBudgets(budgetedItems(order), pricing);
}

/** Only its requester is told of a draft that was never confirmed. Anything that was sent had been confirmed. */
function wasAskedFor(history: readonly HistoryEntry[]): boolean {
  return history.some(
    ({ state, kind }) =>
      state !== 'DRAFT' && (kind === 'requested' || kind === 'confirmed' || kind === 'invalidated'),
  );
}

/** Codes with which Slack says that a message can never be updated again. */
const CANNOT_UPDATE: ReadonlySet<string> = new Set([
  'channel_not_found',
  'cant_update_message',
  'edit_window_closed',
  'is_archived',
  'is_inactive',
  'not_in_channel',
]);

async function postCard(
  deps: NotifierDeps,
  order: Order,
  extras: CardExtras,
  since: Date,
): Promise<PostedMessage> {
  const metadata = metadataOf(order);
  try {
    return await postMessage(deps.web, order, orderCard(order, extras), metadata);
  } catch (error) {
    if (!cannotPost(deps, error, since)) throw error;
    const channelId = await deps.directory.directMessage(order.requesterId);
    const hint = `I cannot post where ${mention(order.requesterId)} asked, so this card is here, and approvers hear of it from me. Invite me there with \`/invite @Domain Steward\` to have the next one in that place.`;
    return postMessage(deps.web, { channelId }, orderCard(order, { ...extras, hint }), metadata);
  }
}

/** If the bot was removed from the channel since the card was posted, the requester is told the outcome directly. */
async function postReply(
  deps: NotifierDeps,
  order: Order,
  to: { readonly channelId: string; readonly threadTs: string | undefined },
  reply: Message,
  since: Date,
): Promise<PostedMessage> {
  const metadata = metadataOf(order);
  try {
    return await postMessage(deps.web, to, reply, metadata);
  } catch (error) {
    if (!cannotPost(deps, error, since)) throw error;
    const channelId = await deps.directory.directMessage(order.requesterId);
    if (channelId === to.channelId) throw error;
    return postMessage(deps.web, { channelId }, reply, metadata);
  }
}

/**
 * Updates the existing cards. An error at one of them does not hold up the thread, except for a rate limit.
 * @returns the card to reply to, undefined where there is none; and the error to try again for
 */
async function updateCards(
  deps: NotifierDeps,
  order: Order,
  cards: readonly MessageRef[],
  extras: CardExtras,
): Promise<{ readonly card: MessageRef | undefined; readonly problem: SlackApiError | undefined }> {
  const standing: MessageRef[] = [];
  let problem: SlackApiError | undefined;
  for (const card of cards) {
    try {
      if (await updateCard(deps, order, card, extras)) standing.push(card);
    } catch (error) {
      if (!(error instanceof SlackApiError) || error.kind === 'rate_limited') throw error;
      problem = error;
      standing.push(card);
    }
  }
  const card =
    standing.find(({ purpose }) => purpose === CARD) ??
    standing.findLast(({ purpose }) => OLD_COPY.test(purpose));
  return { card, problem };
}

/** @returns false when somebody has deleted it */
async function updateCard(
  deps: NotifierDeps,
  order: Order,
  card: MessageRef,
  extras: CardExtras,
): Promise<boolean> {
  try {
    await updateMessage(deps.web, card, orderCard(order, extras), metadataOf(order));
    return true;
  } catch (error) {
    if (error instanceof SlackApiError && error.code === 'message_not_found') return false;
    // The thread continues without it.
    if (error instanceof SlackApiError && error.code !== undefined && CANNOT_UPDATE.has(error.code)) {
      deps.log.warn(
        { orderId: order.id, code: error.code },
        'the card of an order cannot be updated any more',
      );
      return true;
    }
    throw error;
  }
}
