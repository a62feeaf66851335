import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Log } from './log.ts';

/** What is not ready, by part; empty when all is. */
export type Readiness = Readonly<Record<string, string>>;

export interface ServerOptions {
  /** 0 takes any free port. */
  readonly port: number;
  /** Address to listen on; every one of the machine when left out. */
  readonly host?: string;
  readonly log: Log;
  readonly readiness: () => Promise<Readiness>;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  /** Takes Slack's signed requests; undefined while it cannot, and in Socket Mode. */
  readonly slack: () => RequestListener | undefined;
  /** The calendar feed behind a token, in pieces; undefined when nobody has this token. */
  readonly calendar: (token: string) => Promise<AsyncIterable<string> | undefined>;
}

export interface HttpServer {
  readonly port: number;
  /** Takes no new connections and lets go of idle ones. */
  close(): Promise<void>;
}

/** Slack's signatures are good for five minutes either way; Bolt itself looks only back. */
const CLOCK_LEEWAY_SECONDS = 300;

const CALENDAR_PATH = /^\/calendar\/([A-Za-z0-9_-]{20,100})\.ics$/;

/** Slack's largest deliveries, forms with everything typed in, stay far below. */
const MAX_BODY_BYTES = 1_000_000;

/** `ssl_check=1` and a token. */
const SSL_CHECK_BYTES = 1_000;

const HEADERS = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
} as const;

/** The bot's own HTTP server: `/slack/events`, `/healthz`, `/readyz`, `/metrics`, `/calendar/<token>.ics`. */
export async function startServer(options: ServerOptions): Promise<HttpServer> {
  const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000 }, (request, response) => {
    route(options, request, response).catch((err: unknown) => {
      // Only the first part of the path: what follows may be a token.
      options.log.error({ err, path: request.url?.split(/(?<=.)[/?]/)[0] }, 'answering an HTTP request');
      if (!response.headersSent) answer(response, 500, { error: 'internal error' });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: options.port, ...(options.host === undefined ? {} : { host: options.host }) }, () =>
      resolve(),
    );
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the HTTP server has no port');
  return {
    port: address.port,
    close: () => close(server),
  };
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), 1_000).unref();
  });
}

async function route(
  options: ServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
  const path = request.url?.split('?')[0];
  const reads = request.method === 'GET' || request.method === 'HEAD';
  if (path === '/slack/events') return takeFromSlack(options, request, response);
  if (path === '/healthz' && reads) return answer(response, 200, { status: 'alive' });
  if (path === '/readyz' && reads) {
    const missing = await options.readiness();
    const ready = Object.keys(missing).length === 0;
    return answer(
      response,
      ready ? 200 : 503,
      ready ? { status: 'ready' } : { status: 'not ready', missing },
    );
  }
  if (path === '/metrics' && reads) {
    const { contentType, text } = await options.metrics();
    response.writeHead(200, { 'content-type': contentType });
    response.end(text);
    return;
  }
  const token = CALENDAR_PATH.exec(path ?? '')?.[1];
  const feed = token !== undefined && reads ? await options.calendar(token) : undefined;
  if (feed !== undefined) {
    response.writeHead(200, { 'content-type': 'text/calendar; charset=utf-8' });
    if (request.method === 'HEAD') return void response.end();
    return pipeline(Readable.from(feed), response);
  }
  answer(response, 404, { error: 'not found' });
}

/** The whole body, or undefined when it is larger than anything Slack sends. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    if (!(part instanceof Buffer)) continue;
    bytes += part.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Slack looks at the certificate now and then, with nothing signed; it wants to hear 200 and nothing more. */
async function isSslCheck(request: IncomingMessage): Promise<boolean> {
  if (request.headers['x-slack-request-timestamp'] !== undefined) return false;
  const [, query = ''] = (request.url ?? '').split('?');
  const length = Number(request.headers['content-length']);
  const text = request.method === 'POST' && length <= SSL_CHECK_BYTES ? await readBody(request) : undefined;
  return [query, text?.toString('utf8') ?? ''].some(
    (parameters) => new URLSearchParams(parameters).get('ssl_check') === '1',
  );
}

/** Bolt takes every body for an object and leaves a rejection unhandled, which ends the process, when it is none. */
function isDelivery(mediaType: string, body: string): boolean {
  const payload =
    mediaType === 'application/x-www-form-urlencoded' ? new URLSearchParams(body).get('payload') : body;
  if (payload === null) return true;
  try {
    const parsed: unknown = JSON.parse(payload);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  } catch {
    return false;
  }
}

async function takeFromSlack(
  options: ServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (await isSslCheck(request)) {
    answer(response, 200, {});
    return;
  }
  const slack = options.slack();
  if (slack === undefined) {
    answer(response, 503, { error: 'not ready' });
    return;
  }
  if (request.method !== 'POST') {
    answer(response, 405, { error: 'POST only' });
    return;
  }
  const timestamp = Number(request.headers['x-slack-request-timestamp']);
  const skew = Math.abs(Date.now() / 1_000 - timestamp);
  if (!(skew <= CLOCK_LEEWAY_SECONDS)) {
    answer(response, 401, { error: 'the request is not of this moment' });
    return;
  }
  // Bolt knows the media types without parameters only.
  const [given = ''] = (request.headers['content-type'] ?? '').split(';');
  const mediaType = given.trim().toLowerCase();
  request.headers['content-type'] = mediaType;
  const body = await readBody(request);
  if (body === undefined) {
    response.setHeader('connection', 'close');
    answer(response, 413, { error: 'too large' });
    return;
  }
  if (!isDelivery(mediaType, body.toString('utf8'))) {
    answer(response, 400, { error: 'not a delivery of Slack' });
    return;
  }
  // Read already: Bolt checks the signature of `rawBody`.
  Object.assign(request, { rawBody: body });
  slack(request, response);
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
