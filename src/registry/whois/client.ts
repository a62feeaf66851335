import { connect, isIP, type LookupFunction } from 'node:net';
import { HostBusyError, HostRateLimiter } from '../../http/host-rate-limiter.ts';
import { createAddressGuard, type HostResolver } from '../../http/public-address.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../lib/duration.ts';
import { type ParsedWhoisResponse, parseWhoisResponse } from './record.ts';
import { WHOIS_PORT, type WhoisServer } from './servers.ts';
import { findByLongestSuffix, findWhoisZoneFormat } from './zones.ts';

export type WhoisAnswer =
  | ParsedWhoisResponse
  | { readonly kind: 'no_server' | 'unreachable' | 'timeout' | 'too_large' }
  /** No query was sent, because of the rate limit. */
  | { readonly kind: 'waiting' };

/** WHOIS (RFC 3912). */
export interface WhoisClient {
  /**
   * @param name in ASCII
   * @throws only the signal's reason
   */
  fetchRecord(name: string, signal: AbortSignal): Promise<WhoisAnswer>;
}

export interface WhoisClientOptions {
  /** Configured by the operator, keyed by zone. */
  readonly servers: ReadonlyMap<string, WhoisServer>;
  /** Refers to the servers of zones without a configured one. Default: `whois.iana.org`. */
  readonly ianaServer?: WhoisServer;
  readonly now: () => Date;
  /** Minimum time between two queries to a server. */
  readonly spacingMs?: number;
  readonly deadlineMs?: number;
  /** Default: the operating system's resolver. */
  readonly resolve?: HostResolver;
}

const IANA_SERVER: WhoisServer = { host: 'whois.iana.org', port: WHOIS_PORT };
/** Later text is ignored, because the record comes before the terms of use. */
const MAX_PARSED_BYTES = 65_536;
const MAX_RESPONSE_BYTES = 1_048_576;
const DEFAULT_DEADLINE_MS = 10 * SECOND_MS;
const REFERRAL_CACHE_MS = DAY_MS;
const RETRY_DELAY_MS = HOUR_MS;
/** Lookups of a name within this time share a query. */
const SHARED_RESULT_MS = MINUTE_MS;

type ExchangeResult = { readonly text: string } | { readonly kind: 'unreachable' | 'timeout' | 'too_large' };
type Referral = WhoisServer | 'no_server' | Exclude<ExchangeResult, { text: string }>['kind'];

interface WhoisContext
  extends Required<Pick<WhoisClientOptions, 'servers' | 'now' | 'spacingMs' | 'deadlineMs'>> {
  readonly ianaServer: WhoisServer;
  readonly resolve: HostResolver | undefined;
  readonly limiters: Map<string, HostRateLimiter>;
  readonly referrals: Map<string, { readonly referral: Referral; readonly expiresAt: number }>;
}

/**
 * Sends one query at a time to each server, by default at most one per second. Never connects to a private
 * address unless the server is configured.
 */
export function createWhoisClient(options: WhoisClientOptions): WhoisClient {
  const { servers, now, ianaServer = IANA_SERVER, resolve } = options;
  const { spacingMs = SECOND_MS, deadlineMs = DEFAULT_DEADLINE_MS } = options;
  const context: WhoisContext = {
    servers,
    now,
    ianaServer,
    resolve,
    spacingMs,
    deadlineMs,
    limiters: new Map(),
    referrals: new Map(),
  };
  const recentLookups = new Map<string, { answer: Promise<WhoisAnswer>; expiresAt: number }>();
  return {
    async fetchRecord(name, signal) {
      const nowMs = now().getTime();
      for (const [key, { expiresAt }] of recentLookups) if (expiresAt <= nowMs) recentLookups.delete(key);
      const sharedAnswer = await recentLookups.get(name)?.answer.catch(() => undefined);
      if (sharedAnswer !== undefined) return sharedAnswer;
      const answer = fetchRecord(context, name, signal);
      recentLookups.set(name, { answer, expiresAt: nowMs + SHARED_RESULT_MS });
      return answer;
    },
  };
}

async function fetchRecord(context: WhoisContext, name: string, signal: AbortSignal): Promise<WhoisAnswer> {
  try {
    return await queryServer(context, name, signal);
  } catch (error) {
    if (error instanceof HostBusyError) return { kind: 'waiting' };
    throw error;
  }
}

