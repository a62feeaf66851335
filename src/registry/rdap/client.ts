import { Agent } from 'undici';
import { exchange, HttpExchangeError } from '../../http/exchange.ts';
import { HostBusyError, HostRateLimiter } from '../../http/host-rate-limiter.ts';
import {
  type AddressGuard,
  createAddressGuard,
  type HostResolver,
  PrivateAddressError,
} from '../../http/public-address.ts';
import { parseRetryAfter } from '../../http/retry-after.ts';
import { decodeJsonBody, parseJson } from '../../http/text.ts';
import { rejectOnAbort } from '../../lib/abortable.ts';
import { DAY_MS, MINUTE_MS } from '../../lib/duration.ts';
import { findRecordUrl, parseRdapBootstrap, type RdapBootstrap } from './bootstrap.ts';

export type RdapAnswer =
  | ({ readonly kind: 'answered'; readonly body: unknown } & RdapSource)
  | ({ readonly kind: 'not_found' } & RdapSource)
  | UnavailableAnswer;

export const RDAP_PROBLEMS = [
  /** The bootstrap file (RFC 9224) can't be read. */
  'no_bootstrap',
  /** The zone has no RDAP server. */
  'no_public_record',
  /** The detail is the HTTP status. */
  'busy',
  /** No request was sent, because the server has asked the bot to wait. */
  'waiting',
  /** The detail is the HTTP status. */
  'http_status',
  /** The response isn't JSON. The detail is the media type. */
  'not_rdap',
  'too_many_redirects',
  'redirect_to_nowhere',
  'redirect_unsafe',
  'too_large',
  /** The detail is the limit in seconds. */
  'timeout',
  'private_address',
  /** The detail is the error code, if any. */
  'unreachable',
] as const;

export interface RdapProblem {
  readonly code: (typeof RDAP_PROBLEMS)[number];
  readonly detail?: string;
}

export interface RdapSource {
  readonly server: string;
  /** Whether every exchange used https, including the one for the bootstrap file. */
  readonly isSecure: boolean;
}

export interface UnavailableAnswer {
  readonly kind: 'unavailable';
  readonly problem: RdapProblem;
  /** The shortest delay before a retry. */
  readonly retryAfterMs?: number;
}

export interface RdapClientOptions {
  /** The bootstrap file (RFC 9224). */
  readonly bootstrapUrl: string;
  readonly userAgent: string;
  readonly now: () => Date;
  /** Minimum time between two requests to a host. */
  readonly spacingMs?: number;
  /** Applies to the whole exchange, including redirects. */
  readonly deadlineMs?: number;
  /** Default: the operating system's resolver. */
  readonly resolve?: HostResolver;
}

/** Fetches registries' public records (RFC 9082). */
export interface RdapClient {
  /**
   * @param name in ASCII
   * @returns the record, or why there is none
   * @throws only the signal's reason
   */
  fetchRecord(name: string, signal?: AbortSignal): Promise<RdapAnswer>;
  /** Makes pending lookups return `unavailable`. */
  close(): Promise<void>;
}

const BOOTSTRAP_CACHE_MS = DAY_MS;
const BOOTSTRAP_RETRY_MS = 10 * MINUTE_MS;
const MAX_RESPONSE_BYTES = 1_048_576;
const MAX_REDIRECTS = 3;
const MAX_CONCURRENT_REQUESTS = 2;
const DEFAULT_SPACING_MS = 250;
const DEFAULT_DEADLINE_MS = 20_000;
/** Used if a busy server doesn't say how long to wait. */
const DEFAULT_WAIT_MS = MINUTE_MS;
const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

interface RdapResponse extends RdapSource {
  readonly status: number;
  /** Undefined if the text can't be decoded. */
  readonly text: string | undefined;
  readonly mediaType: string;
}

interface FetchedBootstrap {
  readonly file: RdapBootstrap;
  readonly isSecure: boolean;
}

class LookupError extends Error {
  override readonly name = 'LookupError';
  readonly result: UnavailableAnswer;

  constructor(result: UnavailableAnswer, cause?: unknown) {
    super(`registry lookup failed: ${result.problem.code}`, { cause });
    this.result = result;
  }
}

/**
 * Caches the bootstrap file. Sends at most two concurrent requests per host, spaced apart, and none while the
 * host has asked the bot to wait (`Retry-After`). Follows at most three redirects, never from `https` to
 * `http`. Sends no requests to private addresses, unless `bootstrapUrl` has one.
 */
