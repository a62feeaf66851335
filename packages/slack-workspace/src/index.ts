import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Actor } from './actor.ts';
import { readPrivateFile, receiveUpload } from './api/files.ts';
import { getFaultCode, handleApi, sendFaultResponse } from './api/index.ts';
import { createPageHandler, type ExtraRoutes, type PageHandler, rejectCrossOrigin } from './browser.ts';
import type { ApiCall, Core, SimulatedConditions } from './core.ts';
import { Deliverer, type Delivery, type DeliveryAnswer, type SigningOverrides } from './deliver.ts';
import { SlackError } from './errors.ts';
import { Faults } from './faults.ts';
import { HttpError, readBody, readUploadedBytes, sendJson, sendText } from './http.ts';
import { buildEventPayload, buildMembersChangedEvent, buildUserChangeEvent } from './payloads.ts';
import { isObject } from './problems.ts';
import type {
  Change,
  Channel,
  CommandHint,
  Json,
  JsonObject,
  Message,
  ShortcutHint,
  User,
  View,
} from './protocol.ts';
import { RateLimits } from './rate-limits.ts';
import { handleResponse, ResponseUrls } from './response-urls.ts';
import { APP, createDefaultSeed, type Seed, TEAM } from './seed.ts';
import { SocketMode } from './socket.ts';
import { State } from './state.ts';
import { persistToFile } from './state-file.ts';
import { Triggers } from './triggers.ts';

export type { Actor } from './actor.ts';
export { checkBlocks, getTextLength, type Surface } from './blocks.ts';
export type { Delivery } from './deliver.ts';
export { LIMITS } from './limits.ts';
export { findMentions } from './mentions.ts';
export { describeProblem } from './problems.ts';
export type { InputValue, Json, JsonObject, Message, Snapshot, SubmitResult, View } from './protocol.ts';
export { APP, createDefaultSeed, type Seed, TEAM } from './seed.ts';
export { checkView } from './views.ts';

export interface WorkspaceOptions {
  /** Default: 0, for any free port. */
  port?: number;
  /** The workspace's clock, in milliseconds since 1970. Signatures use the real clock. */
  now?: () => number;
  /** File that keeps messages, Home views and files across restarts. */
  stateFile?: string;
  bot?: {
    /** Where signed requests are sent. Can be set later. An open Socket Mode connection takes precedence. */
    requestUrl?: string;
    /** The scopes of the bot token. Default: all. */
    scopes?: readonly string[];
    /** The `should_escape` setting of the app's commands. Default: false. */
    escapeEntities?: boolean;
  };
  /** Replaces the seeded people and channels. */
  seed?: Partial<Seed>;
  commands?: readonly CommandHint[];
  shortcuts?: readonly ShortcutHint[];
  /** Time limit for the app to acknowledge, in milliseconds. Default: Slack's 3 seconds. */
  ackTimeoutMs?: number;
  /** Delays before an event is retried. */
  eventRetryDelaysMs?: readonly number[];
  /** The number of messages per second that a channel accepts from the app. Default: no limit. */
  postsPerSecond?: number;
  /** Folder of the page that is served at `/`. Default: the workspace's own page. */
  pageDir?: string;
  /** Additional JSON routes for the page, for example `GET /local/requests`. */
  extraRoutes?: ExtraRoutes;
  /**
   * Called before the page's own routes. Cross-origin requests are rejected first.
   * @returns whether it has responded
   */
  handleRequest?: (path: string, request: IncomingMessage, response: ServerResponse) => Promise<boolean>;
  /** Whether people can use the workspace. If not, a page says that the app is starting. Default: always true. */
  isOpen?: () => boolean;
}

/** Changes that people can make to a channel. To remove the app, leave it out of the members. */
export type ChannelChanges = Partial<Pick<Channel, 'is_archived' | 'members'>>;

/** Changes that admins can make to a person. */
export type PersonChanges = Partial<
  Pick<User, 'deleted' | 'is_restricted' | 'is_ultra_restricted' | 'is_admin'>
>;

