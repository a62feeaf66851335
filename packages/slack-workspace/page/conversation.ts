import type { Channel, Message, Snapshot, User } from '../src/protocol.ts';
import type { Place } from './place.ts';

/** A channel's messages, without replies. */
export function getTopLevelMessages(messages: readonly Message[]): Message[] {
  return messages.filter(({ thread_ts, ts }) => thread_ts === undefined || thread_ts === ts);
}

export function getReplies(messages: readonly Message[], ts: string): Message[] {
  return messages.filter((message) => message.thread_ts === ts && message.ts !== ts);
}

export interface ThreadSummary {
  count: number;
  /** Unique ids, in order of first reply. */
  authorIds: string[];
  /** `ts` of the last reply. */
  lastReplyTs: string;
}

/** Summaries of a channel's threads, by the `ts` of the parent message. */
export function summarizeThreads(messages: readonly Message[]): ReadonlyMap<string, ThreadSummary> {
  const threads = new Map<string, ThreadSummary>();
  for (const { thread_ts: parent, ts, user, ephemeral_to: only } of messages) {
    if (parent === undefined || parent === ts || only !== undefined) continue;
    const summary = threads.get(parent);
    const people = summary?.authorIds ?? [];
    threads.set(parent, {
      count: (summary?.count ?? 0) + 1,
      authorIds: people.includes(user) ? people : [...people, user],
      lastReplyTs: ts,
    });
  }
  return threads;
}

export interface UnreadCount {
  count: number;
  /** How many of them mention the person or are sent only to the person. */
  mentions: number;
}

/**
 * A person's unread messages in a channel. Replies are included if they mention the person, as in Slack.
 * @param readTs the newest read message; undefined if none was read
 */
export function countUnread(
  channel: Channel,
  messages: readonly Message[],
  me: string,
  readTs: string | undefined,
): UnreadCount {
  const unread = { count: 0, mentions: 0 };
  for (const message of messages) {
    if (message.user === me || (readTs !== undefined && message.ts <= readTs)) continue;
    const isForMe = channel.is_im || message.ephemeral_to === me || mentionsPerson(message, me);
    const isReply = message.thread_ts !== undefined && message.thread_ts !== message.ts;
    if (isReply && !isForMe) continue;
    unread.count += 1;
    if (isForMe) unread.mentions += 1;
  }
  return unread;
}

function mentionsPerson({ notifies }: Message, me: string): boolean {
  return notifies.includes(me) || notifies.some((id) => ['here', 'channel', 'everyone'].includes(id));
}

/** The other person of a direct message, for its name and picture. */
export function getPartnerId(channel: Channel, me: string): string | undefined {
  return channel.is_im ? (channel.members.find((id) => id !== me) ?? me) : undefined;
}

/** The channel's name without `#`; for a direct message, the other person's name. */
export function getChannelName(channel: Channel, me: string, users: ReadonlyMap<string, User>): string {
  const partner = getPartnerId(channel, me);
  return partner === undefined ? channel.name : (users.get(partner)?.real_name ?? channel.name);
}

/** Whether a message continues the previous one, so that its author isn't repeated. */
export function isContinuation(message: Message, before: Message | undefined): boolean {
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
 * The place that a channel's name links to. The app opens at its Home tab, unless it has unread messages.
 * @param unread the number of the person's unread messages in the channel
 */
export function getChannelPlace(channel: Channel, me: string, botUserId: string, unread: number): Place {
  const isApp = getPartnerId(channel, me) === botUserId;
  return { channel: channel.id, ...(isApp && unread === 0 && { home: true }) };
}

/** The initially open channel: preferably one with the app. */
export function getFirstChannelId({ channels, bot }: Snapshot): string | undefined {
  const sharedChannel = channels.find(({ is_im, members }) => !is_im && members.includes(bot.user_id));
  return (sharedChannel ?? channels[0])?.id;
}