export function createRdapClient(options: RdapClientOptions): RdapClient {
  const { userAgent, now, spacingMs = DEFAULT_SPACING_MS, deadlineMs = DEFAULT_DEADLINE_MS } = options;
  const bootstrapUrl = new URL(options.bootstrapUrl);
  const guard = createAddressGuard(bootstrapUrl, options.resolve);
  // The timeout closes a connection that was still being opened when the exchange ended.
  const agent = new Agent({ connect: { lookup: guard.lookup, timeout: deadlineMs + 1_000 } });
  const context: RdapContext = { userAgent, now, spacingMs, deadlineMs, guard, agent, limiters: new Map() };
  const getBootstrap = cacheBootstrap(now, () => fetchBootstrap(context, bootstrapUrl));
  return {
    async fetchRecord(name, signal) {
      signal?.throwIfAborted();
      const bootstrap = await rejectOnAbort(getBootstrap(), signal);
      return fetchRecord(context, bootstrap, name, signal);
    },
    close: () => agent.destroy(),
  };
}

interface RdapContext
  extends Required<Pick<RdapClientOptions, 'userAgent' | 'now' | 'spacingMs' | 'deadlineMs'>> {
  readonly guard: AddressGuard;
  readonly agent: Agent;
  readonly limiters: Map<string, HostRateLimiter>;
}

async function fetchRecord(
  context: RdapContext,
  bootstrap: FetchedBootstrap | undefined,
  name: string,
  signal: AbortSignal | undefined,
): Promise<RdapAnswer> {
  if (bootstrap === undefined) return createUnavailableAnswer({ code: 'no_bootstrap' }, BOOTSTRAP_RETRY_MS);
  const recordUrl = findRecordUrl(bootstrap.file, name);
  if (recordUrl === undefined) return createUnavailableAnswer({ code: 'no_public_record' }, DAY_MS);
  try {
    const response = await followRedirects(context, recordUrl, signal);
    return readAnswer({ ...response, isSecure: response.isSecure && bootstrap.isSecure });
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof LookupError) return error.result;
    throw error;
  }
}

/** If fetching fails, the cached file stays in use. */
function cacheBootstrap(now: () => Date, fetch: () => Promise<FetchedBootstrap | undefined>) {
  let cachedBootstrap: FetchedBootstrap | undefined;
  let freshUntil = Number.NEGATIVE_INFINITY;
  let pendingRefresh: Promise<FetchedBootstrap | undefined> | undefined;
  const fetchAndCache = async () => {
    const newBootstrap = await fetch();
    cachedBootstrap = newBootstrap ?? cachedBootstrap;
    freshUntil = now().getTime() + (newBootstrap ? BOOTSTRAP_CACHE_MS : BOOTSTRAP_RETRY_MS);
    return cachedBootstrap;
  };
  return async () => {
    if (now().getTime() < freshUntil) return cachedBootstrap;
    pendingRefresh ??= fetchAndCache().finally(() => {
      pendingRefresh = undefined;
    });
    return pendingRefresh;
  };
}

async function fetchBootstrap(context: RdapContext, url: URL): Promise<FetchedBootstrap | undefined> {
  try {
    const { status, text, isSecure } = await followRedirects(context, url, undefined);
    const file = status === 200 ? parseRdapBootstrap(tryParseJson(text)) : undefined;
    return file && { file, isSecure };
  } catch (error) {
    if (error instanceof LookupError) return undefined;
    throw error;
  }
}

/** @throws {LookupError} */
async function followRedirects(
  context: RdapContext,
  startUrl: URL,
  signal: AbortSignal | undefined,
): Promise<RdapResponse> {
  let url = startUrl;
  let remainingMs = context.deadlineMs;
  let isSecure = true;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    isSecure &&= url.protocol === 'https:';
    const { response, durationMs } = await request(context, url, remainingMs, signal).catch(
      (error: unknown) => {
        throw toLookupError(error, context.deadlineMs);
      },
    );
    remainingMs -= durationMs;
    const { status, location, retryAfterMs } = response;
    if (isBusy(status))
      throw new LookupError(createUnavailableAnswer({ code: 'busy', detail: String(status) }, retryAfterMs));
    if (!REDIRECT_STATUSES.has(status)) return { ...response, server: url.host, isSecure };
    const target = resolveRedirect(url, location);
    if (!(target instanceof URL)) throw new LookupError(target);
    url = target;
  }
  throw new LookupError(createUnavailableAnswer({ code: 'too_many_redirects' }));
}

/** `durationMs` doesn't include the time that the request waited for the rate limit. */
async function request(context: RdapContext, url: URL, timeoutMs: number, signal: AbortSignal | undefined) {
  context.guard.check(url);
  const limiter = getHostLimiter(context, url.host);
  return limiter.run(async () => {
    const startedAt = performance.now();
    const response = await send(context, url, timeoutMs, signal);
    if (isBusy(response.status) && response.retryAfterMs > 0) limiter.pause(response.retryAfterMs);
    return { response, durationMs: performance.now() - startedAt };
  }, signal);
}

