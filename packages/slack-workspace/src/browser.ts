import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, normalize, sep } from 'node:path';
import type { z } from 'zod';
import type { Actor } from './actor.ts';
import type { Core } from './core.ts';
import { HttpError, readBody, sendJson } from './http.ts';
import { type Message, type RequestName, requestSchemas, type Snapshot } from './protocol.ts';
import { APP, TEAM } from './seed.ts';

interface ExtraRouteRequest {
  query: URLSearchParams;
  /** The parsed JSON body, not validated. Undefined for GET. */
  body: unknown;
}

/** Additional routes by method and path, for example `GET /local/requests`. Their results are sent as JSON. */
export type ExtraRoutes = Readonly<Record<string, (request: ExtraRouteRequest) => unknown>>;

interface PageHandlerOptions {
  core: Core;
  findActor: (userId: string) => Actor;
  pageDir: string;
  extraRoutes: ExtraRoutes;
}

export interface PageHandler {
  handle(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void>;
  /** Ends the event streams. */
  close(): void;
}

const MIME_TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.json': 'application/json',
  '.map': 'application/json',
  '.woff2': 'font/woff2',
};

const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

const LOCAL_HOSTNAMES = ['127.0.0.1', 'localhost', '[::1]'];
const HIDDEN_TOPICS = ['call', 'delivery', 'socket'];
const KEEP_ALIVE_MS = 20_000;

/** Serves the page and its API: state, events and people's actions. */
export function createPageHandler(options: PageHandlerOptions): PageHandler {
  const { core } = options;
  const streams = new Set<ServerResponse>();
  const unsubscribe = core.state.onChange((change) => {
    if (HIDDEN_TOPICS.includes(change.topic)) return;
    for (const stream of streams) stream.write(`data: ${JSON.stringify(change)}\n\n`);
  });
  const keepAliveTimer = setInterval(() => {
    for (const stream of streams) stream.write(': still here\n\n');
  }, KEEP_ALIVE_MS).unref();

  const handle = async (request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> => {
    const method = request.method ?? 'GET';
    const extraRoute = Object.hasOwn(options.extraRoutes, `${method} ${url.pathname}`)
      ? options.extraRoutes[`${method} ${url.pathname}`]
      : undefined;
    if (extraRoute) {
      const body = method === 'GET' ? undefined : await readJson(request);
      sendJson(response, 200, (await extraRoute({ query: url.searchParams, body })) ?? {});
    } else if (method === 'GET' && url.pathname === '/local/events') {
      openStream(response, streams);
    } else if (method === 'GET' && url.pathname === '/local/state') {
      const user = url.searchParams.get('user') || findFirstPersonId(core);
      sendJson(response, 200, createSnapshot(core, options.findActor(user)));
    } else if (method === 'POST' && url.pathname.startsWith('/local/')) {
      const name = url.pathname.slice('/local/'.length);
      if (!isRequestName(name)) throw new HttpError(404, `there is no request ${name}`);
      sendJson(response, 200, (await callRequestHandler(options, name, await readJson(request))) ?? {});
    } else if (method === 'GET' || method === 'HEAD') {
      await sendFile(options, url.pathname, response);
    } else {
      throw new HttpError(405, 'method not allowed');
    }
  };

  return {
    handle,
    close: () => {
      unsubscribe();
      clearInterval(keepAliveTimer);
      for (const stream of streams) stream.end();
    },
  };
}

/** @throws HttpError 403 if the host name or origin shows that another site sent the request */
export function rejectCrossOrigin(request: IncomingMessage): void {
  const host = request.headers.host ?? '';
  const hostname = host.replace(/:\d+$/, '');
  if (!LOCAL_HOSTNAMES.includes(hostname))
    throw new HttpError(403, 'this page can only be opened on the machine that runs it');
  const { origin } = request.headers;
  if (origin !== undefined && origin !== `http://${host}`)
    throw new HttpError(403, 'requests from other sites are refused');
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const type = request.headers['content-type'] ?? '';
  // A form on another site can't send this type without a preflight request.
  if (!type.startsWith('application/json')) throw new HttpError(415, 'the body must be application/json');
  try {
    return JSON.parse((await readBody(request)).toString('utf8'));
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw new HttpError(400, 'the body is not JSON');
  }
}

function isRequestName(name: string): name is RequestName {
  return Object.hasOwn(requestSchemas, name);
}

function openStream(response: ServerResponse, streams: Set<ServerResponse>): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write(': hello\n\n');
  streams.add(response);
  response.on('close', () => streams.delete(response));
}

function findFirstPersonId({ state }: Core): string {
  return [...state.users.values()].find(({ is_bot }) => !is_bot)?.id ?? '';
}

