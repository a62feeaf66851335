import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE_MS } from '../../lib/duration.ts';
import type { SlackContext } from '../context.ts';
import { hasTablesOrCharts, type Message, replaceTablesAndCharts } from '../kit/blocks.ts';
import type { Person } from '../outbound/directory.ts';
import { sendWithFallback } from '../outbound/fallback.ts';
import { createFetch } from '../outbound/fetch.ts';
import { postMessage } from '../outbound/post-message.ts';
import { isTransient, okResponseSchema, SlackApiError } from '../outbound/web.ts';

export interface ResponseTarget {
  readonly person: Person;
  readonly channelId: string | undefined;
  readonly threadTs: string | undefined;
  /** Accepts five messages within 30 minutes. */
  readonly responseUrl: string | undefined;
}

const fetchResponse = createFetch(5_000);

/**
 * Replies to one person. Tries the response URL, then an ephemeral message, then a direct message.
 * @param options.replace whether the reply replaces the clicked message
 * @throws {SlackApiError} if all of these fail
 */
export async function respond(
  context: SlackContext,
  target: ResponseTarget,
  message: Message,
  options: { readonly replace?: boolean } = {},
): Promise<void> {
  const { responseUrl, channelId, threadTs } = target;
  if (responseUrl !== undefined && !context.isSlackResponseUrl(responseUrl)) {
    // Only the host is logged, because anyone who has the full URL can send a reply.
    const host = URL.canParse(responseUrl) ? new URL(responseUrl).host : undefined;
    context.log.warn({ host }, 'ignored a response address that isn’t Slack’s');
  } else if (
    responseUrl !== undefined &&
    (await tryResponseUrl(responseUrl, message, options.replace ?? false))
  ) {
    return;
  }
  let channelError: SlackApiError | undefined;
  if (channelId !== undefined && channelId !== '') {
    try {
      await sendWithFallback(message, ({ text, blocks }) =>
        context.web.call(
          'chat.postEphemeral',
          { channel: channelId, user: target.person.id, thread_ts: threadTs, text, blocks },
          okResponseSchema,
        ),
      );
      return;
    } catch (error) {
      // Falls through to a direct message, because a duplicate reply is better than none.
      if (!(error instanceof SlackApiError)) throw error;
      if (isTransient(error)) channelError = error;
    }
  }
  try {
    await postMessage(
      context.web,
      { channelId: await context.directory.openDirectMessage(target.person.id) },
      message,
    );
  } catch (error) {
    // If direct messages are turned off, only another attempt in the channel can succeed.
    if (channelError !== undefined && error instanceof SlackApiError && !isTransient(error))
      throw channelError;
    throw error;
  }
}

/**
 * Responds without retries.
 * @param deadline in ms, from `performance.now`
 * @returns whether Slack accepted the response before the deadline
 */
export function respondBefore(
  context: SlackContext,
  target: ResponseTarget,
  message: Message,
  deadline: number,
): Promise<boolean> {
  const attempt = respond(context, target, message).then(
    () => true,
    (error: unknown) => {
      if (!(error instanceof SlackApiError)) throw error;
      return false;
    },
  );
  return Promise.race([attempt, sleep(Math.max(deadline - performance.now(), 0), false, { ref: false })]);
}

/** Delays between attempts, unless Slack asks for longer ones. */
const RETRY_DELAYS_MS: readonly number[] = [1_000, 5_000, 15_000, MINUTE_MS, 120_000];

/** Retries during outages and rate limits. Logs the final failure. */
export async function respondWithRetries(
  context: SlackContext,
  target: ResponseTarget,
  message: Message,
  options?: { readonly replace?: boolean },
  delaysMs: readonly number[] = RETRY_DELAYS_MS,
): Promise<void> {
  const userId = target.person.id;
  for (const delayMs of [...delaysMs, undefined]) {
    try {
      return await respond(context, target, message, options);
    } catch (err) {
      if (!(err instanceof SlackApiError)) throw err;
      if (delayMs === undefined || !isTransient(err)) {
        context.log.error({ err, userId }, 'a person couldn’t be notified');
        return;
      }
      context.log.warn({ err, userId }, 'notifying a person failed, will retry');
      await sleep(Math.max(delayMs, err.retryAfterMs ?? 0), undefined, { ref: false });
    }
  }
}

async function tryResponseUrl(url: string, message: Message, replace: boolean): Promise<boolean> {
  if (await postToResponseUrl(url, message, replace)) return true;
  if (!hasTablesOrCharts(message.blocks)) return false;
  return postToResponseUrl(url, { ...message, blocks: replaceTablesAndCharts(message.blocks) }, replace);
}

async function postToResponseUrl(url: string, message: Message, replace: boolean): Promise<boolean> {
  try {
    const response = await fetchResponse(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        response_type: 'ephemeral',
        replace_original: replace,
        unfurl_links: false,
        text: message.text,
        blocks: message.blocks,
      }),
    });
    const text = await response.text();
    return response.ok && !text.includes('"ok":false');
  } catch {
    return false;
  }
}
