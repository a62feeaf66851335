import { checkBlocks, getTextLength } from './blocks.ts';
import type { Core } from './core.ts';
import { SlackError } from './errors.ts';
import { LIMITS } from './limits.ts';
import { findMentions } from './mentions.ts';
import { Checker, describeProblem, getString, isObject, type Problem } from './problems.ts';
import type { Channel, Json, JsonObject, Message } from './protocol.ts';
import { APP, SLACKBOT_ID } from './seed.ts';
import { getBotAuthor } from './state.ts';
import { addMissingIds } from './views.ts';

/** The content of an app's message, not validated. */
export interface MessageContent {
  text?: string | undefined;
  blocks?: Json | undefined;
  /** Always refused, because this workspace doesn't support attachments. */
  attachments?: Json | undefined;
  metadata?: Json | undefined;
}

/** Not one of Slack's codes, so the error can't be mistaken for one of Slack's. */
const UNSUPPORTED_CODE = 'unsupported_by_local_workspace';

/** The error has Slack's format. Its code is `unsupported_by_local_workspace` if a problem is marked as unsupported. */
export function createContentError(code: string, problems: Problem[]): SlackError {
  const errors = problems.map(describeProblem);
  const hasUnsupportedContent = problems.some(({ isUnsupported }) => isUnsupported === true);
  return new SlackError(hasUnsupportedContent ? UNSUPPORTED_CODE : code, {
    errors,
    response_metadata: { messages: errors.map((error) => `[ERROR] ${error}`) },
  });
}

/**
 * Checks a message's content against Slack's limits and builds the message.
 *
 * @throws SlackError `no_text`, `msg_too_long`, `invalid_blocks`, `unsupported_by_local_workspace`,
 *   `msg_blocks_too_long`, `invalid_metadata_format` or `metadata_too_large`.
 */
export function composeMessage(
  channel: string,
  ts: string,
  content: MessageContent,
  maxTextLength: number,
): Message {
  const text = content.text ?? '';
  const blocks = validateBlocks(content.blocks, ts);
  rejectAttachments(content.attachments);
  if (text === '' && blocks.length === 0) throw new SlackError('no_text');
  if (text.length > maxTextLength) throw new SlackError('msg_too_long');
  const metadata = validateMetadata(content.metadata);
  return {
    type: 'message',
    channel,
    ts,
    ...getBotAuthor(),
    text,
    blocks,
    ...(metadata && { metadata }),
    notifies: findMentions(text, blocks),
  };
}

function validateBlocks(blocks: Json | undefined, ts: string): JsonObject[] {
  if (blocks === undefined || blocks === null) return [];
  if (!Array.isArray(blocks)) throw new SlackError('invalid_blocks_format');
  const problems = checkBlocks(blocks, 'message', '/blocks');
  if (problems.length > 0) throw createContentError('invalid_blocks', problems);
  if (getTextLength(blocks) > LIMITS.message.blocksText) throw new SlackError('msg_blocks_too_long');
  return addMissingIds(blocks.filter(isObject), `b${ts}`);
}

function rejectAttachments(attachments: Json | undefined): void {
  if (attachments === undefined || attachments === null) return;
  const checker = new Checker();
  checker.addUnsupported('attachments', '/attachments');
  throw createContentError('invalid_attachments', checker.problems);
}

function validateMetadata(metadata: Json | undefined): Message['metadata'] {
  if (metadata === undefined || metadata === null) return undefined;
  if (!isObject(metadata)) throw new SlackError('invalid_metadata_format');
  if (Object.keys(metadata).length === 0) return undefined;
  const type = getString(metadata, 'event_type');
  const payload = metadata['event_payload'];
  if (!type || !isObject(payload)) throw new SlackError('invalid_metadata_format');
  if (JSON.stringify(payload).length > LIMITS.message.metadata) throw new SlackError('metadata_too_large');
  return { event_type: type, event_payload: payload };
}

/**
 * Finds a channel by id or by name (with or without `#`), or a direct message by the id of the person.
 * @throws SlackError `channel_not_found`, `not_in_channel` or `is_archived`
 */
export function requireWritableChannel(core: Core, idOrName: string): Channel {
  const { state } = core;
  if (state.users.has(idOrName) && idOrName !== APP.botUserId) return state.openDirectMessage(idOrName);
  const channel = requireChannel(core, idOrName);
  assertWritable(channel);
  return channel;
}

/** @throws SlackError `channel_not_found`, `not_in_channel` or `is_archived` */
export function assertWritable(channel: Channel): void {
  if (!channel.members.includes(APP.botUserId))
    throw new SlackError(channel.is_private ? 'channel_not_found' : 'not_in_channel');
  if (channel.is_archived === true) throw new SlackError('is_archived');
}

/** @throws SlackError `channel_not_found`. */
export function requireChannel(core: Core, idOrName: string): Channel {
  const name = idOrName.replace(/^#/, '');
  const channel =
    core.state.channels.get(idOrName) ??
    [...core.state.channels.values()].find((channel) => !channel.is_im && channel.name === name);
  if (!channel) throw new SlackError('channel_not_found');
  return channel;
}

/** Posts a message from Slack itself that only one person sees. */
export function notifyPerson(core: Core, channel: string, userId: string, text: string): Message {
  const message: Message = {
    type: 'message',
    channel,
    ts: core.state.nextTs(),
    user: SLACKBOT_ID,
    text,
    blocks: [],
    ephemeral_to: userId,
    notifies: [],
  };
  core.state.addMessage(message);
  return message;
}
