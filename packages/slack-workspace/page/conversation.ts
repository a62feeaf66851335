import type { Channel, Message, Snapshot, User } from '../src/protocol.ts';
import type { Place } from './place.ts';

/** A channel's messages, without replies. */
export function topLevel(messages: readonly Message[]): Message[] {
  return messages.filter(({ thread_ts, ts }) => thread_ts === undefined || thread_ts === ts);
}

export function buildReplies(messages: readonly Message[], ts: string): Message[] {
  return messages.filter((message) => message.thread_ts === ts && message.ts !== ts);
}

export interface ThreadSummary {
  count: number;
  /** Unique ids, in the order of their first reply. */
  people: string[];
  /** `ts` of the last reply. */
  last: string;
}

/** Summaries of all threads of a channel, by the `ts` of the message they belong to. */
export function threadSummaries(messages: readonly Message[]): ReadonlyMap<string, ThreadSummary> {
  const threads = new Map<string, ThreadSummary>();
  for (const { thread_ts: parent, ts, user, ephemeral_to: only } of messages) {
    if (parent === undefined || parent === ts || only !== undefined) continue;
    const before = threads.get(parent);
    const people = before?.people ?? [];
    threads.set(parent, {
      count: (before?.count ?? 0) + 1,
      people: people.includes(user) ? people : [...people, user],
      last: ts,
    });
  }
  return threads;
}

export interface UnreadCount {
  count: number;
  /** How many of them mention this person. */
  mentions: number;
}

/**
 * A person's unread messages in a channel. Replies are included if they mention the person, as in Slack.
 * @param readTs the newest read message; undefined if none was read
 */
export function unreadIn(
  channel: Channel,
  messages: readonly Message[],
  me: string,
  readTs: string | undefined,
): UnreadCount {
  const unread = { count: 0, mentions: 0 };
  for (const message of messages) {
    if (message.user === me || (readTs !== undefined && message.ts <= readTs)) continue;
    const forMe = channel.is_im || message.ephemeral_to === me || mentions(message, me);
    const isReply = message.thread_ts !== undefined && message.thread_ts !== message.ts;
    if (isReply && !forMe) continue;
    unread.count += 1;
    if (forMe) unread.mentions += 1;
  }
  return unread;
}

function mentions({ notifies }: Message, me: string): boolean {
  return notifies.includes(me) || notifies.some((id) => ['here', 'channel', 'everyone'].includes(id));
}

/** The other person of a direct message, for its name and picture. */
export function partnerIn(channel: Channel, me: string): string | undefined {
  return channel.is_im ? (channel.members.find((id) => id !== me) ?? me) : undefined;
}

/** `domains`, or the other person's name for a direct message. */
export function channelName(channel: Channel, me: string, users: ReadonlyMap<string, User>): string {
  const partner = partnerIn(channel, me);
  return partner === undefined ? channel.name : (users.get(partner)?.real_name ?? channel.name);
}

/** Whether a message continues the one before it, so that its author is not shown again. */
export function continues(message: Message, before: Message | undefined): boolean {
  return (
    before !== undefined &&
    before.user === message.user &&
    before.ephemeral_to === message.ephemeral_to &&
    before.blocks.length === 0 &&
    message.blocks.length === 0 &&
    Number(message.ts) - Number(before.ts) < 300
  );
}

/**
 * The destination of a click on a channel's name. The app opens at its Home tab, unless it has unread messages.
 * @param unread the person's unread messages there
 */
export function placeIn(channel: Channel, me: string, botUserId: string, unread: number): Place {
  const isApp = partnerIn(channel, me) === botUserId;
  return { channel: channel.id, ...(isApp && unread === 0 && { home: true }) };
}

/** The page's first place: the first channel that the person and the app share. */
export function firstChannel({ channels, bot }: Snapshot): string | undefined {
  const shared = channels.find(({ is_im, members }) => !is_im && members.includes(bot.user_id));
  return (shared ?? channels[0])?.id;
}
