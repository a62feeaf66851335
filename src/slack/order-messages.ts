import type { TeamSettings } from '../config.ts';
import type { Log } from '../log.ts';
import type { PriceOrder } from '../money/order-cost.ts';
import { isPricedTask } from '../money/prices.ts';
import type { Impacts } from '../names/order-impact.ts';
import { accountOwner, isFinal, type Order, pricedInputs } from '../orders/order.ts';
import type { HistoryEntry, MessageRef, MessageStore, OrderStore, UnnotifiedOrder } from '../orders/ports.ts';
import { ORDER_TASK_NAMES } from '../orders/tasks.ts';
import { shareFiles, updateProgress } from './bulk-messages.ts';
import type { SlackDirectory } from './directory.ts';
import { withPlainFallback } from './fallback.ts';
import {
  isTokenError,
  isTransient,
  okResponse,
  postedResponse,
  retryAfterOf,
  SlackApiError,
  type SlackWeb,
} from './platform/web.ts';
import { type Message, mention } from './views/blocks.ts';
import { type CardExtras, orderCard } from './views/card.ts';
import { repricedReply } from './views/price.ts';
import { orderReply } from './views/thread.ts';

export interface NotifierDeps {
  readonly web: SlackWeb;
  readonly directory: SlackDirectory;
  readonly orders: OrderStore;
  readonly messages: MessageStore;
  readonly settings: () => Promise<TeamSettings>;
  /** What an order costs today by the team's price list. */
  readonly priceOf?: PriceOrder;
  /** What hangs on an order’s name. */
  readonly impacts: Pick<Impacts, 'forCard'>;
  readonly now: () => Date;
  readonly log: Log;
  /** {@link NOTIFICATION_LEASE_MS} when left out. */
  readonly leaseMs?: number;
}

/** For how long one process has an order's messages to itself; renewed while it is at it. */
export const NOTIFICATION_LEASE_MS = 12_000;
const HEARTBEATS = 4;
const MAX_WAIT_MS = 10 * 60_000;

/**
 * Brings what Slack shows of an order to its latest state: posts the card if it is not there, updates it, and
 * posts the replies that are missing. Repeating it is harmless. When Slack is away or limits us, it is put off, this
 * order alone.
 * @param isClaimed its messages are claimed for this process already
 */
export async function notifyOrder(deps: NotifierDeps, orderId: string, isClaimed = false): Promise<void> {
  const { messages } = deps;
  // Whoever has the lease sees our change too: it looks for newer versions before it lets go.
  let known = isClaimed
    ? await messages.unnotified(orderId)
    : await messages.claimNotification(orderId, deps.now(), deps.leaseMs ?? NOTIFICATION_LEASE_MS);
  while (known !== undefined) {
    const shown = known;
    const pause = pauseBefore(shown.order, deps.now());
    if (pause !== undefined) return messages.deferNotification(orderId, pause);
    let last: MessageRef | undefined;
    try {
      last = await keepingLease(deps, orderId, () => updateMessages(deps, shown));
    } catch (error) {
      const again = new Date(deps.now().getTime() + waitAfter(error, shown.failedAttempts));
      deps.log.warn({ err: error, orderId, again }, 'showing an order in Slack; will try again');
      await messages.postponeNotification(orderId, again);
      return;
    }
    if (await messages.releaseNotification(shown, last === undefined ? [] : [last])) return;
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
    // Or it would take the lease again after it was given back.
    await renewal;
  }
}

/**
 * Takes up a card that was posted while the answer, or the bot, was lost: from now on it is kept up to date as well.
 * @param message where a button of a card was pressed
 */
export async function adoptCard(
  deps: Pick<NotifierDeps, 'orders' | 'messages' | 'now'>,
  orderId: string,
  message: { readonly channelId: string; readonly ts: string },
): Promise<void> {
  const known = await deps.messages.messages(orderId);
  if (known.some(({ ts }) => ts === message.ts)) return;
  if ((await deps.orders.load(orderId)) === undefined) return;
  const purpose = known.some((each) => each.purpose === CARD) ? `${CARD}:${message.ts}` : CARD;
  await deps.messages.adoptMessage(orderId, { purpose, ...message }, deps.now());
}

/** Has Slack shown anew how the orders stand that wait for approval: what their cards say of prices has changed. */
export async function refreshWaitingCards({
  orders,
  now,
}: Pick<NotifierDeps, 'orders' | 'now'>): Promise<void> {
  const waiting = await orders.list({
    states: ['PENDING'],
    tasks: ORDER_TASK_NAMES.filter((task) => isPricedTask(task)),
    limit: MAX_REFRESHED,
  });
  for (const { id } of waiting) await orders.requestTelling(id, now());
}

