import { z } from 'zod';
import type { MessagePlace, PostedMessage } from '../../outbox/notifications.ts';
import type { Message } from '../kit/blocks.ts';
import { sendWithFallback } from './fallback.ts';
import type { Urgency } from './pacer.ts';
import { TRIAL_TEXT } from './slack-error.view.ts';
import { okResponseSchema, postedResponseSchema, SlackApiError, type SlackWeb } from './web.ts';

export interface MessageMetadata {
  readonly event_type: string;
  readonly event_payload: Readonly<Record<string, string>>;
}

/**
 * Posts a message, or a plainer version if Slack refuses its blocks.
 * @returns where the message was posted
 * @throws {SlackApiError}
 */
export async function postMessage(
  web: SlackWeb,
  { channelId, threadTs }: MessagePlace,
  message: Message,
  metadata?: MessageMetadata,
): Promise<PostedMessage> {
  const { channel, ts } = await sendWithFallback(message, ({ text, blocks }) =>
    web.call(
      'chat.postMessage',
      {
        channel: channelId,
        thread_ts: threadTs,
        text,
        blocks,
        metadata,
        unfurl_links: false,
        unfurl_media: false,
      },
      postedResponseSchema,
    ),
  );
  return { channelId: channel, ts };
}

/** Slack allows messages to be scheduled at most 120 days ahead. */
const TRIAL_DAYS_AHEAD = 119;
const scheduledResponseSchema = okResponseSchema.extend({ scheduled_message_id: z.string() });

/**
 * Checks whether the bot may post in a channel. Schedules a message months ahead and deletes it, so that
 * nobody sees it. Reading the channel would need scopes that the bot doesn't request.
 * @throws {SlackApiError}
 */
export async function tryPosting(web: SlackWeb, channelId: string): Promise<void> {
  const trialMessage = {
    channel: channelId,
    post_at: Math.floor(Date.now() / 1_000) + TRIAL_DAYS_AHEAD * 86_400,
    text: TRIAL_TEXT,
  };
  const { scheduled_message_id } = await web.call(
    'chat.scheduleMessage',
    trialMessage,
    scheduledResponseSchema,
  );
  const scheduledMessage = { channel: channelId, scheduled_message_id };
  await web.call('chat.deleteScheduledMessage', scheduledMessage, okResponseSchema);
}

const permalinkResponseSchema = okResponseSchema.extend({ permalink: z.url() });

/** @returns undefined if Slack doesn't return the message's URL */
export async function loadPermalink(
  web: SlackWeb,
  { channelId, ts }: PostedMessage,
): Promise<string | undefined> {
  try {
    const message = { channel: channelId, message_ts: ts };
    return (await web.call('chat.getPermalink', message, permalinkResponseSchema)).permalink;
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    return undefined;
  }
}

/**
 * Updates a message. Uses a plainer version if Slack refuses the blocks.
 * @throws {SlackApiError}
 */
export async function updateMessage(
  web: SlackWeb,
  { channelId, ts }: PostedMessage,
  message: Message,
  metadata?: MessageMetadata,
  urgency?: Urgency,
): Promise<void> {
  await sendWithFallback(message, ({ text, blocks }) =>
    web.call('chat.update', { channel: channelId, ts, text, blocks, metadata }, okResponseSchema, urgency),
  );
}
