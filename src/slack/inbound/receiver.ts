import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { HTTPReceiver, type Logger, LogLevel, type Receiver, SocketModeReceiver } from '@slack/bolt';
import type { Log } from '../../lib/log.ts';
import type { Secret } from '../../service/secret.ts';
import {
  createWebClientOptions,
  findRetryAfter,
  isTokenError,
  type SlackApiError,
  toSlackApiError,
} from '../outbound/web.ts';

export type SlackMode =
  | { readonly kind: 'http'; readonly signingSecret: Secret }
  | { readonly kind: 'socket'; readonly appToken: Secret };

export interface SlackReceiver {
  readonly boltReceiver: Receiver;
  /** Handles Slack's signed requests; undefined in Socket Mode. */
  readonly requestListener: RequestListener | undefined;
  /**
   * Resolves when deliveries can arrive. Keeps trying while Slack has an outage.
   * @throws {SlackApiError} if Slack refuses the app's token
   */
  start(): Promise<void>;
  stop(): Promise<void>;
  isConnected(): boolean;
}

export function createReceiver(mode: SlackMode, apiUrl: string | undefined, log: Log): SlackReceiver {
  return mode.kind === 'http'
    ? createHttpReceiver(mode.signingSecret, log)
    : createSocketReceiver(mode.appToken, apiUrl, log);
}

function createHttpReceiver(signingSecret: Secret, log: Log): SlackReceiver {
  const boltReceiver = new HTTPReceiver({
    signingSecret: signingSecret.reveal(),
    endpoints: ['/slack/events'],
    logger: createBoltLogger(log),
  });
  let isOpen = false;
  return {
    boltReceiver,
    // The bot's own server calls it, because it also serves health checks and metrics.
    requestListener: (request, response) => boltReceiver.requestListener(request, response),
    start: async () => {
      isOpen = true;
    },
    stop: async () => {
      isOpen = false;
    },
    isConnected: () => isOpen,
  };
}

const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 30_000;
/** Covers the time from requesting a URL until Slack's `hello` message. */
const CONNECT_TIMEOUT_MS = 20_000;

/**
 * Reconnects itself, because the client's own reconnect waits 5 seconds even if Slack requested the
 * reconnect, and ends the process if it fails.
 */
function createSocketReceiver(appToken: Secret, apiUrl: string | undefined, log: Log): SlackReceiver {
  const boltReceiver = new SocketModeReceiver({
    appToken: appToken.reveal(),
    logger: createBoltLogger(log),
    autoReconnectEnabled: false,
    installerOptions: { clientOptions: createWebClientOptions(apiUrl) },
  });
  const shutdown = new AbortController();
  let isConnected = false;
  let isConnecting = false;
  let socketError: unknown;

  /** @throws {SlackApiError} only if `canFail` is set and Slack refuses the token */
  async function connect(canFail: boolean): Promise<void> {
    isConnecting = true;
    let backoffMs = FIRST_WAIT_MS;
    while (!shutdown.signal.aborted) {
      const error = await tryConnecting();
      if (error === undefined) break;
      if (canFail && isTokenError(error)) throw error;
      const waitMs = findRetryAfter(error) ?? backoffMs;
      if (!shutdown.signal.aborted)
        log.warn({ err: error, waitMs }, 'connecting to Slack failed, will retry');
      await sleep(waitMs, undefined, { signal: shutdown.signal }).catch(() => undefined);
      backoffMs = Math.min(backoffMs * 2, MAX_WAIT_MS);
    }
    isConnecting = false;
  }

  async function tryConnecting(): Promise<SlackApiError | undefined> {
    const timeout = new AbortController();
    socketError = undefined;
    try {
      await Promise.race([
        boltReceiver.start(),
        sleep(CONNECT_TIMEOUT_MS, undefined, { signal: timeout.signal }).then(async () => {
          await boltReceiver.stop();
          throw new Error('Slack didn’t send hello');
        }),
      ]);
      return undefined;
    } catch (cause) {
      // If the socket can't be opened, Slack's client rejects with undefined.
      const socketFailure = new Error('the socket couldn’t be opened', { cause: socketError });
      return toSlackApiError('apps.connections.open', cause ?? socketFailure);
    } finally {
      timeout.abort();
    }
  }

  boltReceiver.client.on('error', (err: unknown) => {
    socketError = err;
    if (isConnected) log.warn({ err }, 'the connection to Slack broke, reconnecting');
  });
  boltReceiver.client.on('connected', () => {
    isConnected = true;
  });
  boltReceiver.client.on('disconnected', () => {
    isConnected = false;
    if (!isConnecting && !shutdown.signal.aborted) void connect(false);
  });
  return {
    boltReceiver,
    requestListener: undefined,
    start: () => connect(true),
    stop: async () => {
      shutdown.abort();
      await boltReceiver.stop();
    },
    isConnected: () => isConnected,
  };
}

/** Log lines of Slack's client about events and errors that are logged here with more detail. */
const REPEATED_LOG_LINES = /^(WebSocket error|Failed to retrieve a new WSS URL)/;

/**
 * Writes Bolt's log lines to the bot's log. Leaves out debug lines, which contain whole payloads, and objects
 * that aren't errors.
 */
export function createBoltLogger(log: Log): Logger {
  const createWriter =
    (level: 'warn' | 'error') =>
    (...parts: unknown[]) => {
      const err = parts.find((part) => part instanceof Error);
      const text = parts
        .filter((part) => typeof part === 'string')
        .join(' ')
        .trim();
      if (REPEATED_LOG_LINES.test(text) || (text === '' && err === undefined)) return;
      log[level]({ from: 'slack', err }, text === '' ? 'error in Slack’s library' : text);
    };
  return {
    debug: () => undefined,
    info: () => undefined,
    warn: createWriter('warn'),
    error: createWriter('error'),
    setLevel: () => undefined,
    getLevel: () => LogLevel.INFO,
    setName: () => undefined,
  };
}