/** More orders than ever wait for approval. */
const MAX_REFRESHED = 1_000;

const CARD = 'card';

function waitAfter(error: unknown, attempt: number): number {
  return retryAfterOf(error) ?? Math.min(1_000 * 2 ** Math.min(attempt, 10), MAX_WAIT_MS);
}

/** @returns the message posted last, which is yet to be recorded: with letting go of all of them */
async function updateMessages(
  deps: NotifierDeps,
  { order, history, messages: refs }: UnnotifiedOrder,
): Promise<MessageRef | undefined> {
  if (!wasAskedFor(history)) return undefined;
  const known = new Map(refs.map((ref) => [ref.purpose, ref]));
  const { approvers } = await deps.settings();
  const now = deps.now();
  const cost = order.state === 'PENDING' ? await costNow(deps, order) : undefined;
  const impact = await deps.impacts.forCard(order);
  const extras = {
    approvers,
    history,
    now,
    ...(cost === undefined ? {} : { cost }),
    ...(impact === 'none' ? {} : { impact }),
  };
  const since = history.at(-1)?.at ?? order.createdAt;
  const cards = refs.filter(({ purpose }) => purpose === CARD || purpose.startsWith(`${CARD}:`));
  const updated = await updateCards(deps, order, cards, extras);
  let { card } = updated;
  if (card === undefined) {
    const at = await postCard(deps, order, extras, since);
    const copy = { purpose: `${CARD}:${at.ts}`, ...at };
    // Who was so slow that another one took over keeps a second card up to date as well.
    const isFirst =
      cards.length === 0 && (await deps.messages.recordMessage(order.id, { ...copy, purpose: CARD }));
    if (!isFirst) await deps.messages.recordMessage(order.id, copy);
    card = isFirst ? { ...copy, purpose: CARD } : copy;
  }
  let last: MessageRef | undefined;
  const thread = {
    channelId: card.channelId,
    threadTs: order.threadTs !== undefined && card.channelId === order.channelId ? order.threadTs : card.ts,
  };
  const bulk = { ...deps, thread };
  await updateProgress(bulk, order, history, known);
  for (const entry of history) {
    const purpose = `reply:${entry.version}:${entry.kind}`;
    if (known.has(purpose)) continue;
    const reply = orderReply(order, entry, approvers, now) ?? repricedReply(entry, history);
    if (reply === undefined) continue;
    // Under a message when the order was asked for there: that thread, not one below the card.
    const threadTs =
      order.threadTs !== undefined && card.channelId === order.channelId ? order.threadTs : card.ts;
    const shown = { ...order, state: entry.state };
    if (last !== undefined) await deps.messages.recordMessage(order.id, last);
    // Where the card is a direct message to who asks again, whose account it is would not see it there.
    const to =
      entry.kind === 'requested' && card.channelId !== order.channelId
        ? { channelId: await deps.directory.directMessage(accountOwner(order)), threadTs: undefined }
        : { channelId: card.channelId, threadTs };
    const at = await postReply(deps, shown, to, reply, since);
    last = { purpose, ...at };
  }
  // A file may have to be tried again, and the reply before it not.
  if (order.bulk !== undefined && last !== undefined) await deps.messages.recordMessage(order.id, last);
  await shareFiles(bulk, order, history, known);
  if (updated.problem === undefined) return last;
  if (last !== undefined) await deps.messages.recordMessage(order.id, last);
  throw updated.problem;
}

function costNow({ priceOf }: NotifierDeps, order: Order) {
  const { task, items } = order;
  return priceOf?.({ task, names: items.map(({ name }) => name), ...pricedInputs(order) });
}

/** A draft that was never confirmed is nobody's business but the requester's; what was sent had been confirmed. */
function wasAskedFor(history: readonly HistoryEntry[]): boolean {
  return history.some(
    ({ state, kind }) =>
      state !== 'DRAFT' && (kind === 'requested' || kind === 'confirmed' || kind === 'invalidated'),
  );
}

/** Codes with which Slack says that the bot cannot post in a channel. */
const CANNOT_POST: ReadonlySet<string> = new Set([
  'channel_not_found',
  'not_in_channel',
  'is_archived',
  'restricted_action',
  'restricted_action_read_only_channel',
  'restricted_action_thread_only_channel',
  'restricted_action_non_threadable_channel',
  'restricted_action_thread_locked',
  'cannot_reply_to_message',
  'messages_tab_disabled',
  'team_access_not_granted',
  'thread_not_found',
]);

