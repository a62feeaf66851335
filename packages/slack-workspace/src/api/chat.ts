import { z } from 'zod';
import type { Core } from '../core.ts';
import { SlackError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { assertWritable, composeMessage, requireChannel, requireWritableChannel } from '../messages.ts';
import type { Message } from '../protocol.ts';
import { APP } from '../seed.ts';
import { buildAppMessage } from '../state.ts';
import { booleanArgument, defineMethod, jsonArgument, type Method } from './method.ts';

const contentFields = {
  text: z.string().optional(),
  blocks: jsonArgument.optional(),
  attachments: jsonArgument.optional(),
};

const chatPostMessage = defineMethod(
  ['chat:write'],
  z.object({
    channel: z.string(),
    ...contentFields,
    metadata: jsonArgument.optional(),
    thread_ts: z.string().optional(),
    reply_broadcast: booleanArgument.optional(),
    unfurl_links: booleanArgument.optional(),
    unfurl_media: booleanArgument.optional(),
  }),
  (core, args) => {
    const channel = requireWritableChannel(core, args.channel);
    enforceRateLimit(core, channel.id);
    const message = composeMessage(channel.id, core.state.nextTs(), args, LIMITS.message.text);
    const postedMessage = addToThread(core, message, args.thread_ts);
    core.state.addMessage(postedMessage);
    return { channel: channel.id, ts: postedMessage.ts, message: buildAppMessage(postedMessage, true) };
  },
);

const chatUpdate = defineMethod(
  ['chat:write'],
  z.object({ channel: z.string(), ts: z.string(), ...contentFields, metadata: jsonArgument.optional() }),
  (core, args) => {
    // Slack's `chat.update` accepts only channel ids, not names or user ids.
    const channel = core.state.channels.get(args.channel);
    if (!channel) throw new SlackError('channel_not_found');
    assertWritable(channel);
    const oldMessage = core.state.findMessage(channel.id, args.ts);
    if (!oldMessage) throw new SlackError('message_not_found');
    if (oldMessage.user !== APP.botUserId) throw new SlackError('cant_update_message');
    const { editWindowMs = Number.POSITIVE_INFINITY } = core.conditions;
    if (core.state.now() - Number(oldMessage.ts) * 1_000 > editWindowMs)
      throw new SlackError('edit_window_closed');
    const composed = composeMessage(
      channel.id,
      oldMessage.ts,
      {
        text: args.text ?? (args.blocks === undefined ? undefined : oldMessage.text),
        blocks: args.blocks ?? oldMessage.blocks,
        attachments: args.attachments,
        metadata: args.metadata,
      },
      LIMITS.message.updatedText,
    );
    const keptMetadata = args.metadata === undefined ? oldMessage.metadata : undefined;
    const message: Message = {
      ...composed,
      ...(keptMetadata && { metadata: keptMetadata }),
      ...(oldMessage.thread_ts !== undefined && { thread_ts: oldMessage.thread_ts }),
      ...(oldMessage.files && { files: oldMessage.files }),
      edited: { user: APP.botUserId, ts: core.state.nextTs() },
    };
    core.state.replaceMessage(message);
    return {
      channel: channel.id,
      ts: oldMessage.ts,
      text: message.text,
      message: buildAppMessage(message, true),
    };
  },
);

const chatPostEphemeral = defineMethod(
  ['chat:write'],
  z.object({ channel: z.string(), user: z.string(), ...contentFields, thread_ts: z.string().optional() }),
  (core, args) => {
    const channel = requireWritableChannel(core, args.channel);
    if (!channel.members.includes(args.user)) throw new SlackError('user_not_in_channel');
    const message = composeMessage(channel.id, core.state.nextTs(), args, LIMITS.message.text);
    const postedMessage = addToThread(core, { ...message, ephemeral_to: args.user }, args.thread_ts);
    core.state.addMessage(postedMessage);
    return { message_ts: postedMessage.ts };
  },
);

const chatDelete = defineMethod(
  ['chat:write'],
  z.object({ channel: z.string(), ts: z.string() }),
  (core, args) => {
    const channel = requireChannel(core, args.channel);
    const message = core.state.findMessage(channel.id, args.ts);
    if (!message) throw new SlackError('message_not_found');
    if (message.user !== APP.botUserId) throw new SlackError('cant_delete_message');
    core.state.removeMessage(message);
    return { channel: channel.id, ts: args.ts };
  },
);

const chatGetPermalink = defineMethod(
  [],
  z.object({ channel: z.string(), message_ts: z.string() }),
  (core, args) => {
    const channel = requireChannel(core, args.channel);
    if (channel.is_private && !channel.members.includes(APP.botUserId))
      throw new SlackError('channel_not_found');
    const message = core.state.findMessage(channel.id, args.message_ts);
    if (!message) throw new SlackError('message_not_found');
    const threadQuery =
      message.thread_ts !== undefined && message.thread_ts !== message.ts
        ? `?thread_ts=${message.thread_ts}&cid=${channel.id}`
        : '';
    const permalink = `${core.origin}/archives/${channel.id}/p${message.ts.replace('.', '')}${threadQuery}`;
    return { channel: channel.id, permalink };
  },
);

/** Slack's limit (docs.slack.dev, chat.scheduleMessage). */
const MAX_SCHEDULE_AHEAD_SECONDS = 120 * 86_400;

/** Scheduled messages are stored but never posted, because no test waits that long. */
const chatScheduleMessage = defineMethod(
  ['chat:write'],
  z.object({ channel: z.string(), post_at: z.coerce.number(), text: z.string() }),
  (core, args) => {
    const channel = requireWritableChannel(core, args.channel);
    const secondsAhead = args.post_at - core.state.now() / 1_000;
    if (secondsAhead <= 0) throw new SlackError('time_in_past');
    if (secondsAhead > MAX_SCHEDULE_AHEAD_SECONDS) throw new SlackError('time_too_far');
    const id = `Q${core.scheduledMessageChannels.size + 1}`;
    core.scheduledMessageChannels.set(id, channel.id);
    return { channel: channel.id, scheduled_message_id: id, post_at: args.post_at };
  },
);

const chatDeleteScheduledMessage = defineMethod(
  ['chat:write'],
  z.object({ channel: z.string(), scheduled_message_id: z.string() }),
  (core, args) => {
    if (
      core.scheduledMessageChannels.get(args.scheduled_message_id) !== requireChannel(core, args.channel).id
    )
      throw new SlackError('invalid_scheduled_message_id');
    core.scheduledMessageChannels.delete(args.scheduled_message_id);
    return {};
  },
);

/** @throws SlackError `thread_not_found`, or `cannot_reply_to_message` if the parent is itself a reply */
function addToThread(core: Core, message: Message, threadTs: string | undefined): Message {
  if (threadTs === undefined) return message;
  const parent = core.state.findMessage(message.channel, threadTs);
  if (!parent) throw new SlackError('thread_not_found');
  if (parent.thread_ts !== undefined && parent.thread_ts !== parent.ts) {
    throw new SlackError('cannot_reply_to_message');
  }
  return { ...message, thread_ts: threadTs };
}

/** Thrown if a channel gets too many messages (docs.slack.dev, rate limits). */
export class RateLimitError extends Error {
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super('ratelimited');
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

function enforceRateLimit(core: Core, channelId: string): void {
  if (core.postsPerSecond === undefined) return;
  const since = core.state.now() - 1_000;
  const recentPosts = core.calls.filter(
    (call) =>
      call.method === 'chat.postMessage' &&
      call.ok &&
      call.calledAt > since &&
      call.args['channel'] === channelId,
  );
  if (recentPosts.length >= core.postsPerSecond) throw new RateLimitError(1);
}

export const chatMethods: Record<string, Method> = {
  'chat.postMessage': chatPostMessage,
  'chat.update': chatUpdate,
  'chat.postEphemeral': chatPostEphemeral,
  'chat.delete': chatDelete,
  'chat.getPermalink': chatGetPermalink,
  'chat.scheduleMessage': chatScheduleMessage,
  'chat.deleteScheduledMessage': chatDeleteScheduledMessage,
};
