import { z } from 'zod';
import type { Log } from '../log.ts';
import { peopleAmong } from '../orders/approvers.ts';
import type { Order } from '../orders/order.ts';
import type { FirstExpiry, HistoryEntry, MessageRef, MessageStore } from '../orders/ports.ts';
import type { SlackDirectory } from './directory.ts';
import { cannotPost, metadataOf } from './order-posts.ts';
import { isRefusedForGood, SlackApiError, type SlackWeb } from './platform/web.ts';
import { postMessage } from './post-message.ts';
import { quietUntil } from './quiet-hours.ts';
import type { Message } from './views/blocks.ts';
import { escalationNotice, reminderNotice } from './views/waiting.ts';

/*
 * Brings a waiting order to those who decide about it: in the approvers' channel, or by direct message to each person
 * who does not see the card in a channel.
 */

/** Is told whether the bot can post in the approvers' channel. */
export interface ChannelAlert {
  cannotPost(channelId: string, problem: SlackApiError): void;
  posted(channelId: string): void;
}

export interface ReachDeps {
  readonly web: SlackWeb;
  readonly directory: SlackDirectory;
  readonly messages: Pick<MessageStore, 'recordMessage'>;
  readonly firstExpiry?: FirstExpiry;
  /** The people who may approve a waiting order at this moment. */
  readonly peopleWhoMayApprove: (order: Order) => Promise<readonly string[]>;
  readonly admins: readonly string[];
  readonly approvalChannelAlert: ChannelAlert;
  readonly now: () => Date;
  readonly log: Log;
}

/** At most this many people get a direct message about one order. */
const MAX_PEOPLE = 20;

const IN_CHANNEL = 'card:in:';
const TO_PERSON = 'card:to:';

interface Waiting {
  readonly order: Order;
  /** The card that everything about the order replies to. */
  readonly card: MessageRef;
  /** Where messages of the order stand. */
  readonly refs: readonly MessageRef[];
}

/** A waiting order whose card is copied. */
interface ToCopy extends Waiting {
  readonly message: () => Message;
  /** Whether an admin has to approve it besides. */
  readonly isOverBudget: boolean;
}

interface Copied {
  readonly posted: readonly MessageRef[];
  /** The error because of which it is tried again. */
  readonly problem?: SlackApiError | undefined;
}

/**
 * Posts copies of a waiting order's card where approvers find it. Existing copies are updated like the card.
 * @param waiting.since when the event happened that is to be shown
 */
export async function copyCard(
  deps: ReachDeps,
  waiting: ToCopy & { readonly since: Date; readonly approvalChannel: string | undefined },
): Promise<Copied> {
  const { order, card, refs, since, approvalChannel } = waiting;
  if (order.state !== 'PENDING') return { posted: [] };
  if (order.isPrivate || approvalChannel === undefined) {
    return isDirect(card) ? copyToApprovers(deps, waiting) : { posted: [] };
  }
  const purpose = `${IN_CHANNEL}${approvalChannel}`;
  if (approvalChannel === card.channelId || refs.some((ref) => ref.purpose === purpose))
    return { posted: [] };
  try {
    const place = { channelId: approvalChannel };
    const at = await postMessage(deps.web, place, waiting.message(), metadataOf(order));
    const ref = { purpose, ...at };
    await deps.messages.recordMessage(order.id, ref);
    deps.approvalChannelAlert.posted(approvalChannel);
    return { posted: [ref] };
  } catch (error) {
    if (!(error instanceof SlackApiError) || error.kind === 'rate_limited') throw error;
    if (!cannotPost(deps, error, since)) return { posted: [], problem: error };
    deps.approvalChannelAlert.cannotPost(approvalChannel, error);
    return copyToApprovers(deps, waiting);
  }
}

/** The purpose of the copy in a channel, or in the direct message with a person. */
export function copyPurpose(channelId: string, userId: string): string {
  return isDirect({ channelId }) ? `${TO_PERSON}${userId}` : `${IN_CHANNEL}${channelId}`;
}

/** Slack’s ids of direct messages begin with a D. */
export function isDirect({ channelId }: Pick<MessageRef, 'channelId'>): boolean {
  return channelId.startsWith('D');
}

async function copyToApprovers(
  deps: ReachDeps,
  { order, refs, message, isOverBudget }: ToCopy,
): Promise<Copied> {
  // Admins come first: without one of them the others' approvals are not enough, however many there are.
  const called = [...(isOverBudget ? deps.admins : []), ...(await deps.peopleWhoMayApprove(order))];
  const approvers = [...new Set(called)].filter((userId) => userId !== order.requesterId);
  const posted: MessageRef[] = [];
  let problem: SlackApiError | undefined;
  for (const userId of approvers.slice(0, MAX_PEOPLE)) {
    const purpose = `${TO_PERSON}${userId}`;
    if (refs.some((ref) => ref.purpose === purpose)) continue;
    const sent = await sendTo(deps, { userId, purpose }, order, message());
    if (sent instanceof SlackApiError) problem = sent;
    else if (sent !== undefined) posted.push(sent);
  }
  return { posted, problem };
}