/** Codes with which Slack says that a message will never change again. */
const CANNOT_UPDATE: ReadonlySet<string> = new Set([
  'channel_not_found',
  'cant_update_message',
  'edit_window_closed',
  'is_archived',
  'is_inactive',
  'not_in_channel',
]);

/** After this a refusal with a code that is not known here counts as one for good. */
const MAX_BLOCKED_MS = 60_000;

/** @param since when that happened which is to be said */
function cannotPost({ now }: NotifierDeps, error: unknown, since: Date): boolean {
  if (!(error instanceof SlackApiError) || error.code === undefined || isTransient(error)) return false;
  if (CANNOT_POST.has(error.code)) return true;
  // No other place takes a refused token either: what is to be said waits for a good one.
  if (isTokenError(error)) return false;
  return now().getTime() - since.getTime() > MAX_BLOCKED_MS;
}

async function postCard(
  deps: NotifierDeps,
  order: Order,
  extras: CardExtras,
  since: Date,
): Promise<{ channelId: string; ts: string }> {
  try {
    return await post(deps, order.channelId, order.threadTs, order, orderCard(order, extras));
  } catch (error) {
    if (!cannotPost(deps, error, since)) throw error;
    const channelId = await deps.directory.directMessage(order.requesterId);
    const hint = `I cannot post where ${mention(order.requesterId)} asked, so this card is here, where approvers do not see it. Invite me there with \`/invite @Domain Steward\` and ask again, or forward this to an approver.`;
    return post(deps, channelId, undefined, order, orderCard(order, { ...extras, hint }));
  }
}

/** Where the bot was sent away since the card was posted, what became of the order is told to the requester. */
async function postReply(
  deps: NotifierDeps,
  order: Order,
  to: { readonly channelId: string; readonly threadTs: string | undefined },
  reply: Message,
  since: Date,
): Promise<{ channelId: string; ts: string }> {
  try {
    return await post(deps, to.channelId, to.threadTs, order, reply);
  } catch (error) {
    if (!cannotPost(deps, error, since)) throw error;
    const channelId = await deps.directory.directMessage(order.requesterId);
    if (channelId === to.channelId) throw error;
    return post(deps, channelId, undefined, order, reply);
  }
}

/**
 * Brings the cards that stand to the latest state. What keeps one from it does not keep its thread from the result:
 * only a limit of Slack's holds that up as well.
 * @returns the card to reply to, undefined where none stands; and what to try again for
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
  return { card: standing.find(({ purpose }) => purpose === CARD) ?? standing.at(-1), problem };
}

/** @returns false when somebody has deleted it */
async function updateCard(
  deps: NotifierDeps,
  order: Order,
  card: MessageRef,
  extras: CardExtras,
): Promise<boolean> {
  const message = orderCard(order, extras);
  try {
    await withPlainFallback(message, ({ text, blocks }) =>
      deps.web.call(
        'chat.update',
        { channel: card.channelId, ts: card.ts, text, blocks, metadata: metadataOf(order) },
        okResponse,
      ),
    );
    return true;
  } catch (error) {
    if (error instanceof SlackApiError && error.code === 'message_not_found') return false;
    // The thread goes on without it.
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

function metadataOf(order: Order) {
  return {
    event_type: 'domain_order',
    event_payload: {
      order_id: order.id,
      task: order.task,
      names: namesInMetadata(order),
      state: order.state,
    },
  };
}

/** Slack takes about 8,000 characters of metadata. */
const MAX_METADATA_NAMES = 6_000;

/** The names, as many as there is room for. */
function namesInMetadata({ items }: Order): string {
  let room = MAX_METADATA_NAMES;
  const names = items.map(({ name }) => name);
  const fitting = names.filter((name) => {
    room -= name.length + 1;
    return room >= 0;
  });
  return [...fitting, ...(fitting.length < names.length ? ['…'] : [])].join(',');
}

async function post(
  deps: Pick<NotifierDeps, 'web'>,
  channelId: string,
  threadTs: string | undefined,
  order: Order,
  message: Message,
): Promise<{ channelId: string; ts: string }> {
  const { channel, ts } = await withPlainFallback(message, ({ text, blocks }) =>
    deps.web.call(
      'chat.postMessage',
      {
        channel: channelId,
        ...(threadTs === undefined ? {} : { thread_ts: threadTs }),
        text,
        blocks,
        metadata: metadataOf(order),
        unfurl_links: false,
        unfurl_media: false,
      },
      postedResponse,
    ),
  );
  return { channelId: channel, ts };
}
