import { setTimeout as sleep } from 'node:timers/promises';
import { type ErrorCode, type FetchFunction, type Logger, LogLevel, WebClient } from '@slack/web-api';
import { z } from 'zod';
import { parseRetryAfter } from '../../http/retry-after.ts';
import { MINUTE_MS } from '../../lib/duration.ts';
import type { Secret } from '../../service/secret.ts';
import { createFetch } from './fetch.ts';
import { createPacer, type Pacer, type Urgency } from './pacer.ts';

/**
 * A failed call to Slack.
 * - `rate_limited`: retry after `retryAfterMs`.
 * - `refused`: `code` is Slack's error code.
 * - `unreachable`: there was no readable response; the call may have succeeded.
 */
export class SlackApiError extends Error {
  override readonly name = 'SlackApiError';
  readonly kind: 'rate_limited' | 'refused' | 'unreachable';
  readonly method: string;
  readonly code: string | undefined;
  /** The missing scope, as Slack names it. */
  readonly needed: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** Positions of the blocks that Slack calls invalid. */
  readonly refusedBlockIndexes: readonly number[];

  constructor(
    kind: SlackApiError['kind'],
    method: string,
    details: {
      readonly code?: string;
      readonly needed?: string | undefined;
      readonly retryAfterMs?: number;
      readonly refusedBlockIndexes?: readonly number[];
      readonly cause?: unknown;
    },
  ) {
    super(`Slack’s ${method} failed: ${details.code ?? kind}`, { cause: details.cause });
    this.kind = kind;
    this.method = method;
    this.code = details.code;
    this.needed = details.needed;
    this.retryAfterMs = details.retryAfterMs;
    this.refusedBlockIndexes = details.refusedBlockIndexes ?? [];
  }

  get hasInvalidToken(): boolean {
    return this.code !== undefined && isInvalidTokenCode(this.code);
  }
}

const INVALID_TOKEN_CODES: ReadonlySet<string> = new Set([
  'account_inactive',
  'invalid_auth',
  'not_authed',
  'team_disabled',
  'token_expired',
  'token_revoked',
  'user_removed_from_team',
]);

export function isInvalidTokenCode(code: string): boolean {
  return INVALID_TOKEN_CODES.has(code);
}

/** Slack's codes for which a retry with the same token is useless. */
const TOKEN_ERROR_CODES: ReadonlySet<string> = new Set([
  ...INVALID_TOKEN_CODES,
  'missing_scope',
  'not_allowed_token_type',
]);

/** Whether Slack will never accept this token for the call. All other refusals may be temporary. */
export function isTokenError({ code }: SlackApiError): boolean {
  return code !== undefined && TOKEN_ERROR_CODES.has(code);
}

/** The longest wait before a retry. Slack doesn't ask for more. */
const MAX_WAIT_MS = 10 * MINUTE_MS;

/** Returns the delay that Slack requests, in milliseconds and within limits; undefined if there is none. */
export function getRetryAfterMs(error: unknown): number | undefined {
  if (!(error instanceof SlackApiError) || error.retryAfterMs === undefined) return undefined;
  return Math.min(Math.max(error.retryAfterMs, 1_000), MAX_WAIT_MS);
}

/** Creates the error for a 429 from a URL that isn't an API method. */
export function createRateLimitError(
  method: string,
  retryAfter: string | string[] | undefined,
): SlackApiError {
  return new SlackApiError('rate_limited', method, {
    retryAfterMs: parseRetryAfter(retryAfter, Date.now()) ?? 1_000,
  });
}

/** The longest wait before a retry while a person waits for the result. */
const MAX_INTERACTIVE_WAIT_MS = 5_000;

/** Retries after a short rate limit, by default at most twice. */
export async function retryWhenRateLimited<T>(call: () => Promise<T>, remainingAttempts = 3): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const waitMs = getRetryAfterMs(error) ?? Number.POSITIVE_INFINITY;
    if (remainingAttempts === 1 || waitMs > MAX_INTERACTIVE_WAIT_MS) throw error;
    await sleep(waitMs);
    return retryWhenRateLimited(call, remainingAttempts - 1);
  }
}

export function computeRetryDelay(error: unknown, failedAttempts: number): number {
  return getRetryAfterMs(error) ?? Math.min(1_000 * 2 ** failedAttempts, MAX_WAIT_MS);
}

