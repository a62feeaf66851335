import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Log } from '../lib/log.ts';
import type { PartProblems } from './readiness.ts';

export interface ListenOptions {
  /** 0 picks any free port. */
  readonly port: number;
  /** The address to listen on. Default: every address of the machine. */
  readonly host?: string;
  readonly log: Log;
}

export interface MetricsSource {
  readonly contentType: string;
  text(): Promise<string>;
}

export interface ServerOptions extends ListenOptions {
  readonly listUnreadyParts: () => Promise<PartProblems>;
  readonly listDetails: () => Promise<PartProblems>;
  /** Undefined if metrics are served on a separate port. */
  readonly metrics: MetricsSource | undefined;
}

/** Routes served once the bot has started. */
export interface Routes {
  /** Whether a request has a valid Slack signature over the raw body. */
  readonly isSigned: (headers: IncomingHttpHeaders, body: Buffer) => boolean;
  /** Returns the handler for signed Slack requests, or undefined during startup and in Socket Mode. */
  readonly getSlackListener: () => RequestListener | undefined;
  /** Returns the calendar feed for a token in chunks, or undefined if the token is unknown. */
  readonly openCalendar: (token: string) => Promise<AsyncIterable<string> | undefined>;
  /** Serves a signing page. @returns whether the path belongs to one */
  readonly servePage: (path: string, request: IncomingMessage, response: ServerResponse) => Promise<boolean>;
}

export interface ListeningServer {
  readonly port: number;
  /** Stops accepting connections and closes idle ones. */
  close(): Promise<void>;
}

export interface HttpServer extends ListeningServer {
  /** Starts serving these routes. Until then, Slack's requests are answered with 503. */
  serve(routes: Routes): void;
}

const CALENDAR_PATH = /^\/calendar\/([A-Za-z0-9_-]{20,100})\.ics$/;

/** Much more than Slack's largest requests, which are forms with every field filled in. */
const MAX_BODY_BYTES = 1_000_000;

/** The body of Slack's certificate check contains only `ssl_check=1` and a token. */
const MAX_SSL_CHECK_BYTES = 1_000;
const SSL_CHECK_PATTERN = /(?:^|&)ssl_check=1(?:&|$)/;

/** Slack gives up after 3 s, so a slower request isn't from Slack. */
const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
/** Node checks for slow requests every 30 s by default. */
const TIMEOUT_CHECK_MS = 1_000;
/**
 * Longer than load balancers keep an idle connection (60 s). Otherwise, they could send a request on a
 * connection that the server is closing.
 */
const KEEP_ALIVE_MS = 65_000;
/** Slack sends about fifteen headers, and load balancers add some. */
const MAX_HEADERS = 100;
const MAX_HEADER_BYTES = 16_384;
/** The limit for connections without a complete request. Load balancers keep a few dozen open. */
const MAX_WAITING_CONNECTIONS = 500;
const MAX_CONNECTIONS = 1_000;

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
} as const;

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * Serves `/slack/events`, `/healthz`, `/readyz`, `/metrics`, `/calendar/<token>.ics`, and the signing pages.
 */
export async function startServer(options: ServerOptions): Promise<HttpServer> {
  let routes: Routes | undefined;
  const server = await listen(options, (request, response) =>
    routeRequest(options, routes, request, response),
  );
  return {
    ...server,
    serve(newRoutes) {
      routes = newRoutes;
    },
  };
}

export function startMetricsServer(
  options: ListenOptions & { readonly metrics: MetricsSource },
): Promise<ListeningServer> {
  return listen(options, async (request, response) =>
    readPath(request) === '/metrics' && isGetOrHead(request)
      ? sendMetrics(options.metrics, response)
      : sendJson(response, 404, { error: 'not found' }),
  );
}

async function listen({ port, host, log }: ListenOptions, handle: RequestHandler): Promise<ListeningServer> {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    },
    (request, response) => {
      for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
      handle(request, response).catch((err: unknown) => {
        // The request is incomplete if the client closed the connection or was too slow.
        if (!request.complete) return;
        // Only the first part of the path is logged, because the rest may be a token.
        log.error({ err, path: request.url?.split(/(?<=.)[/?]/)[0] }, 'answering an HTTP request failed');
        if (!response.headersSent) sendJson(response, 500, { error: 'internal error' });
      });
    },
  );
  server.maxHeadersCount = MAX_HEADERS;
  server.maxConnections = MAX_CONNECTIONS;
  limitWaitingConnections(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, ...(host === undefined ? {} : { host }) }, () => resolve());
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the HTTP server has no port');
  return { port: address.port, close: () => closeServer(server) };
}

/**
 * If too many connections have no complete request, closes the oldest one. Real requests are complete within
 * milliseconds, so connections that send nothing can't block them.
 */
