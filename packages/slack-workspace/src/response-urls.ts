import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Core } from './core.ts';
import { SlackError } from './errors.ts';
import { LIMITS } from './limits.ts';
import { composeMessage } from './messages.ts';
import type { JsonObject, Message } from './protocol.ts';

export interface ResponseTarget {
  channel: string;
  userId: string;
  /** The message that was clicked, if there was one. */
  ts?: string;
  isEphemeral?: boolean;
}

const bodySchema = z.object({
  text: z.string().optional(),
  blocks: z.json().optional(),
  attachments: z.json().optional(),
  metadata: z.json().optional(),
  response_type: z.enum(['ephemeral', 'in_channel']).optional(),
  replace_original: z.boolean().optional(),
  delete_original: z.boolean().optional(),
  thread_ts: z.string().optional(),
});

/** Response URLs, which can be used five times within 30 minutes (docs.slack.dev, handling user interaction). */
export class ResponseUrls {
  readonly #issued = new Map<string, ResponseTarget & { issuedAt: number; useCount: number }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  issuePath(target: ResponseTarget): string {
    const key = randomBytes(12).toString('hex');
    this.#issued.set(key, { ...target, issuedAt: this.#now(), useCount: 0 });
    return `/response/${key}`;
  }

  findChannel(key: string): string | undefined {
    return this.#issued.get(key)?.channel;
  }

  /** @throws SlackError `no_such_url`, `expired_url` or `used_url`. */
  use(key: string): ResponseTarget {
    const target = this.#issued.get(key);
    if (!target) throw new SlackError('no_such_url');
    if (this.#now() - target.issuedAt > LIMITS.responseUrl.validMs) throw new SlackError('expired_url');
    if (target.useCount >= LIMITS.responseUrl.uses) throw new SlackError('used_url');
    target.useCount += 1;
    return target;
  }
}

/**
 * Handles an app's message, which was posted to a response URL or returned directly in response to a command.
 * @throws SlackError with the codes of `chat.postMessage`, or `message_not_found`
 */
export function handleResponse(core: Core, target: ResponseTarget, content: JsonObject): void {
  const { state } = core;
  const parsed = bodySchema.safeParse(content);
  if (!parsed.success) throw new SlackError('invalid_payload');
  const body = parsed.data;
  const originalMessage = findOriginalMessage(core, target);
  if (body.delete_original) {
    if (!originalMessage) throw new SlackError('message_not_found');
    state.removeMessage(originalMessage);
    return;
  }
  const replacedMessage = body.replace_original === true ? originalMessage : undefined;
  if (body.replace_original === true && target.ts !== undefined && !replacedMessage)
    throw new SlackError('message_not_found');
  const message = composeMessage(
    target.channel,
    replacedMessage?.ts ?? state.nextTs(),
    body,
    LIMITS.message.text,
  );
  if (replacedMessage) {
    const { thread_ts, ephemeral_to, metadata } = replacedMessage;
    state.replaceMessage({
      ...(metadata && { metadata }),
      ...message,
      ...(thread_ts !== undefined && { thread_ts }),
      ...(ephemeral_to !== undefined && { ephemeral_to }),
      edited: { user: message.user, ts: state.nextTs() },
    });
    return;
  }
  // The app can later replace its response to a command.
  if (target.ts === undefined && body.response_type !== 'in_channel') {
    target.ts = message.ts;
    target.isEphemeral = true;
  }
  state.addMessage({
    ...message,
    ...(body.thread_ts !== undefined && { thread_ts: body.thread_ts }),
    ...(body.response_type !== 'in_channel' && { ephemeral_to: target.userId }),
  });
}

function findOriginalMessage(core: Core, target: ResponseTarget): Message | undefined {
  if (target.ts === undefined) return undefined;
  return target.isEphemeral
    ? core.state.findEphemeral(target.channel, target.ts)
    : core.state.findMessage(target.channel, target.ts);
}