export interface Workspace {
  /** Base URL of the Web API, which ends with `/api/`. */
  readonly apiUrl: string;
  readonly url: string;
  readonly botToken: string;
  readonly appToken: string;
  readonly signingSecret: string;
  readonly teamId: string;
  readonly botUserId: string;
  setRequestUrl(url: string): void;
  /** Sends Slack's `url_verification` to the request URL. Resolves with true if the response contains the challenge. */
  verifyRequestUrl(): Promise<boolean>;
  /** @throws Error if there is no such person */
  as(userId: string): Actor;
  channel(idOrName: string): Channel & { messages: Message[]; thread(ts: string): Message[] };
  /** The messages of a channel, oldest first, with replies and without ephemeral messages. */
  messages(channelId: string): Message[];
  homeView(userId: string): View | undefined;
  /** Calls `read` after each change. Resolves with the first value that isn't undefined. */
  waitFor<T>(read: () => T | undefined, options: { timeoutMs?: number; what: string }): Promise<T>;
  readonly faults: Faults;
  readonly rateLimits: { enabled: boolean };
  readonly conditions: SimulatedConditions;
  readonly calls: readonly ApiCall[];
  /** Channel ids of scheduled messages, by message id. */
  readonly scheduledMessageChannels: ReadonlyMap<string, string>;
  /** Everything that was sent to the app, in the order of its responses. */
  readonly deliveries: readonly Delivery[];
  /** Resends a delivery with the same body and, unless overridden, a new signature. */
  redeliver(delivery: Delivery, signingOverrides?: SigningOverrides): Promise<DeliveryAnswer>;
  readonly socket: { readonly connectionCount: number; askToReconnect(): void; disconnect(): void };
  onChange(listener: (change: Change) => void): () => void;
  /** Notifies listeners of an event in the embedding program, with the topic `host.<name>`. */
  emitHostEvent(name: string): void;
  /** Resolves when the app has acknowledged the event. An app without the scope gets no event. */
  setUsergroupMembers(id: string, userIds: string[]): Promise<void>;
  /**
   * Deactivates a person, makes them a guest or an admin, or reverts that. Resolves when the app has acknowledged the
   * event.
   * @param shouldSendEvent false to simulate a lost event
   */
  changePerson(id: string, changes: PersonChanges, shouldSendEvent?: boolean): Promise<void>;
  /** Archives a channel or changes its members, or reverts that. */
  changeChannel(id: string, changes: ChannelChanges): void;
  /** Drops ephemeral messages, as if everyone had reloaded Slack. */
  forgetEphemerals(): void;
  close(): Promise<void>;
}

const DEFAULT_WAIT_MS = 5_000;
/** The same folder, whether this file runs from `src` or from `dist`. */
const DEFAULT_PAGE_DIR = fileURLToPath(new URL('../dist/page', import.meta.url));