/** Slack's codes for its own failures, after which a retry may succeed. */
const SERVER_ERROR_CODES: ReadonlySet<string> = new Set([
  'fatal_error',
  'internal_error',
  'request_timeout',
  'service_unavailable',
]);

/** Whether a retry may succeed. */
export function isTransient({ kind, code }: SlackApiError): boolean {
  return kind !== 'refused' || (code !== undefined && SERVER_ERROR_CODES.has(code));
}

/** Slack's Web API. Every call has a timeout, and every response is validated. Nothing is retried here. */
export interface SlackWeb {
  /**
   * Leaves out undefined arguments.
   * @throws {SlackApiError} `rate_limited`, without calling Slack, if the pacer doesn't allow the call yet
   */
  call<T>(
    method: string,
    args: Readonly<Record<string, unknown>>,
    schema: z.ZodType<T>,
    urgency?: Urgency,
  ): Promise<T>;
}

const TIMEOUT_MS = 10_000;
/** Used if Slack doesn't say how long to wait. */
const DEFAULT_RETRY_AFTER_MS = 30_000;

const clientErrorSchema = z.object({
  code: z.string(),
  retryAfter: z.number().optional(),
  data: z
    .object({
      error: z.string(),
      needed: z.string().optional().catch(undefined),
      response_metadata: z
        .object({ messages: z.array(z.string()) })
        .optional()
        .catch(undefined),
    })
    .optional(),
});

// Slack's client exports its codes only as an enum type, so their values are repeated here.
const RATE_LIMITED_CODE: `${ErrorCode.RateLimitedError}` = 'slack_webapi_rate_limited_error';
const PLATFORM_ERROR_CODE: `${ErrorCode.PlatformError}` = 'slack_webapi_platform_error';

const SILENT_LOGGER: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  setLevel: () => undefined,
  getLevel: () => LogLevel.ERROR,
  setName: () => undefined,
};

/** Turns off the client's own retries, which would last 30 minutes, and its queue after a 429. */
export function createWebClientOptions(apiUrl: string | undefined) {
  return {
    ...(apiUrl === undefined ? {} : { slackApiUrl: apiUrl }),
    fetch: requireJson(createFetch(TIMEOUT_MS)),
    retryConfig: { retries: 0 },
    // Callers report failures. Slack's client would log them to the console too.
    logger: SILENT_LOGGER,
    rejectRateLimitedCalls: true,
    allowAbsoluteUrls: false,
  };
}

/**
 * Fails if the body isn't JSON. Slack's client would treat such a body, for example a proxy's page, as an
 * error code.
 */
function requireJson(fetch: FetchFunction): FetchFunction {
  return async (url, init) => {
    const response = await fetch(url, init);
    return {
      ...response,
      text: async () => {
        const text = await response.text();
        JSON.parse(text);
        return text;
      },
    };
  };
}

/**
 * @param onOutcome called with the method and `ok`, `unreadable`, or the result of {@link toOutcome}
 */
export function createSlackWeb(
  token: Secret,
  apiUrl: string | undefined,
  onOutcome: (method: string, outcome: string) => void = () => undefined,
  pacer: Pacer = createPacer(),
): SlackWeb {
  const client = new WebClient(token.reveal(), createWebClientOptions(apiUrl));
  return {
    async call(method, args, schema, urgency = 'urgent') {
      const channel = typeof args['channel'] === 'string' ? args['channel'] : undefined;
      const waitMs = pacer.tryStart(method, channel, urgency);
      if (waitMs > 0) throw new SlackApiError('rate_limited', method, { retryAfterMs: waitMs });
      let result: unknown;
      try {
        result = await client.apiCall(method, { ...args });
      } catch (cause) {
        const error = toSlackApiError(method, cause);
        if (error.kind === 'rate_limited')
          pacer.recordRefusal(method, channel, getRetryAfterMs(error) ?? DEFAULT_RETRY_AFTER_MS);
        onOutcome(method, toOutcome(error));
        throw error;
      }
      const parsed = schema.safeParse(result);
      onOutcome(method, parsed.success ? 'ok' : 'unreadable');
      if (!parsed.success)
        throw new SlackApiError('unreachable', method, { code: 'unreadable_answer', cause: parsed.error });
      return parsed.data;
    },
  };
}

