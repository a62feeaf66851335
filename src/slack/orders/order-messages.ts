import { isDeepStrictEqual } from 'node:util';
import { findSilentPeople, listRequesters } from '../../approvals/approvers.ts';
import { type Briefing, loadBriefing } from '../../approvals/briefing.ts';
import {
  buildDefaultRequirement,
  getRequestedRequirements,
  listDecidingRequirements,
} from '../../approvals/requirements.ts';
import { MINUTE_MS } from '../../lib/duration.ts';
import type { BudgetOverrun } from '../../money/budget.ts';
import type { BudgetComparison } from '../../money/budget-comparison.ts';
import { isPaused } from '../../orders/bulk/waves.ts';
import { findUndoDeadline, getAccountOwner, isFinal, isRequester, type Order } from '../../orders/order.ts';
import type { OrderLogEntry } from '../../orders/order-events.ts';
import type { OrderStore } from '../../orders/ports.ts';
import type { ClaimedSubject, NotificationStore, PostedMessage } from '../../outbox/notifications.ts';
import { findNotifiedIds, type RequirementPeople } from '../../policy/policy.ts';
import { hasPolicyRule } from '../approvals/decision.view.ts';
import { emergencyDirectMessage, emergencyRecipients } from '../approvals/emergency.view.ts';
import { findSigningDifferences, notSignedNotice } from '../approvals/not-signed.view.ts';
import {
  buildCopyPurpose,
  copyCard,
  type NotifiedPerson,
  remindPeople,
  toNotifiedPeople,
} from '../approvals/reach-approvers.ts';
import { sendProgress, shareFiles } from '../bulk/bulk-messages.ts';
import type { CardLocation, SlackContext } from '../context.ts';
import { type Message, textMessage } from '../kit/blocks.ts';
import { isDirectMessage } from '../kit/mrkdwn.ts';
import { isReportedByInForceMessage, mandateReply } from '../mandates/mandate.view.ts';
import { mustWaitForDayMessage } from '../mandates/mandate-day.ts';
import { isWaitingOnlyForAdmin, overBudgetReply } from '../money/budget.view.ts';
import { repricedReply } from '../money/price.view.ts';
import {
  createDirectMessagePlace,
  type NotificationPlanner,
  ONCE,
  type SendNotification,
  type WantedNotification,
} from '../outbound/notify.ts';
import { dropMentions } from '../outbound/plain-names.ts';
import { type CardBriefing, directMessageHint, orderCard, type UndoOffer } from './card.view.ts';
import { logMismatchNotice } from './log-differs.view.ts';
import { type NotifiedPeople, notifiedText } from './order.view.ts';
import {
  buildMetadata,
  CARD_PURPOSE,
  type PlannedOrder,
  type PlannedThread,
  type Thread,
} from './order-posts.ts';
import { findChangedStatementParts, statementChangedNotice } from './statement-changed.view.ts';
import { orderReply, startWithTitle } from './thread.view.ts';

export function createOrderPlanner(context: SlackContext): NotificationPlanner {
  const { now } = context;
  return async (claim, send) => {
    const repeatAt = findPauseEnd(claim.id, now());
    if (repeatAt !== undefined) return { repeatAt, isDeferred: true };
    const loaded = await context.orders.store.loadWithHistory(claim.id, 'system');
    if (loaded === undefined || !wasRequested(loaded.history)) return undefined;
    if (mustWaitForDayMessage(loaded.order))
      return { repeatAt: new Date(now().getTime() + DAY_MESSAGE_CHECK_MS), isDeferred: true };
    recordUpdate(loaded.order, now());
    const posted = getPostedMessages(claim);
    const sendAndRecord: SendNotification = async (wanted) => {
      const result = await send(wanted);
      if (result.message !== undefined) posted.set(wanted.purpose, result.message);
      else if (result.state === 'refused') posted.delete(wanted.purpose);
      return result;
    };
    await sendOrderMessages(context, { ...loaded, version: claim.version, posted, send: sendAndRecord });
    return undefined;
  };
}

/** How often mandate orders check for the daily message. Their cards are posted in its thread. */
const DAY_MESSAGE_CHECK_MS = 5 * MINUTE_MS;

export function getPostedMessages({ notifications }: ClaimedSubject): Map<string, PostedMessage> {
  return new Map(
    notifications.flatMap(({ purpose, message }) =>
      message === undefined ? [] : [[purpose, message] as const],
    ),
  );
}

/** Pause between updates of a bulk order's messages. Slack allows about one update per second and channel. */
const BULK_UPDATE_INTERVAL_MS = 3_000;