export async function startWorkspace(options: WorkspaceOptions = {}): Promise<Workspace> {
  const now = options.now ?? Date.now;
  const state = new State({ ...createDefaultSeed(), ...options.seed }, now);
  const stateFile = options.stateFile === undefined ? undefined : persistToFile(state, options.stateFile);
  const socket = new SocketMode(() => state.emitChange('socket'));
  const signingSecret = randomBytes(16).toString('hex');
  const deliverer = new Deliverer({
    signingSecret,
    socket,
    now,
    onDelivered: () => state.emitChange('delivery'),
    ...(options.ackTimeoutMs !== undefined && { ackTimeoutMs: options.ackTimeoutMs }),
    ...(options.eventRetryDelaysMs && { eventRetryDelaysMs: options.eventRetryDelaysMs }),
  });
  deliverer.requestUrl = options.bot?.requestUrl;
  const core: Core = {
    state,
    triggers: new Triggers(now),
    faults: new Faults(),
    rateLimits: new RateLimits(now),
    conditions: {},
    socket,
    deliverer,
    responseUrls: new ResponseUrls(now),
    calls: [],
    scheduledMessageChannels: new Map(),
    botToken: `xoxb-local-${randomBytes(12).toString('hex')}`,
    appToken: `xapp-local-${randomBytes(12).toString('hex')}`,
    scopes: options.bot?.scopes,
    postsPerSecond: options.postsPerSecond,
    escapeEntities: options.bot?.escapeEntities ?? false,
    commands: options.commands ?? [],
    shortcuts: options.shortcuts ?? [],
    origin: '',
  };
  const findActor = (userId: string): Actor => {
    const user = state.users.get(userId);
    if (!user) throw new Error(`there is no person ${userId}`);
    return new Actor(core, user);
  };
  const pageHandler = createPageHandler({
    core,
    findActor,
    extraRoutes: options.extraRoutes ?? {},
    pageDir: options.pageDir ?? DEFAULT_PAGE_DIR,
  });
  const server = createServer((request, response) => {
    routeRequest(core, pageHandler, options, request, response).catch((error: unknown) =>
      sendError(response, error),
    );
  });
  server.on('upgrade', (request, duplex, head) => socket.handleUpgrade(request, duplex, head));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  core.origin = `http://127.0.0.1:${port}`;

  return {
    apiUrl: `${core.origin}/api/`,
    url: `${core.origin}/`,
    botToken: core.botToken,
    appToken: core.appToken,
    signingSecret,
    teamId: TEAM.id,
    botUserId: APP.botUserId,
    setRequestUrl: (url) => {
      deliverer.requestUrl = url;
    },
    verifyRequestUrl: async () => {
      const challenge = randomBytes(16).toString('hex');
      const payload: JsonObject = { token: APP.verificationToken, challenge, type: 'url_verification' };
      const { body } = await deliverer.deliver('events_api', payload);
      return body === challenge || (isObject(body) && body['challenge'] === challenge);
    },
    as: findActor,
    channel: (idOrName) => {
      const channel = [...state.channels.values()].find(
        ({ id, name }) => id === idOrName || name === idOrName,
      );
      if (!channel) throw new Error(`there is no channel ${idOrName}`);
      const messages = [...state.getMessages(channel.id)];
      return { ...channel, messages, thread: (ts) => messages.filter((message) => message.thread_ts === ts) };
    },
    messages: (channelId) => [...state.getMessages(channelId)],
    homeView: (userId) => state.homeViews.get(userId),
    waitFor: (read, wait) => waitFor(core, read, wait),
    faults: core.faults,
    rateLimits: core.rateLimits,
    conditions: core.conditions,
    calls: core.calls,
    scheduledMessageChannels: core.scheduledMessageChannels,
    deliveries: deliverer.log,
    redeliver: ({ type, payload }, signingOverrides) =>
      deliverer.deliver(type, payload, undefined, signingOverrides),
    socket,
    onChange: (listener) => state.onChange(listener),
    emitHostEvent: (name) => state.emitChange(`host.${name}`),
    setUsergroupMembers: async (id, userIds) => {
      const group = state.usergroups.get(id);
      if (!group) throw new Error(`there is no user group ${id}`);
      const event = buildMembersChangedEvent(core, id, group.users, userIds);
      group.users = userIds;
      await sendEvent(core, 'usergroups:read', event);
    },
    changePerson: async (id, changes, shouldSendEvent = true) => {
      const user = state.users.get(id);
      if (!user) throw new Error(`there is no person ${id}`);
      Object.assign(user, changes);
      state.emitChange('person', { user: id });
      if (shouldSendEvent) await sendEvent(core, 'users:read', buildUserChangeEvent(core, user));
    },
    changeChannel: (id, changes) => {
      const channel = state.channels.get(id);
      if (!channel) throw new Error(`there is no channel ${id}`);
      Object.assign(channel, changes);
      state.emitChange('channel', { channel: id });
    },
    forgetEphemerals: () => {
      state.ephemeralMessages.length = 0;
      state.emitChange('ephemeral');
    },
    close: async () => {
      pageHandler.close();
      socket.close();
      await deliverer.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await stateFile?.flush();
    },
  };
}

/** Sends an event to the app if the app has the scope. */
async function sendEvent(core: Core, scope: string, event: JsonObject): Promise<void> {
  if (core.scopes !== undefined && !core.scopes.includes(scope)) return;
  await core.deliverer.deliverEvent(buildEventPayload(core, event));
}

async function routeRequest(
  core: Core,
  pageHandler: PageHandler,
  { isOpen = () => true, handleRequest = async () => false }: WorkspaceOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://workspace');
  const [, section = '', id = ''] = url.pathname.split('/');
  if (section === 'api' && request.method === 'POST') {
    await handleApi(core, id, request, response);
  } else if (section === 'response' && request.method === 'POST') {
    await handleResponseUrl(core, id, request, response);
  } else if (section === 'upload' && request.method === 'POST') {
    const bytes = await readUploadedBytes(
      String(request.headers['content-type'] ?? ''),
      await readBody(request),
    );
    const isAccepted = receiveUpload(core, id, bytes);
    sendText(response, isAccepted ? 200 : 400, isAccepted ? `OK - ${bytes.length}` : 'invalid upload');
  } else if (section === 'files-pri') {
    const content = readPrivateFile(core, id, request.headers.authorization);
    // Slack redirects requests without permission to its sign-in page.
    if (content) response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(content);
    else response.writeHead(302, { location: core.origin }).end();
  } else {
    rejectCrossOrigin(request);
    if (await handleRequest(url.pathname, request, response)) return;
    if (isOpen()) await pageHandler.handle(request, response, url);
    else response.writeHead(503, STARTING_HEADERS).end(STARTING_PAGE);
  }
}

