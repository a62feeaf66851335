import { resolvePeople } from '../../approvals/approvers.ts';
import type { Order } from '../../orders/order.ts';
import type { OrderLogEntry } from '../../orders/order-events.ts';
import { findPeopleToNotify } from '../../orders/visibility.ts';
import type { PostedMessage } from '../../outbox/notifications.ts';
import type { SlackContext } from '../context.ts';
import { isDirectMessage } from '../kit/mrkdwn.ts';
import type { NotifiedPeople } from '../orders/order.view.ts';
import { buildMetadata, type PlannedOrder } from '../orders/order-posts.ts';
import {
  createDirectMessagePlace,
  type NotificationSpec,
  type NotificationStatus,
  STATIC_VERSION,
} from '../outbound/notify.ts';
import { findQuietHoursEnd } from '../outbound/quiet-hours.ts';
import { findLoggedApprovers } from './decision.view.ts';
import { escalationNotice, reminderNotice } from './waiting.view.ts';

/*
 * Delivers a pending order to its approvers: in the approvers' channel, or by direct message to people who can't see
 * the card in a channel.
 */

const MAX_DIRECT_MESSAGES_PER_ORDER = 20;

const CHANNEL_COPY_PREFIX = 'card:in:';
const PERSON_COPY_PREFIX = 'card:to:';

interface PendingOrderPost extends PlannedOrder {
  readonly card: PostedMessage;
}

interface CardCopy extends Omit<NotificationSpec, 'purpose' | 'places'> {
  readonly approvalChannel: string | undefined;
  readonly isOverBudget: boolean;
}

/** Skips channels and people that already have a copy. Existing copies are updated together with the card. */
export async function copyCard(context: SlackContext, post: PendingOrderPost, copy: CardCopy): Promise<void> {
  const { order, card, postedMessages, send } = post;
  const { approvalChannel, isOverBudget, ...notification } = copy;
  if (order.state !== 'PENDING') return;
  if (order.isPrivate || approvalChannel === undefined) {
    if (isDirectMessage(card.channelId)) await copyToApprovers(context, post, copy);
    return;
  }
  const purpose = `${CHANNEL_COPY_PREFIX}${approvalChannel}`;
  if (approvalChannel === card.channelId || postedMessages.has(purpose)) return;
  const places = [async () => ({ channelId: approvalChannel })];
  const { state } = await send({ ...notification, purpose, places, alertsAdmins: true });
  if (state === 'refused') await copyToApprovers(context, post, copy);
}

export function buildCopyPurpose(channelId: string, userId: string): string {
  return isDirectMessage(channelId) ? `${PERSON_COPY_PREFIX}${userId}` : `${CHANNEL_COPY_PREFIX}${channelId}`;
}

async function copyToApprovers(
  context: SlackContext,
  { order, postedMessages, send }: PendingOrderPost,
  { approvalChannel: _, isOverBudget, ...notification }: CardCopy,
): Promise<void> {
  // Admins come first, because an order over budget needs an admin's approval.
  const peopleToNotify = [
    ...(isOverBudget ? await context.adminsToNotify() : []),
    ...(await findPeopleToNotify(context.orders, order)),
  ];
  const approvers = [...new Set(peopleToNotify)].filter((userId) => userId !== order.requesterId);
  for (const userId of approvers.slice(0, MAX_DIRECT_MESSAGES_PER_ORDER)) {
    const purpose = `${PERSON_COPY_PREFIX}${userId}`;
    if (postedMessages.has(purpose)) continue;
    await send({
      ...notification,
      purpose,
      places: [createDirectMessagePlace(context.directory, userId)],
    });
  }
}

/** The approvers that a pending order still needs. */
interface MissingApprovers {
  readonly approvers: readonly string[];
  /** Whether only an admin's approval is missing, because the order exceeds a budget. */
  readonly isForAdmins: boolean;
}

/**
 * Reminds approvers who got a direct message, and escalates after a long wait. Doesn't send anything during the night
 * in their time zone, unless a name expires by tomorrow.
 * @returns the people who were or will be notified, by event version
 */