const lastUpdates = new Map<string, number>();

/** The end of the pause between updates, if it isn't over. Checked before thousands of items are loaded. */
function findPauseEnd(orderId: string, now: Date): Date | undefined {
  const elapsedMs = now.getTime() - (lastUpdates.get(orderId) ?? Number.NEGATIVE_INFINITY);
  // The time is negative if the clock was set back.
  const leftMs = BULK_UPDATE_INTERVAL_MS - elapsedMs;
  return elapsedMs >= 0 && leftMs > 0 ? new Date(now.getTime() + leftMs) : undefined;
}

function recordUpdate({ id, bulk, state }: Order, now: Date): void {
  if (bulk !== undefined && !isFinal(state)) lastUpdates.set(id, now.getTime());
  else lastUpdates.delete(id);
}

/**
 * Records a card that was posted but not recorded, because of a lost response or a crash. A copy for approvers is
 * recorded as the copy in its channel, so that no second one is posted there.
 */
export async function adoptCard(
  {
    notifications,
    orders,
    now,
  }: {
    readonly notifications: NotificationStore;
    readonly orders: OrderStore;
    readonly now: () => Date;
  },
  orderId: string,
  { channelId, ts, readerId }: CardLocation,
): Promise<void> {
  const order = await orders.load(orderId, 'system');
  if (order === undefined) return;
  // If the bot can't post in the channel, the requester has the card itself.
  const isCard =
    channelId === order.channelId || (isDirectMessage(channelId) && readerId === order.requesterId);
  const purposes = [
    CARD_PURPOSE,
    ...(isCard ? [] : [buildCopyPurpose(channelId, readerId)]),
    `${COPY_PREFIX}${ts}`,
  ];
  await notifications.adopt({ kind: 'order', id: orderId }, { channelId, ts }, purposes, now());
}

const COPY_PREFIX = `${CARD_PURPOSE}:`;

/** Replies come after the message that starts their thread. */
async function sendOrderMessages(context: SlackContext, orderWithSend: PlannedOrder): Promise<void> {
  const { order, history, posted } = orderWithSend;
  const briefing = await loadBriefing(context, order, history);
  const planned = { ...orderWithSend, send: await createQuietSend(context, orderWithSend, briefing) };
  const { send } = planned;
  const { approvers, otherAdmins, isForAdmins, approvalChannel } = await findAudience(
    context,
    order,
    briefing,
  );
  const cardBriefing = { ...briefing, approvers, undo: await findUndoOffer(context, order, briefing.now) };
  const cardFields = {
    version: String(planned.version),
    repostKey: buildRepostKey(order, briefing.budgets),
    occurredAt: findLastChangeTime(order, history),
    metadata: buildMetadata(order),
    message: () => orderCard(order, cardBriefing),
  } satisfies Partial<WantedNotification>;
  const copyPurposes = [...posted.keys()].filter((purpose) => purpose.startsWith(COPY_PREFIX));
  const firstCard = await send(planFirstCard(context, planned, cardBriefing, cardFields));
  const cards = [firstCard];
  for (const purpose of copyPurposes) cards.push(await send({ ...cardFields, purpose, places: [] }));
  const { message: card } = firstCard;
  if (card === undefined) return;
  if (cards.every(({ state }) => state !== 'pending'))
    await recordShownOverruns(context, order, briefing.budgets?.exceeded);
  const plannedCard = { ...planned, card };
  const isOverBudget = exceedsBudget(briefing);
  await copyCard(context, plannedCard, { ...cardFields, approvalChannel, isOverBudget });
  const plannedThread = { ...planned, thread: toThread(order, card), occurredAt: cardFields.occurredAt };
  await sendProgress(context, plannedThread);
  // Sent before the replies, which name the people who were reached.
  const notifiedByVersion = new Map([
    ...(await remindPeople(context, plannedCard, { approvers, isForAdmins })),
    ...(await notifyEmergency(context, planned)),
  ]);
  const buildReply = (entry: OrderLogEntry) =>
    overBudgetReply(entry, otherAdmins) ??
    mandateReply(order, entry) ??
    (isReportedByInForceMessage(order, entry)
      ? undefined
      : orderReply(order, entry, approvers, briefing.now, notifiedByVersion.get(entry.version))) ??
    repricedReply(entry, history);
  if (await sendReplies(context, plannedThread, buildReply)) await shareFiles(context, plannedThread);
  await notifyAdminsOfMismatches(context, plannedThread);
}