/** @throws {HostBusyError} */
async function queryServer(context: WhoisContext, name: string, signal: AbortSignal): Promise<WhoisAnswer> {
  const configuredServer = findByLongestSuffix(name, (zone) => context.servers.get(zone));
  const server = configuredServer ?? (await findReferredServer(context, name, signal));
  if (typeof server === 'string') return { kind: server };
  const query = findWhoisZoneFormat(name).buildQuery?.(name) ?? name;
  const limiter = getHostLimiter(context, server);
  const result = await limiter.run(
    () => exchange(context, server, configuredServer ?? context.ianaServer, query, signal),
    signal,
  );
  if (!('text' in result)) return result;
  const parsedResponse = parseWhoisResponse(result.text, name, context.now());
  if (parsedResponse.kind === 'limited') limiter.pause(RETRY_DELAY_MS);
  return parsedResponse;
}

async function findReferredServer(
  context: WhoisContext,
  name: string,
  signal: AbortSignal,
): Promise<Referral> {
  const zone = name.slice(name.lastIndexOf('.') + 1);
  const cached = context.referrals.get(zone);
  if (cached !== undefined && cached.expiresAt > context.now().getTime()) return cached.referral;
  const { ianaServer } = context;
  const result = await getHostLimiter(context, ianaServer).run(
    () => exchange(context, ianaServer, ianaServer, zone, signal),
    signal,
  );
  const referral = 'text' in result ? parseReferral(result.text) : result.kind;
  const cacheMs = 'text' in result ? REFERRAL_CACHE_MS : RETRY_DELAY_MS;
  context.referrals.set(zone, { referral, expiresAt: context.now().getTime() + cacheMs });
  return referral;
}

function parseReferral(text: string): Referral {
  const [, host, port = String(WHOIS_PORT)] =
    /^(?:whois|refer):[ \t]*([a-z0-9.-]+)(?::(\d{1,5}))?[ \t\r]*$/im.exec(text) ?? [];
  return host === undefined || Number(port) < 1 || Number(port) > 65_535
    ? 'no_server'
    : { host, port: Number(port) };
}

function getHostLimiter(
  { limiters, spacingMs, now }: WhoisContext,
  { host, port }: WhoisServer,
): HostRateLimiter {
  const key = `${host}:${port}`;
  const limiter = limiters.get(key) ?? new HostRateLimiter({ maxConcurrent: 1, spacingMs, now });
  limiters.set(key, limiter);
  return limiter;
}

/** @param trustedServer a server that may have a private address, because the operator configured it */
function exchange(
  { resolve, deadlineMs }: WhoisContext,
  server: WhoisServer,
  trustedServer: WhoisServer,
  query: string,
  signal: AbortSignal,
): Promise<ExchangeResult> {
  const guard = createAddressGuard(new URL(`http://${formatUrlHost(trustedServer.host)}`), resolve);
  try {
    guard.check(new URL(`http://${formatUrlHost(server.host)}`));
  } catch {
    return Promise.resolve({ kind: 'unreachable' });
  }
  return send(server, query, guard.lookup, deadlineMs, signal);
}

function send(
  server: WhoisServer,
  query: string,
  lookup: LookupFunction,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<ExchangeResult> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const chunks: Buffer[] = [];
    let size = 0;
    const socket = connect({ ...server, lookup });
    const end = (finish: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      socket.destroy();
      finish();
    };
    const abort = () => end(() => reject(signal.reason));
    const timer = setTimeout(() => end(() => resolve({ kind: 'timeout' })), deadlineMs);
    signal.addEventListener('abort', abort, { once: true });
    socket.on('connect', () => socket.write(`${query}\r\n`));
    socket.on('data', (chunk: Buffer) => {
      if (size < MAX_PARSED_BYTES) chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_RESPONSE_BYTES) end(() => resolve({ kind: 'too_large' }));
    });
    socket.on('error', () => end(() => resolve({ kind: 'unreachable' })));
    socket.on('end', () =>
      end(() => resolve({ text: decode(Buffer.concat(chunks).subarray(0, MAX_PARSED_BYTES)) })),
    );
    socket.on('close', () => end(() => resolve({ kind: 'unreachable' })));
  });
}

/** Falls back to Latin-1 if the bytes aren't UTF-8. */
function decode(bytes: Buffer): string {
  // The last character of a truncated text may be incomplete.
  for (const trimmedByteCount of [0, 1, 2, 3]) {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(
        bytes.subarray(0, bytes.length - trimmedByteCount),
      );
    } catch {
      if (bytes.length < MAX_PARSED_BYTES) break;
    }
  }
  return new TextDecoder('latin1').decode(bytes);
}

function formatUrlHost(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}