function limitWaitingConnections(server: Server): void {
  const waitingSockets = new Set<Socket>();
  const startWaiting = (socket: Socket) => {
    waitingSockets.add(socket);
    if (waitingSockets.size <= MAX_WAITING_CONNECTIONS) return;
    const [oldest] = waitingSockets;
    oldest?.destroy();
  };
  server.on('connection', (socket) => {
    socket.once('close', () => waitingSockets.delete(socket));
    startWaiting(socket);
  });
  server.on('request', (request, response) => {
    const { socket } = request;
    const stopWaiting = () => {
      if (!response.writableFinished) waitingSockets.delete(socket);
    };
    if (isGetOrHead(request)) stopWaiting();
    else request.once('end', stopWaiting);
    response.once('finish', () => {
      if (!socket.destroyed) startWaiting(socket);
    });
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), 1_000).unref();
  });
}

function readPath(request: IncomingMessage): string | undefined {
  return request.url?.split('?')[0];
}

function isGetOrHead(request: IncomingMessage): boolean {
  return request.method === 'GET' || request.method === 'HEAD';
}

async function routeRequest(
  options: ServerOptions,
  routes: Routes | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = readPath(request);
  const isReadRequest = isGetOrHead(request);
  if (path === '/slack/events') return handleSlackRequest(routes, request, response);
  if (path === '/healthz' && isReadRequest) return sendJson(response, 200, { status: 'alive' });
  if (path === '/readyz' && isReadRequest) {
    const [missing, details] = await Promise.all([options.listUnreadyParts(), options.listDetails()]);
    const isReady = Object.keys(missing).length === 0;
    const detailsField = Object.keys(details).length === 0 ? {} : { details };
    return sendJson(
      response,
      isReady ? 200 : 503,
      isReady ? { status: 'ready', ...detailsField } : { status: 'not ready', missing, ...detailsField },
    );
  }
  if (path === '/metrics' && isReadRequest && options.metrics !== undefined) {
    return sendMetrics(options.metrics, response);
  }
  const token = CALENDAR_PATH.exec(path ?? '')?.[1];
  const feed = token !== undefined && isReadRequest ? await routes?.openCalendar(token) : undefined;
  if (feed !== undefined) {
    response.writeHead(200, { 'content-type': 'text/calendar; charset=utf-8' });
    if (request.method === 'HEAD') return void response.end();
    return pipeline(Readable.from(feed), response);
  }
  if (path !== undefined && (await routes?.servePage(path, request, response)) === true) return;
  sendJson(response, 404, { error: 'not found' });
}

async function sendMetrics(metrics: MetricsSource, response: ServerResponse): Promise<void> {
  const text = await metrics.text();
  response.writeHead(200, { 'content-type': metrics.contentType });
  response.end(text);
}

/** @returns undefined if the body is larger than any of Slack's requests */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let byteCount = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!(chunk instanceof Buffer)) continue;
    byteCount += chunk.length;
    if (byteCount > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Slack occasionally checks the certificate with an unsigned request, and expects a 200. The body is read
 * only if it is short.
 */
async function isSslCheck(request: IncomingMessage): Promise<boolean> {
  if (request.headers['x-slack-signature'] !== undefined) return false;
  const [, query = ''] = (request.url ?? '').split('?');
  if (SSL_CHECK_PATTERN.test(query)) return true;
  const length = Number(request.headers['content-length']);
  if (request.method !== 'POST' || !(length <= MAX_SSL_CHECK_BYTES)) return false;
  const body = await readBody(request);
  return body !== undefined && SSL_CHECK_PATTERN.test(body.toString('latin1'));
}

/** Bolt assumes that every payload is an object. Any other payload would cause an unhandled rejection. */
function isSlackPayload(mediaType: string, body: string): boolean {
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

/** The signature is checked before the body is decoded. */
async function handleSlackRequest(
  routes: Routes | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (await isSslCheck(request)) {
    response.writeHead(200);
    response.end();
    return;
  }
  const slackListener = routes?.getSlackListener();
  if (routes === undefined || slackListener === undefined)
    return sendJson(response, 503, { error: 'not ready' });
  if (request.method !== 'POST') return sendJson(response, 405, { error: 'POST only' });
  if (request.headers['x-slack-signature'] === undefined)
    return sendJson(response, 401, { error: 'not signed' });
  const body = await readBody(request);
  if (body === undefined) {
    response.setHeader('connection', 'close');
    return sendJson(response, 413, { error: 'too large' });
  }
  if (!routes.isSigned(request.headers, body))
    return sendJson(response, 401, { error: 'invalid Slack signature, or the request is too old' });
  // Bolt doesn't recognize media types with parameters.
  const [rawType = ''] = (request.headers['content-type'] ?? '').split(';');
  const mediaType = rawType.trim().toLowerCase();
  request.headers['content-type'] = mediaType;
  if (!isSlackPayload(mediaType, body.toString('utf8')))
    return sendJson(response, 400, { error: 'not a Slack payload' });
  // The body has been read, so Bolt uses `rawBody` and checks the signature again.
  Object.assign(request, { rawBody: body });
  slackListener(request, response);
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
