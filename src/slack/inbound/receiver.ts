import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { HTTPReceiver, type Logger, LogLevel, type Receiver, SocketModeReceiver } from '@slack/bolt';
import type { Log } from '../../lib/log.ts';
import type { Secret } from '../../service/secret.ts';
import {
  createWebClientOptions,
  getRetryAfterMs,
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
   * Resolves when deliveries can arrive. Retries while Slack has an outage.
   * @throws {SlackApiError} if Slack rejects the app's token
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
    // Called by the bot's HTTP server, which also serves health checks and metrics.
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

const INITIAL_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 30_000;
/** Covers the time from requesting a URL until Slack's `hello` message. */
const CONNECT_TIMEOUT_MS = 20_000;

/**
 * Replaces the reconnects of Slack's client, which wait 5 seconds even if Slack requested the reconnect, and
 * end the process if they fail.
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

  async function connect(throwsTokenErrors: boolean): Promise<void> {
    isConnecting = true;
    let backoffMs = INITIAL_BACKOFF_MS;
    while (!shutdown.signal.aborted) {
      const error = await tryConnect();
      if (error === undefined) break;
      if (throwsTokenErrors && isTokenError(error)) throw error;
      const waitMs = getRetryAfterMs(error) ?? backoffMs;
      if (!shutdown.signal.aborted)
        log.warn({ err: error, waitMs }, 'connecting to Slack failed, will retry');
      await sleep(waitMs, undefined, { signal: shutdown.signal }).catch(() => undefined);
      backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
    }
    isConnecting = false;
  }

  async function tryConnect(): Promise<SlackApiError | undefined> {
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

/** Log lines of Slack's client about errors that this module logs with more detail. */
const REDUNDANT_LOG_LINES = /^(WebSocket error|Failed to retrieve a new WSS URL)/;

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
      if (REDUNDANT_LOG_LINES.test(text) || (text === '' && err === undefined)) return;
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
