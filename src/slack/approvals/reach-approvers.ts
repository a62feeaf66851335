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
  directMessagePlace,
  ONCE,
  type SentNotification,
  type WantedNotification,
} from '../outbound/notify.ts';
import { findQuietEnd } from '../outbound/quiet-hours.ts';
import { findLoggedApprovers } from './decision.view.ts';
import { escalationNotice, reminderNotice } from './waiting.view.ts';

/*
 * Delivers a pending order to its approvers: in the approvers' channel, or by direct message to people who can't see
 * the card in a channel.
 */

/** Maximum number of direct messages per order. */
const MAX_PEOPLE = 20;

const IN_CHANNEL = 'card:in:';
const TO_PERSON = 'card:to:';

interface PendingOrderPost extends PlannedOrder {
  readonly card: PostedMessage;
}

interface CardCopy extends Omit<WantedNotification, 'purpose' | 'places'> {
  readonly approvalChannel: string | undefined;
  readonly isOverBudget: boolean;
}

/** Updates existing copies together with the card. */
export async function copyCard(
  context: SlackContext,
  waiting: PendingOrderPost,
  copy: CardCopy,
): Promise<void> {
  const { order, card, posted, send } = waiting;
  const { approvalChannel, isOverBudget, ...wanted } = copy;
  if (order.state !== 'PENDING') return;
  if (order.isPrivate || approvalChannel === undefined) {
    if (isDirectMessage(card.channelId)) await copyToApprovers(context, waiting, copy);
    return;
  }
  const purpose = `${IN_CHANNEL}${approvalChannel}`;
  if (approvalChannel === card.channelId || posted.has(purpose)) return;
  const places = [async () => ({ channelId: approvalChannel })];
  const { state } = await send({ ...wanted, purpose, places, alertsAdmins: true });
  if (state === 'refused') await copyToApprovers(context, waiting, copy);
}

export function copyPurpose(channelId: string, userId: string): string {
  return isDirectMessage(channelId) ? `${TO_PERSON}${userId}` : `${IN_CHANNEL}${channelId}`;
}

async function copyToApprovers(
  context: SlackContext,
  { order, posted, send }: PendingOrderPost,
  { approvalChannel: _, isOverBudget, ...wanted }: CardCopy,
): Promise<void> {
  // Admins first, because an admin's approval is required.
  const notified = [
    ...(isOverBudget ? await context.adminsToNotify() : []),
    ...(await findPeopleToNotify(context.orders, order)),
  ];
  const approvers = [...new Set(notified)].filter((userId) => userId !== order.requesterId);
  for (const userId of approvers.slice(0, MAX_PEOPLE)) {
    const purpose = `${TO_PERSON}${userId}`;
    if (posted.has(purpose)) continue;
    await send({
      ...wanted,
      purpose,
      places: [directMessagePlace(context.directory, userId)],
    });
  }
}

/** The approvers that a pending order still needs. */
interface MissingApprovers {
  readonly approvers: readonly string[];
  /** Only an admin's approval is missing, because the order exceeds a budget. */
  readonly isForAdmins: boolean;
}

/**
 * Reminds approvers who got a direct message, and escalates after a long wait. Doesn't send anything during the night
 * in their time zone, unless a name expires by tomorrow.
 * @returns the people who were notified, by the version of the event
 */
export async function remindPeople(
  context: SlackContext,
  waiting: PendingOrderPost,
  missing: MissingApprovers,
): Promise<ReadonlyMap<number, NotifiedPeople>> {
  const { order, history, send } = waiting;
  const notified = new Map<number, NotifiedPeople>();
  if (order.state !== 'PENDING') return notified;
  for (const entry of history) {
    if (entry.kind !== 'reminded' && entry.kind !== 'escalated' && entry.kind !== 'reopened') continue;
    const notice =
      entry.kind === 'escalated' ? escalationNotice(order, missing.approvers) : reminderNotice(order);
    const results: NotifiedPerson[] = [];
    for (const { to, thread } of await findRecipients(context, waiting, missing, entry)) {
      const isPersonCopy = thread === undefined || isDirectMessage(thread.channelId);
      const { state } = await send({
        purpose: `notice:${entry.version}:${entry.kind}:${to}`,
        version: ONCE,
        since: entry.at,
        places: [
          async () =>
            thread === undefined
              ? { channelId: await context.directory.directMessage(to) }
              : { channelId: thread.channelId, threadTs: thread.ts },
        ],
        message: () => notice,
        metadata: buildMetadata(order),
        findDelayEnd: async () => (isPersonCopy ? findPersonQuietEnd(context, order, to) : undefined),
      });
      results.push({ userId: to, state });
    }
    notified.set(entry.version, toNotifiedPeople(results));
  }
  return notified;
}

export interface NotifiedPerson {
  readonly state: SentNotification['state'];
  readonly userId: string;
}

export function toNotifiedPeople(results: readonly NotifiedPerson[]): NotifiedPeople {
  const listByState = (wanted: NotifiedPerson['state']) =>
    results.filter(({ state }) => state === wanted).map(({ userId }) => userId);
  return { reached: listByState('current'), waiting: listByState('pending') };
}

interface Recipient {
  /** A person, or the approvers' channel. */
  readonly to: string;
  readonly thread?: PostedMessage;
}

async function findRecipients(
  context: SlackContext,
  { order, history, card, posted }: PendingOrderPost,
  { isForAdmins }: MissingApprovers,
  event: Extract<OrderLogEntry, { readonly kind: 'reminded' | 'escalated' | 'reopened' }>,
): Promise<readonly Recipient[]> {
  const admins = await context.adminsToNotify();
  if (event.kind !== 'escalated') {
    // If the card is in a channel, the reminder goes in its thread.
    const copies = (prefix: string) =>
      [...posted]
        .filter(([purpose]) => purpose.startsWith(prefix))
        .map(([purpose, thread]) => ({ to: purpose.slice(prefix.length), thread }));
    const approved = new Set(findLoggedApprovers(history));
    const people = copies(TO_PERSON).filter(
      ({ to }) => !approved.has(to) && (!isForAdmins || admins.includes(to)),
    );
    return [...(isDirectMessage(card.channelId) ? copies(IN_CHANNEL) : []), ...people];
  }
  const { to, toAdmins } = event;
  const { people } = await resolvePeople(context.directory, [...to, ...(toAdmins ? admins : [])]);
  return people
    .filter((userId) => userId !== order.requesterId)
    .slice(0, MAX_PEOPLE)
    .map((to) => ({ to }));
}

async function findPersonQuietEnd(
  context: SlackContext,
  order: Order,
  userId: string,
): Promise<Date | undefined> {
  const now = context.now();
  const timeZone = await context.directory.findTimeZone(userId);
  if (findQuietEnd(now, timeZone) === undefined) return undefined;
  return findQuietEnd(
    now,
    timeZone,
    await context.orders.findFirstExpiry(order.items.map(({ name }) => name)),
  );
}