export async function remindPeople(
  context: SlackContext,
  post: PendingOrderPost,
  missing: MissingApprovers,
): Promise<ReadonlyMap<number, NotifiedPeople>> {
  const { order, history, send } = post;
  const notifiedByVersion = new Map<number, NotifiedPeople>();
  if (order.state !== 'PENDING') return notifiedByVersion;
  for (const entry of history) {
    if (entry.kind !== 'reminded' && entry.kind !== 'escalated' && entry.kind !== 'reopened') continue;
    const notice =
      entry.kind === 'escalated' ? escalationNotice(order, missing.approvers) : reminderNotice(order);
    const results: DeliveryResult[] = [];
    for (const { id, thread } of await findRecipients(context, post, missing, entry)) {
      const isDirect = thread === undefined || isDirectMessage(thread.channelId);
      const { state } = await send({
        purpose: `notice:${entry.version}:${entry.kind}:${id}`,
        version: STATIC_VERSION,
        occurredAt: entry.at,
        places: [
          async () =>
            thread === undefined
              ? { channelId: await context.directory.openDirectMessage(id) }
              : { channelId: thread.channelId, threadTs: thread.ts },
        ],
        message: () => notice,
        metadata: buildMetadata(order),
        findDelayEnd: async () => (isDirect ? findPersonQuietEnd(context, order, id) : undefined),
      });
      results.push({ userId: id, state });
    }
    notifiedByVersion.set(entry.version, toNotifiedPeople(results));
  }
  return notifiedByVersion;
}

export interface DeliveryResult {
  readonly state: NotificationStatus['state'];
  readonly userId: string;
}

export function toNotifiedPeople(results: readonly DeliveryResult[]): NotifiedPeople {
  const listByState = (wantedState: DeliveryResult['state']) =>
    results.filter(({ state }) => state === wantedState).map(({ userId }) => userId);
  return { reachedIds: listByState('current'), delayedIds: listByState('pending') };
}

interface Recipient {
  /** ID of a person or of the approvers' channel. */
  readonly id: string;
  readonly thread?: PostedMessage;
}

async function findRecipients(
  context: SlackContext,
  { order, history, card, postedMessages }: PendingOrderPost,
  { isForAdmins }: MissingApprovers,
  entry: Extract<OrderLogEntry, { readonly kind: 'reminded' | 'escalated' | 'reopened' }>,
): Promise<readonly Recipient[]> {
  const admins = await context.adminsToNotify();
  if (entry.kind !== 'escalated') {
    // If the card is in a channel, the reminder goes in its thread.
    const listCopies = (prefix: string) =>
      [...postedMessages]
        .filter(([purpose]) => purpose.startsWith(prefix))
        .map(([purpose, thread]) => ({ id: purpose.slice(prefix.length), thread }));
    const approvedIds = new Set(findLoggedApprovers(history));
    const people = listCopies(PERSON_COPY_PREFIX).filter(
      ({ id }) => !approvedIds.has(id) && (!isForAdmins || admins.includes(id)),
    );
    return [...(isDirectMessage(card.channelId) ? listCopies(CHANNEL_COPY_PREFIX) : []), ...people];
  }
  const { to, toAdmins } = entry;
  const { people } = await resolvePeople(context.directory, [...to, ...(toAdmins ? admins : [])]);
  return people
    .filter((userId) => userId !== order.requesterId)
    .slice(0, MAX_DIRECT_MESSAGES_PER_ORDER)
    .map((id) => ({ id }));
}

async function findPersonQuietEnd(
  context: SlackContext,
  order: Order,
  userId: string,
): Promise<Date | undefined> {
  const now = context.now();
  const timeZone = await context.directory.findTimeZone(userId);
  if (findQuietHoursEnd(now, timeZone) === undefined) return undefined;
  return findQuietHoursEnd(
    now,
    timeZone,
    await context.orders.findFirstExpiry(order.items.map(({ name }) => name)),
  );
}