function isBusy(status: number): boolean {
  return status === 429 || status === 503;
}

function getHostLimiter({ limiters, spacingMs, now }: RdapContext, host: string): HostRateLimiter {
  const limiter =
    limiters.get(host) ?? new HostRateLimiter({ maxConcurrent: MAX_CONCURRENT_REQUESTS, spacingMs, now });
  limiters.set(host, limiter);
  return limiter;
}

async function send(
  { agent, userAgent, now }: RdapContext,
  url: URL,
  timeoutMs: number,
  signal: AbortSignal | undefined,
) {
  const { status, headers, body } = await exchange(
    agent,
    {
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: 'GET',
      headers: ['accept', 'application/rdap+json, application/json;q=0.9', 'user-agent', userAgent],
    },
    { timeoutMs, maxBytes: MAX_RESPONSE_BYTES, signal },
  );
  const requestedWaitMs = parseRetryAfter(headers['retry-after'], now().getTime());
  const contentType = [headers['content-type']].flat()[0];
  return {
    status,
    text: body && decodeJsonBody(body, contentType),
    mediaType: (contentType ?? '').replace(/;.*/s, '').trim().toLowerCase(),
    location: [headers['location']].flat()[0],
    retryAfterMs:
      requestedWaitMs === undefined
        ? isBusy(status)
          ? DEFAULT_WAIT_MS
          : 0
        : Math.min(requestedWaitMs, DAY_MS),
  };
}

/** Registries also send other JSON types, plain text or no type (see RFC 7480, sections 4.2 and 5.3). */
const JSON_MEDIA_TYPE = /^(?:|(?:application|text)\/(?:[^/]+\+)?json|text\/plain)$/;

function readAnswer({ status, text, mediaType, server, isSecure }: RdapResponse): RdapAnswer {
  if (status !== 200 && status !== 404)
    return createUnavailableAnswer({ code: 'http_status', detail: String(status) });
  const body = JSON_MEDIA_TYPE.test(mediaType) ? tryParseJson(text) : undefined;
  // A 404 may have no body (RFC 7480, section 5.3).
  const isEmptyNotFound = status === 404 && text?.trim() === '';
  if (body === undefined && !isEmptyNotFound)
    return createUnavailableAnswer({ code: 'not_rdap', ...(mediaType !== '' && { detail: mediaType }) });
  return status === 404
    ? { kind: 'not_found', server, isSecure }
    : { kind: 'answered', body, server, isSecure };
}

function tryParseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : parseJson(text);
  } catch {
    return undefined;
  }
}

/**
 * @param location the `Location` header
 * @returns the URL; a problem if it isn't a web address, has credentials, or leads from `https` to `http`
 */
export function resolveRedirect(sourceUrl: URL, location: string | undefined): URL | UnavailableAnswer {
  if (location === undefined || !URL.canParse(location, sourceUrl.href)) {
    return createUnavailableAnswer({ code: 'redirect_to_nowhere' });
  }
  const target = new URL(location, sourceUrl);
  const isDowngrade = sourceUrl.protocol === 'https:' && target.protocol !== 'https:';
  if (isDowngrade || !/^https?:$/.test(target.protocol) || target.username !== '' || target.password !== '') {
    return createUnavailableAnswer({ code: 'redirect_unsafe' });
  }
  return target;
}

function toLookupError(error: unknown, deadlineMs: number): LookupError {
  if (error instanceof HostBusyError) {
    return new LookupError(createUnavailableAnswer({ code: 'waiting' }, error.retryAfterMs), error);
  }
  const failure = error instanceof HttpExchangeError ? error.failure : undefined;
  if (failure === 'too_large') return new LookupError(createUnavailableAnswer({ code: 'too_large' }), error);
  if (failure === 'timeout')
    return new LookupError(
      createUnavailableAnswer({ code: 'timeout', detail: String(deadlineMs / 1000) }),
      error,
    );
  const cause = error instanceof HttpExchangeError ? error.cause : error;
  if (cause instanceof PrivateAddressError)
    return new LookupError(createUnavailableAnswer({ code: 'private_address' }), error);
  const hasCode = cause instanceof Error && 'code' in cause;
  return new LookupError(
    createUnavailableAnswer({ code: 'unreachable', ...(hasCode && { detail: String(cause.code) }) }),
    error,
  );
}

function createUnavailableAnswer(problem: RdapProblem, retryAfterMs?: number): UnavailableAnswer {
  return { kind: 'unavailable', problem, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}
