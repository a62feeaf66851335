import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Core } from './core.ts';
import { SlackError } from './errors.ts';
import { LIMITS } from './limits.ts';
import { composeMessage } from './messages.ts';
import type { JsonObject, Message } from './protocol.ts';

export interface ResponsePlace {
  channel: string;
  userId: string;
  /** The message that was clicked, if there was one. */
  ts?: string;
  ephemeral?: boolean;
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
  readonly #issued = new Map<string, ResponsePlace & { at: number; uses: number }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  issuePath(place: ResponsePlace): string {
    const key = randomBytes(12).toString('hex');
    this.#issued.set(key, { ...place, at: this.#now(), uses: 0 });
    return `/response/${key}`;
  }

  channelOf(key: string): string | undefined {
    return this.#issued.get(key)?.channel;
  }

  /** @throws SlackError `no_such_url`, `expired_url` or `used_url`. */
  use(key: string): ResponsePlace {
    const place = this.#issued.get(key);
    if (!place) throw new SlackError('no_such_url');
    if (this.#now() - place.at > LIMITS.responseUrl.validMs) throw new SlackError('expired_url');
    if (place.uses >= LIMITS.responseUrl.uses) throw new SlackError('used_url');
    place.uses += 1;
    return place;
  }
}

/**
 * Handles what an app posts to a response URL, or its direct response to a command.
 * @throws SlackError with the codes of `chat.postMessage`, or `message_not_found`
 */
export function respond(core: Core, place: ResponsePlace, content: JsonObject): void {
  const { state } = core;
  const parsed = bodySchema.safeParse(content);
  if (!parsed.success) throw new SlackError('invalid_payload');
  const body = parsed.data;
  const original = findOriginal(core, place);
  if (body.delete_original) {
    if (!original) throw new SlackError('message_not_found');
    state.remove(original);
    return;
  }
  const replacedMessage = body.replace_original === true ? original : undefined;
  if (body.replace_original === true && place.ts !== undefined && !replacedMessage)
    throw new SlackError('message_not_found');
  const message = composeMessage(
    place.channel,
    replacedMessage?.ts ?? state.nextTs(),
    body,
    LIMITS.message.text,
  );
  if (replacedMessage) {
    const { thread_ts, ephemeral_to, metadata } = replacedMessage;
    state.replace({
      ...(metadata && { metadata }),
      ...message,
      ...(thread_ts !== undefined && { thread_ts }),
      ...(ephemeral_to !== undefined && { ephemeral_to }),
      edited: { user: message.user, ts: state.nextTs() },
    });
    return;
  }
  // The response to a command can also be replaced.
  if (place.ts === undefined && body.response_type !== 'in_channel') {
    place.ts = message.ts;
    place.ephemeral = true;
  }
  state.post({
    ...message,
    ...(body.thread_ts !== undefined && { thread_ts: body.thread_ts }),
    ...(body.response_type !== 'in_channel' && { ephemeral_to: place.userId }),
  });
}

function findOriginal(core: Core, place: ResponsePlace): Message | undefined {
  if (place.ts === undefined) return undefined;
  return place.ephemeral
    ? core.state.findEphemeral(place.channel, place.ts)
    : core.state.find(place.channel, place.ts);
}