/** Wraps `send` so that silent approvers are named but not mentioned. */
async function createQuietSend(
  { directory, savedSettings }: SlackContext,
  { order, send }: PlannedOrder,
  { decision }: Briefing,
): Promise<SendNotification> {
  const settings = await savedSettings();
  const requestedRequirements = listDecidingRequirements(
    getRequestedRequirements(order, settings),
    settings,
    order,
  );
  const requirements = [...requestedRequirements, ...(decision?.requirements.list ?? [])];
  const silentPeople = new Set(await findSilentPeople(directory, requirements));
  for (const requester of listRequesters(order)) silentPeople.delete(requester);
  return (wanted) => send(dropMentions(directory, wanted, silentPeople));
}

/** Sends direct messages about an emergency approval to all possible approvers and to the other admins. */
async function notifyEmergency(
  context: SlackContext,
  planned: PlannedOrder,
): Promise<ReadonlyMap<number, NotifiedPeople>> {
  const { order, history } = planned;
  const entry = history.findLast((event) => event.kind === 'emergency_approved');
  if (entry === undefined) return new Map();
  const people = new Set([...emergencyRecipients(entry), ...(await context.adminsToNotify())]);
  // These two people don't need a message: one approved it, and the other reads it in the thread.
  for (const userId of [entry.actor, order.requesterId]) people.delete(userId);
  const notified = await sendDirectMessages(context, planned, people, {
    topic: `${entry.version}:${entry.kind}`,
    occurredAt: entry.at,
    message: () => emergencyDirectMessage(order, entry),
  });
  return new Map([[entry.version, notified]]);
}

/** Notifies admins of an order that wasn't sent because it differs from the request, its signatures or the log. */
async function notifyAdminsOfMismatches(context: SlackContext, planned: PlannedThread): Promise<void> {
  const { order, send, occurredAt, thread } = planned;
  const notifyAdmins = async (topic: string, message: () => Message) => {
    const notified = await sendDirectMessages(context, planned, new Set(await context.adminsToNotify()), {
      topic,
      occurredAt,
      message,
    });
    if (notified.delayed.length > 0) return;
    await send({
      purpose: `reply:told:${topic}`,
      version: ONCE,
      occurredAt,
      places: [async () => thread],
      message: () => startWithTitle(order, textMessage(notifiedText(notified))),
      metadata: buildMetadata(order),
    });
  };
  const changedParts = findChangedStatementParts(order);
  if (changedParts !== undefined)
    await notifyAdmins('statement_changed', () => statementChangedNotice(order, changedParts));
  const differences = findSigningDifferences(order);
  if (differences !== undefined) await notifyAdmins('not_signed', () => notSignedNotice(order, differences));
  const contradiction = planned.history.find(({ kind }) => kind === 'contradicted');
  if (contradiction !== undefined)
    await notifyAdmins('contradicted', () => logMismatchNotice(order, contradiction));
}

async function sendDirectMessages(
  { directory }: SlackContext,
  { order, send }: PlannedOrder,
  people: ReadonlySet<string>,
  {
    topic,
    occurredAt,
    message,
  }: { readonly topic: string; readonly occurredAt: Date; readonly message: () => Message },
): Promise<NotifiedPeople> {
  const results: NotifiedPerson[] = [];
  for (const userId of people) {
    const { state } = await send({
      occurredAt,
      message,
      purpose: `notice:${topic}:${userId}`,
      version: ONCE,
      places: [createDirectMessagePlace(directory, userId)],
      metadata: buildMetadata(order),
    });
    results.push({ userId, state });
  }
  return toNotifiedPeople(results);
}

/** The card is posted where the order was requested. If the bot can't post there, the requester gets it. */
function planFirstCard(
  { directory }: SlackContext,
  { order, posted }: PlannedOrder,
  briefing: CardBriefing,
  wanted: Omit<WantedNotification, 'purpose' | 'places'>,
): WantedNotification {
  const { channelId, threadTs, requesterId } = order;
  return {
    ...wanted,
    purpose: CARD_PURPOSE,
    places: [async () => ({ channelId, threadTs }), createDirectMessagePlace(directory, requesterId)],
    message: (place) => {
      // The hint about inviting the bot is shown only on the first card.
      const needsHint = place > 0 && !posted.has(CARD_PURPOSE);
      return orderCard(order, needsHint ? { ...briefing, hint: directMessageHint(order) } : briefing);
    },
    mustArrive: true,
  };
}