function createSnapshot(core: Core, actor: Actor): Snapshot {
  const { state } = core;
  const channels = [...state.channels.values()].filter(({ members }) => members.includes(actor.user.id));
  const messages = channels.map(({ id }): [string, Message[]] => {
    const channelMessages = [...state.getMessages(id), ...actor.ephemerals(id)];
    return [id, channelMessages.sort((a, b) => (a.ts < b.ts ? -1 : 1))];
  });
  return {
    version: state.version,
    now: state.now(),
    team: { ...TEAM, name: state.teamName },
    me: actor.user.id,
    bot: { user_id: APP.botUserId, name: state.appName },
    commands: [...core.commands],
    shortcuts: [...core.shortcuts],
    users: [...state.users.values()],
    usergroups: [...state.usergroups.values()].map(({ id, handle, name }) => ({ id, handle, name })),
    channels,
    messages: Object.fromEntries(messages),
    views: actor.openedViews(),
    home: actor.homeView() ?? null,
  };
}

const callRequestHandler = async (
  options: PageHandlerOptions,
  name: RequestName,
  body: unknown,
): Promise<unknown> => {
  const { findActor, core } = options;
  try {
    return await REQUEST_HANDLERS[name](body, findActor, core);
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw new HttpError(400, error instanceof Error ? error.message : String(error));
  }
};

type RequestHandler = (body: unknown, findActor: (userId: string) => Actor, core: Core) => Promise<unknown>;

function createRequestHandler<S extends z.ZodType<{ user: string }>>(
  schema: S,
  performAction: (actor: Actor, body: z.infer<S>, core: Core) => unknown,
): RequestHandler {
  return async (body, findActor, core) => {
    const parsed = schema.safeParse(body);
    if (!parsed.success) throw new HttpError(400, parsed.error.message);
    return performAction(findActor(parsed.data.user), parsed.data, core);
  };
}

const REQUEST_HANDLERS: Record<RequestName, RequestHandler> = {
  command: createRequestHandler(requestSchemas.command, (actor, body) =>
    actor.command(body.channel, body.text),
  ),
  say: createRequestHandler(requestSchemas.say, (actor, body) => ({
    ts: actor.say(body.channel, body.text, body.thread_ts).ts,
  })),
  act: createRequestHandler(requestSchemas.act, (actor, { target, action_id, block_id, value }, core) =>
    actor.click('view' in target ? target.view : requireMessage(core, actor, target), action_id, {
      ...(value !== undefined && { value }),
      ...(block_id !== undefined && { blockId: block_id }),
    }),
  ),
  input: createRequestHandler(requestSchemas.input, (actor, body) =>
    actor.changeInput(body.view, body.action_id, body.value, body.block_id),
  ),
  submit: createRequestHandler(requestSchemas.submit, (actor, body) => actor.submit(body.view, body.values)),
  upload: createRequestHandler(requestSchemas.upload, (actor, { name, content }) => ({
    id: actor.upload(name, Buffer.from(content, 'base64')),
  })),
  close: createRequestHandler(requestSchemas.close, (actor, body) => actor.close(body.view)),
  shortcut: createRequestHandler(requestSchemas.shortcut, (actor, body, core) =>
    actor.shortcut(body.callback_id, requireMessage(core, actor, body)),
  ),
  home: createRequestHandler(requestSchemas.home, (actor) => actor.openHome()),
};

function requireMessage(core: Core, actor: Actor, { channel, ts }: { channel: string; ts: string }): Message {
  const ephemeral = actor.ephemerals(channel).find((message) => message.ts === ts);
  const message = ephemeral ?? core.state.findMessage(channel, ts);
  if (!message) throw new HttpError(404, `there is no message ${ts} in ${channel}`);
  return message;
}

async function sendFile(options: PageHandlerOptions, path: string, response: ServerResponse): Promise<void> {
  const { core, pageDir } = options;
  const [, section = '', id = ''] = path.split('/');
  const storedFile = section === 'files' ? core.state.files.get(id) : undefined;
  if (storedFile) {
    response.writeHead(200, {
      'content-type': storedFile.info.mimetype,
      'content-disposition': `attachment; filename="${encodeURIComponent(storedFile.info.name)}"`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    });
    response.end(storedFile.content);
    return;
  }
  const filePath = findPageFile(pageDir, path);
  const content = filePath === undefined ? undefined : await readFile(filePath).catch(() => undefined);
  if (filePath === undefined || content === undefined) throw new HttpError(404, 'not found');
  const extension = extname(filePath);
  const type = Object.hasOwn(MIME_TYPES, extension) ? MIME_TYPES[extension] : undefined;
  response.writeHead(200, { 'content-type': type ?? 'application/octet-stream', ...PAGE_HEADERS });
  response.end(content);
}

/** Permalinks of messages open the page itself. */
function findPageFile(pageDir: string, path: string): string | undefined {
  const relativePath =
    path === '/' || path.startsWith('/archives/') ? 'index.html' : decodePath(path).slice(1);
  const filePath = normalize(join(pageDir, relativePath));
  return filePath.startsWith(normalize(pageDir + sep)) && !relativePath.includes('\0') ? filePath : undefined;
}

/** If the path can't be decoded, returns a path that doesn't exist. */
function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return '/\0';
  }
}