/**
 * Sends a message to one person and records it. A person who cannot be reached does not keep others from being told.
 * @returns the message's place; undefined where Slack refuses it for good; or the error to try again for
 * @throws {SlackApiError} a rate limit
 */
export async function sendTo(
  deps: ReachDeps,
  to: { readonly userId: string; readonly purpose: string; readonly thread?: MessageRef | undefined },
  order: Order,
  message: Message,
): Promise<MessageRef | SlackApiError | undefined> {
  const { userId, purpose, thread } = to;
  try {
    const channelId = thread?.channelId ?? (await deps.directory.directMessage(userId));
    const place = { channelId, threadTs: thread?.ts };
    const ref = { purpose, ...(await postMessage(deps.web, place, message, metadataOf(order))) };
    await deps.messages.recordMessage(order.id, ref);
    return ref;
  } catch (error) {
    if (!(error instanceof SlackApiError) || error.kind === 'rate_limited') throw error;
    if (!isRefusedForGood(error)) return error;
    deps.log.warn({ err: error, userId, orderId: order.id }, 'a person cannot be written to');
    return undefined;
  }
}

const escalatedDetail = z.object({ to: z.array(z.string()), toAdmins: z.boolean() });

/** A waiting order, and whom it waits for. */
interface Awaiting extends Waiting {
  /** Ids of people and groups. */
  readonly approvers: readonly string[];
  /** Everybody has approved but an admin, who has to because it exceeds a budget. */
  readonly isForAdmins: boolean;
}

/**
 * Tells people by direct message that an order still waits: approvers who have its card there, and those who are called
 * after a long wait. Nobody is told at night in their time zone, unless a name expires by tomorrow.
 * @returns when those are to be told who were not disturbed
 */
export async function remindPeople(
  deps: ReachDeps,
  { history, ...waiting }: Awaiting & { readonly history: readonly HistoryEntry[] },
): Promise<{ readonly again?: Date | undefined; readonly problem?: SlackApiError | undefined }> {
  const { order, refs, approvers } = waiting;
  if (order.state !== 'PENDING') return {};
  let again: Date | undefined;
  let problem: SlackApiError | undefined;
  for (const entry of history) {
    if (entry.kind !== 'reminded' && entry.kind !== 'escalated') continue;
    const notice = entry.kind === 'reminded' ? reminderNotice(order) : escalationNotice(order, approvers);
    for (const { to, thread } of await recipients(deps, waiting, entry)) {
      const purpose = `notice:${entry.version}:${entry.kind}:${to}`;
      if (refs.some((ref) => ref.purpose === purpose)) continue;
      const until = thread === undefined || isDirect(thread) ? await quietFor(deps, order, to) : undefined;
      if (until !== undefined) {
        again = again === undefined || until < again ? until : again;
        continue;
      }
      const sent = await sendTo(deps, { userId: to, purpose, thread }, order, notice);
      if (sent instanceof SlackApiError) problem = sent;
    }
  }
  return { again, problem };
}

interface Recipient {
  /** A person, or the approvers' channel. */
  readonly to: string;
  /** The message that it is a reply to. */
  readonly thread?: MessageRef;
}

/** Who is told besides the card's thread. */
async function recipients(
  deps: ReachDeps,
  { order, card, refs, isForAdmins }: Awaiting,
  { kind, detail }: HistoryEntry,
): Promise<readonly Recipient[]> {
  if (kind === 'reminded') {
    // If the card is in a channel, its thread reminds everybody there.
    const copies = (prefix: string) =>
      refs
        .filter(({ purpose }) => purpose.startsWith(prefix))
        .map((thread) => ({ to: thread.purpose.slice(prefix.length), thread }));
    const approved = new Set(order.approvals.map(({ userId }) => userId));
    const people = copies(TO_PERSON).filter(
      ({ to }) => !approved.has(to) && (!isForAdmins || deps.admins.includes(to)),
    );
    return [...(isDirect(card) ? copies(IN_CHANNEL) : []), ...people];
  }
  const { to, toAdmins } = escalatedDetail.safeParse(detail).data ?? { to: [], toAdmins: true };
  const { people } = await peopleAmong(deps.directory, [...to, ...(toAdmins ? deps.admins : [])]);
  return people
    .filter((userId) => userId !== order.requesterId)
    .slice(0, MAX_PEOPLE)
    .map((to) => ({ to }));
}

/** Until when a person is not disturbed. */
async function quietFor(deps: ReachDeps, order: Order, userId: string): Promise<Date | undefined> {
  const now = deps.now();
  const timeZone = await deps.directory.timeZoneOf(userId);
  if (quietUntil(now, timeZone) === undefined) return undefined;
  return quietUntil(now, timeZone, await deps.firstExpiry?.(order.items.map(({ name }) => name)));
}