const STARTING_HEADERS = { 'content-type': 'text/html; charset=utf-8', 'retry-after': '1' };
const STARTING_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="1">
<title>Starting</title>
<p>The app is starting. This page opens as soon as it can be used.</p>
<!-- A meta refresh doesn't reload a page whose URL has a fragment. -->
<script>setTimeout(() => location.reload(), 1000)</script>
</html>
`;

/** Handles an app's request to a response URL. In the call log and in faults, its method is `response_url`. */
async function handleResponseUrl(
  core: Core,
  key: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const args = parseObject((await readBody(request)).toString('utf8'));
  const fault = await core.faults.apply('response_url', core.responseUrls.findChannel(key));
  let error: string | undefined;
  try {
    if (fault && fault.kind !== 'lost_answer') {
      error = getFaultCode(fault);
      sendFaultResponse(fault, response);
      return;
    }
    const responsePlace = core.responseUrls.use(key);
    if (!args) throw new SlackError('invalid_payload');
    handleResponse(core, responsePlace, args);
    if (fault) request.socket.destroy();
    else sendText(response, 200, 'ok');
  } catch (slackError) {
    if (!(slackError instanceof SlackError)) throw slackError;
    error = slackError.code;
    const isUrlUnusable = ['expired_url', 'used_url', 'no_such_url'].includes(slackError.code);
    sendJson(response, isUrlUnusable ? 404 : 400, {
      ok: false,
      error: slackError.code,
      ...slackError.fields,
    });
  } finally {
    core.calls.push({
      method: 'response_url',
      args: args ?? {},
      calledAt: core.state.now(),
      ok: error === undefined,
      ...(error !== undefined && { error }),
    });
    core.state.emitChange('call');
  }
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const parsed: Json = JSON.parse(text);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const status = error instanceof HttpError ? error.status : 500;
  sendJson(response, status, { error: error instanceof Error ? error.message : 'unexpected error' });
}

function waitFor<T>(
  core: Core,
  read: () => T | undefined,
  options: { timeoutMs?: number; what: string },
): Promise<T> {
  const timeoutMs = options.timeoutMs ?? DEFAULT_WAIT_MS;
  return new Promise((resolve, reject) => {
    let unsubscribe = (): void => {};
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      unsubscribe();
      finish();
    };
    const timer = setTimeout(() => {
      settle(() =>
        reject(new Error(`waited ${timeoutMs} ms for ${options.what}\n${summarizeWorkspace(core)}`)),
      );
    }, timeoutMs);
    const check = (): void => {
      try {
        const value = read();
        if (value !== undefined) settle(() => resolve(value));
      } catch (error) {
        settle(() => reject(error));
      }
    };
    unsubscribe = core.state.onChange(check);
    check();
  });
}

/** Describes the workspace's content for the timeout error of `waitFor`. */
function summarizeWorkspace(core: Core): string {
  const { state } = core;
  const lines: string[] = [];
  const formatMessage = (message: Message): string =>
    `  ${message.ephemeral_to === undefined ? '' : `(only ${message.ephemeral_to}) `}${message.thread_ts === undefined ? '' : '↳ '}${message.user}: ${message.text.slice(0, 200)}`;
  for (const [id, channelMessages] of state.messages) {
    if (channelMessages.length > 0)
      lines.push(`${state.channels.get(id)?.name ?? id}:`, ...channelMessages.slice(-8).map(formatMessage));
  }
  if (state.ephemeralMessages.length > 0)
    lines.push('ephemeral:', ...state.ephemeralMessages.slice(-8).map(formatMessage));
  for (const [user, views] of state.modals) {
    for (const view of views) lines.push(`view of ${user}: ${view.callback_id} "${view.title?.text ?? ''}"`);
  }
  const failedCalls = core.calls.filter(({ ok }) => !ok).slice(-5);
  for (const call of failedCalls) lines.push(`failed call: ${call.method} ${call.error ?? ''}`);
  for (const { payload, answer, transport } of core.deliverer.log
    .filter(({ answer: { acked } }) => !acked)
    .slice(-5)) {
    lines.push(
      `not acknowledged by the app (${transport}): ${String(payload['type'] ?? payload['command'])} ${answer.error ?? ''}`,
    );
  }
  return lines.length > 0 ? lines.join('\n') : 'the workspace is empty';
}