/**
 * Maps an error to one of a few words, because unknown codes from Slack would create an unlimited number of
 * metric labels.
 */
function toOutcome({ kind, code }: SlackApiError): string {
  return code !== undefined && CODES_UNRELATED_TO_BLOCKS.has(code) ? code : kind;
}

export function toSlackApiError(method: string, cause: unknown): SlackApiError {
  const parsed = clientErrorSchema.safeParse(cause);
  if (!parsed.success) return new SlackApiError('unreachable', method, { cause });
  const { code, retryAfter, data } = parsed.data;
  if (code === RATE_LIMITED_CODE) {
    const retryAfterMs = retryAfter === undefined ? DEFAULT_RETRY_AFTER_MS : retryAfter * 1_000;
    return new SlackApiError('rate_limited', method, { retryAfterMs, cause });
  }
  if (code === PLATFORM_ERROR_CODE && data !== undefined) {
    return data.error === 'ratelimited' || data.error === 'rate_limited'
      ? new SlackApiError('rate_limited', method, { retryAfterMs: DEFAULT_RETRY_AFTER_MS, cause })
      : new SlackApiError('refused', method, {
          code: data.error,
          needed: data.needed,
          refusedBlockIndexes: parseRefusedBlockIndexes(data.response_metadata?.messages ?? []),
          cause,
        });
  }
  return new SlackApiError('unreachable', method, { cause });
}

/** Slack's messages say where an error is: `… [json-pointer:/blocks/3/text]`. */
function parseRefusedBlockIndexes(messages: readonly string[]): readonly number[] {
  return messages.flatMap((message) => {
    const match = /\[json-pointer:(?:\/view)?\/blocks\/(\d+)/.exec(message);
    return match === null ? [] : Number(match[1]);
  });
}

/** Refusals that aren't about the content of a message or view. */
const CODES_UNRELATED_TO_BLOCKS: ReadonlySet<string> = new Set([
  ...TOKEN_ERROR_CODES,
  // Channel or thread
  'cannot_reply_to_message',
  'channel_is_archived',
  'channel_not_found',
  'channel_type_not_supported',
  'is_archived',
  'is_inactive',
  'messages_tab_disabled',
  'method_not_supported_for_channel_type',
  'no_such_url',
  'not_enabled',
  'not_in_channel',
  'restricted_action',
  'restricted_action_non_threadable_channel',
  'restricted_action_read_only_channel',
  'restricted_action_thread_locked',
  'restricted_action_thread_only_channel',
  'thread_not_found',
  // Existing message or view
  'cant_update_message',
  'edit_window_closed',
  'hash_conflict',
  'message_not_found',
  'not_found',
  'update_failed',
  // Person or their action
  'cannot_dm_bot',
  'exchanged_trigger_id',
  'expired_trigger_id',
  'expired_url',
  'invalid_trigger_id',
  'trigger_exchanged',
  'trigger_expired',
  'used_url',
  'user_disabled',
  'user_not_found',
  'user_not_in_channel',
  // The bot's rights
  'access_denied',
  'app_missing_action_url',
  'as_user_not_supported',
  'ekm_access_denied',
  'enterprise_is_restricted',
  'no_permission',
  'not_allowed',
  'not_authorized',
  'org_login_required',
  'team_access_not_granted',
  'team_not_found',
  'two_factor_setup_required',
  // Metadata
  'invalid_metadata_format',
  'invalid_metadata_schema',
  'metadata_must_be_sent_from_app',
  'metadata_too_large',
  // Slack itself; the call may still have succeeded
  'accesslimited',
  'fatal_error',
  'internal_error',
  'request_timeout',
  'service_unavailable',
  'team_added_to_org',
]);

/**
 * Whether the blocks of a call may be the reason for a refusal. Workspaces may not support newer blocks, and
 * Slack's codes for that aren't fully documented. So every refusal counts, unless its code clearly means
 * something else.
 */
export function mayBeBlockError(error: unknown): boolean {
  return (
    error instanceof SlackApiError &&
    error.kind === 'refused' &&
    error.code !== undefined &&
    !CODES_UNRELATED_TO_BLOCKS.has(error.code)
  );
}

export const okResponseSchema = z.object({ ok: z.literal(true) });
export const postedResponseSchema = z.object({ ok: z.literal(true), channel: z.string(), ts: z.string() });
