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
import { findNotifiedIds, type RequirementApprovers } from '../../policy/policy.ts';
import { hasPolicyRule } from '../approvals/decision.view.ts';
import { emergencyDirectMessage, listEmergencyRecipients } from '../approvals/emergency.view.ts';
import { findSigningDifferences, notSignedNotice } from '../approvals/not-signed.view.ts';
import {
  buildCopyPurpose,
  copyCard,
  type DeliveryResult,
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
import { priceChangeReply } from '../money/price.view.ts';
import {
  createDirectMessagePlace,
  type NotificationPlanner,
  type NotificationSpec,
  type SendNotification,
  STATIC_VERSION,
} from '../outbound/notify.ts';
import { replaceNotificationMentions } from '../outbound/plain-names.ts';
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
    const repeatAt = findNextUpdateTime(claim.id, now());
    if (repeatAt !== undefined) return { repeatAt, isDeferred: true };
    const orderWithHistory = await context.orders.store.loadWithHistory(claim.id, 'system');
    if (orderWithHistory === undefined || !wasRequested(orderWithHistory.history)) return undefined;
    if (mustWaitForDayMessage(orderWithHistory.order))
      return { repeatAt: new Date(now().getTime() + DAY_MESSAGE_CHECK_MS), isDeferred: true };
    recordUpdateTime(orderWithHistory.order, now());
    const postedMessages = getPostedMessages(claim);
    const sendAndRecord: SendNotification = async (notification) => {
      const result = await send(notification);
      if (result.message !== undefined) postedMessages.set(notification.purpose, result.message);
      else if (result.state === 'refused') postedMessages.delete(notification.purpose);
      return result;
    };
    await sendOrderMessages(context, {
      ...orderWithHistory,
      version: claim.version,
      postedMessages,
      send: sendAndRecord,
    });
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

/** For the messages of a bulk order. Slack allows about one update per second per channel. */
const MIN_UPDATE_INTERVAL_MS = 3_000;

const lastUpdateTimes = new Map<string, number>();

/** When the next update is allowed, if that is in the future. Checked before thousands of items are loaded. */
function findNextUpdateTime(orderId: string, now: Date): Date | undefined {
  const elapsedMs = now.getTime() - (lastUpdateTimes.get(orderId) ?? Number.NEGATIVE_INFINITY);
  // The elapsed time is negative if the clock was set back.
  const leftMs = MIN_UPDATE_INTERVAL_MS - elapsedMs;
  return elapsedMs >= 0 && leftMs > 0 ? new Date(now.getTime() + leftMs) : undefined;
}

function recordUpdateTime({ id, bulk, state }: Order, now: Date): void {
  if (bulk !== undefined && !isFinal(state)) lastUpdateTimes.set(id, now.getTime());
  else lastUpdateTimes.delete(id);
}

/**
 * Records a card that was posted but not recorded, because of a lost response or a crash. A copy for approvers is
 * recorded as a copy, so that its channel doesn't get a second one.
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
  // If the bot can't post in the order's channel, the original card is in the requester's direct messages.
  const isOriginalCard =
    channelId === order.channelId || (isDirectMessage(channelId) && readerId === order.requesterId);
  const purposes = [
    CARD_PURPOSE,
    ...(isOriginalCard ? [] : [buildCopyPurpose(channelId, readerId)]),
    `${COPY_PURPOSE_PREFIX}${ts}`,
  ];
  await notifications.adoptMessage({ kind: 'order', id: orderId }, { channelId, ts }, purposes, now());
}

const COPY_PURPOSE_PREFIX = `${CARD_PURPOSE}:`;

/** Replies come after the message that starts their thread. */
async function sendOrderMessages(context: SlackContext, initialPlan: PlannedOrder): Promise<void> {
  const { order, history, postedMessages } = initialPlan;
  const briefing = await loadBriefing(context, order, history);
  const planned = { ...initialPlan, send: await createQuietSend(context, initialPlan, briefing) };
  const { send } = planned;
  const { approvers, otherAdmins, isForAdmins, approvalChannel } = await findAudience(
    context,
    order,
    briefing,
  );
  const cardBriefing = { ...briefing, approvers, undo: await findUndoOffer(context, order, briefing.now) };
  const cardFields = {
    version: String(planned.version),
    repostKey: buildRepostKey(order, briefing.budgetComparison),
    occurredAt: findLastChangeTime(order, history),
    metadata: buildMetadata(order),
    message: () => orderCard(order, cardBriefing),
  } satisfies Partial<NotificationSpec>;
  const copyPurposes = [...postedMessages.keys()].filter((purpose) =>
    purpose.startsWith(COPY_PURPOSE_PREFIX),
  );
  const firstCard = await send(planFirstCard(context, planned, cardBriefing, cardFields));
  const cards = [firstCard];
  for (const purpose of copyPurposes) cards.push(await send({ ...cardFields, purpose, places: [] }));
  const { message: card } = firstCard;
  if (card === undefined) return;
  if (cards.every(({ state }) => state !== 'pending'))
    await recordShownOverruns(context, order, briefing.budgetComparison?.exceeded);
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
    priceChangeReply(entry, history);
  if (await sendReplies(context, plannedThread, buildReply)) await shareFiles(context, plannedThread);
  await notifyAdminsOfMismatches(context, plannedThread);
}

/** Wraps `send` so that silent approvers are named but not mentioned. */
async function createQuietSend(
  { directory, loadSettings }: SlackContext,
  { order, send }: PlannedOrder,
  { pendingRequirements }: Briefing,
): Promise<SendNotification> {
  const settings = await loadSettings();
  const requestedRequirements = listDecidingRequirements(
    getRequestedRequirements(order, settings),
    settings,
    order,
  );
  const requirements = [...requestedRequirements, ...(pendingRequirements?.requirements.list ?? [])];
  const silentPeople = new Set(await findSilentPeople(directory, requirements));
  for (const requester of listRequesters(order)) silentPeople.delete(requester);
  return (notification) => send(replaceNotificationMentions(directory, notification, silentPeople));
}

/** Sends direct messages about an emergency approval to all possible approvers and to the other admins. */
async function notifyEmergency(
  context: SlackContext,
  planned: PlannedOrder,
): Promise<ReadonlyMap<number, NotifiedPeople>> {
  const { order, history } = planned;
  const entry = history.findLast((event) => event.kind === 'emergency_approved');
  if (entry === undefined) return new Map();
  const people = new Set([...listEmergencyRecipients(entry), ...(await context.adminsToNotify())]);
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
    if (notified.delayedIds.length > 0) return;
    await send({
      purpose: `reply:told:${topic}`,
      version: STATIC_VERSION,
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
  const results: DeliveryResult[] = [];
  for (const userId of people) {
    const { state } = await send({
      occurredAt,
      message,
      purpose: `notice:${topic}:${userId}`,
      version: STATIC_VERSION,
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
  { order, postedMessages }: PlannedOrder,
  briefing: CardBriefing,
  cardFields: Omit<NotificationSpec, 'purpose' | 'places'>,
): NotificationSpec {
  const { channelId, threadTs, requesterId } = order;
  return {
    ...cardFields,
    purpose: CARD_PURPOSE,
    places: [async () => ({ channelId, threadTs }), createDirectMessagePlace(directory, requesterId)],
    message: (placeIndex) => {
      // The hint about inviting the bot is shown only on the first card.
      const needsHint = placeIndex > 0 && !postedMessages.has(CARD_PURPOSE);
      return orderCard(order, needsHint ? { ...briefing, hint: directMessageHint(order) } : briefing);
    },
    mustArrive: true,
  };
}

/** The key changes if the card's buttons change, or the amount over budget that a click accepts. */
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
  const [admins, settings] = await Promise.all([context.adminsToNotify(), context.loadSettings()]);
  const { pendingRequirements, history } = briefing;
  const otherAdmins = admins.filter((userId) => !isRequester(order, userId));
  const isForAdmins = exceedsBudget(briefing) && otherAdmins.length > 0 && isWaitingOnlyForAdmin(history);
  const hasRequirements = (pendingRequirements?.requirements.list.length ?? 0) > 0;
  const orderApprovers = hasRequirements
    ? briefing.approvers
    : listApproversAfterDecision(order, buildDefaultRequirement(settings, []));
  const approvers = isForAdmins ? otherAdmins : orderApprovers;
  return { approvers, otherAdmins, isForAdmins, approvalChannel: settings.approvalChannel };
}

function exceedsBudget({ budgetComparison }: Briefing): boolean {
  return budgetComparison !== undefined && budgetComparison.exceeded.length > 0;
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
  { order, history, postedMessages, send, thread, occurredAt }: PlannedThread,
  buildReply: (entry: OrderLogEntry) => Message | undefined,
): Promise<boolean> {
  for (const entry of history) {
    const purpose = buildReplyPurpose(entry);
    const reply = postedMessages.has(purpose) ? undefined : buildReply(entry);
    if (reply === undefined) continue;
    // The account's owner can't see a reply in a direct message with the person who retried.
    const isForOwner = entry.kind === 'requested' && thread.channelId !== order.channelId;
    const { state } = await send({
      purpose,
      version: STATIC_VERSION,
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

/** The approvers of an order that needs none anymore, according to its rules or the settings. */
function listApproversAfterDecision(
  { requirements }: Order,
  fallback: RequirementApprovers,
): readonly string[] {
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
  const previousNameServers = await names.impacts.loadPreviousNameServers(order);
  return previousNameServers.kind === 'same' ? undefined : { deadline, previousNameServers };
}

/** A draft that was never confirmed has no card. */
function wasRequested(history: readonly OrderLogEntry[]): boolean {
  return history.some(
    ({ state, kind }) =>
      state !== 'DRAFT' && (kind === 'requested' || kind === 'confirmed' || kind === 'invalidated'),
  );
}