/** Changes when the card's buttons change, or the amount over budget that a click accepts. */
function buildRepostKey(order: Order, budgets: BudgetComparison | undefined): string {
  const { state } = order;
  const overrunKeys = budgets?.exceeded.map(({ tag, period, currency, leftMinor, orderMinor }) =>
    [tag, period, currency, leftMinor, orderMinor].join(' '),
  );
  const phase = state === 'EXECUTING' ? 'APPROVED' : state;
  return [isPaused(order) ? 'paused' : phase, ...(overrunKeys ?? [])].join(' · ');
}

/** An order that was requested on a message uses that message's thread, not the card's. */
function toThread({ channelId, threadTs }: Order, card: PostedMessage): Thread {
  return {
    channelId: card.channelId,
    threadTs: threadTs !== undefined && card.channelId === channelId ? threadTs : card.ts,
  };
}

/** Stores the amounts over budget that the cards show, so that later clicks accept them. */
async function recordShownOverruns(
  { orders }: SlackContext,
  order: Order,
  overruns: readonly BudgetOverrun[] | undefined,
): Promise<void> {
  if (overruns !== undefined && !isDeepStrictEqual(overruns, order.shownExcess))
    await orders.store.recordShownOverruns(order.id, overruns);
}

/** The people named in an order's messages, and the channel for a copy of the card. */
async function findAudience(context: SlackContext, order: Order, briefing: Briefing) {
  const [admins, settings] = await Promise.all([context.adminsToNotify(), context.savedSettings()]);
  const { decision, history } = briefing;
  const otherAdmins = admins.filter((userId) => !isRequester(order, userId));
  const isForAdmins = exceedsBudget(briefing) && otherAdmins.length > 0 && isWaitingOnlyForAdmin(history);
  const hasRequirements = decision !== undefined && decision.requirements.list.length > 0;
  const orderApprovers = hasRequirements
    ? briefing.approvers
    : listFormerApprovers(order, buildDefaultRequirement(settings, []));
  const approvers = isForAdmins ? otherAdmins : orderApprovers;
  return { approvers, otherAdmins, isForAdmins, approvalChannel: settings.approvalChannel };
}

function exceedsBudget({ budgets }: Briefing): boolean {
  return budgets !== undefined && budgets.exceeded.length > 0;
}

function findLastChangeTime({ createdAt }: Order, history: readonly OrderLogEntry[]): Date {
  return history.at(-1)?.at ?? createdAt;
}

function buildReplyPurpose({ version, kind }: OrderLogEntry): string {
  return `reply:${version}:${kind}`;
}

/**
 * Posts the missing replies in order. If the bot has been removed from the channel, the requester gets the outcome
 * directly.
 * @returns whether all replies are posted
 */
async function sendReplies(
  { directory }: SlackContext,
  { order, history, posted, send, thread, occurredAt }: PlannedThread,
  buildReply: (entry: OrderLogEntry) => Message | undefined,
): Promise<boolean> {
  for (const entry of history) {
    const purpose = buildReplyPurpose(entry);
    const reply = posted.has(purpose) ? undefined : buildReply(entry);
    if (reply === undefined) continue;
    // The account's owner can't see a reply in a direct message with the person who retried.
    const isForOwner = entry.kind === 'requested' && thread.channelId !== order.channelId;
    const { state } = await send({
      purpose,
      version: ONCE,
      occurredAt,
      places: [
        isForOwner ? createDirectMessagePlace(directory, getAccountOwner(order)) : async () => thread,
        createDirectMessagePlace(directory, order.requesterId),
      ],
      message: () => startWithTitle(order, reply),
      metadata: buildMetadata({ ...order, state: entry.state }),
    });
    if (state === 'pending') return false;
  }
  return true;
}

/** The approvers of an order that has ended, according to its rules or the settings. */
function listFormerApprovers({ requirements }: Order, fallback: RequirementPeople): readonly string[] {
  return findNotifiedIds(hasPolicyRule(requirements.list) ? requirements.list : [fallback]);
}

async function findUndoOffer(
  { names }: SlackContext,
  order: Order,
  now: Date,
): Promise<UndoOffer | undefined> {
  const [item, ...others] = order.items;
  const deadline = item && findUndoDeadline(order, item);
  if (deadline === undefined || deadline <= now || others.length > 0) return undefined;
  const previous = await names.impacts.loadPreviousNameServers(order);
  return previous.kind === 'same' ? undefined : { until: deadline, previous };
}

/** A draft that was never confirmed has no card. */
function wasRequested(history: readonly OrderLogEntry[]): boolean {
  return history.some(
    ({ state, kind }) =>
      state !== 'DRAFT' && (kind === 'requested' || kind === 'confirmed' || kind === 'invalidated'),
  );
}
