import { createHmac } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { LIMITS } from './limits.ts';
import type { Json, JsonObject } from './protocol.ts';
import type { EnvelopeType, SocketMode } from './socket.ts';

export interface Delivery {
  type: EnvelopeType;
  payload: JsonObject;
  /** By the workspace's clock, in milliseconds since 1970. */
  sentAt: number;
  transport: 'http' | 'socket' | 'nothing';
  retryNum: number;
  answer: DeliveryAnswer;
}

export interface DeliveryAnswer {
  acked: boolean;
  ackMs: number;
  /** The HTTP status; 200 over Socket Mode; null if there was no response. */
  status: number | null;
  /** The app's response: parsed JSON, text, or undefined if empty. */
  body?: Json;
  /** `operation_timeout` or `dispatch_failed`. */
  error?: string;
}

export interface DelivererOptions {
  signingSecret: string;
  socket: SocketMode;
  now: () => number;
  onDelivered: () => void;
  ackTimeoutMs?: number;
  /** Delays before each retry of an event. Default: Slack's, which are 0, 1 and 5 minutes. */
  eventRetryDelaysMs?: readonly number[];
}

/** Overrides for testing how an app verifies signatures. */
export interface SigningOverrides {
  /** Seconds since 1970. */
  timestamp?: number;
  signature?: string;
}

const RETRY_DELAYS_MS = [0, 60_000, 300_000];

/**
 * Sends commands, interactions and events to the app: over Socket Mode if the app is connected, otherwise as signed
 * HTTP requests.
 */
export class Deliverer {
  requestUrl: string | undefined;
  readonly log: Delivery[] = [];
  readonly #options: DelivererOptions;
  readonly #agent = new Agent({ connect: { timeout: 3_000 } });
  readonly #closed = new AbortController();

  constructor(options: DelivererOptions) {
    this.#options = options;
    // Every pending retry listens to this signal.
    setMaxListeners(0, this.#closed.signal);
  }

  async deliver(
    type: EnvelopeType,
    payload: JsonObject,
    retry?: { num: number; reason: string },
    signingOverrides?: SigningOverrides,
  ): Promise<DeliveryAnswer> {
    const { socket, now, onDelivered, ackTimeoutMs = LIMITS.ack.timeoutMs } = this.#options;
    const sentAt = now();
    const startedAt = performance.now();
    const transport =
      socket.connectionCount > 0 ? 'socket' : this.requestUrl === undefined ? 'nothing' : 'http';
    const getElapsedMs = (): number => Math.round(performance.now() - startedAt);
    const answer =
      transport === 'socket'
        ? await this.#sendOverSocket(type, payload, retry, ackTimeoutMs, getElapsedMs)
        : transport === 'http'
          ? await this.#sendOverHttp(type, payload, retry, signingOverrides, ackTimeoutMs, getElapsedMs)
          : { acked: false, ackMs: 0, status: null, error: 'dispatch_failed' };
    this.log.push({ type, payload, sentAt, transport, retryNum: retry?.num ?? 0, answer });
    onDelivered();
    return answer;
  }

  /**
   * Sends an event. Retries run in the background (docs.slack.dev, Events API).
   * @returns the response to the first attempt
   */
  async deliverEvent(payload: JsonObject): Promise<DeliveryAnswer> {
    const answer = await this.deliver('events_api', payload);
    if (!answer.acked) void this.#retryEvent(payload, answer);
    return answer;
  }

  async #retryEvent(payload: JsonObject, firstAnswer: DeliveryAnswer): Promise<void> {
    let answer = firstAnswer;
    for (const [index, delay] of (this.#options.eventRetryDelaysMs ?? RETRY_DELAYS_MS).entries()) {
      const reason = answer.error === 'operation_timeout' ? 'http_timeout' : 'http_error';
      try {
        await wait(delay, undefined, { signal: this.#closed.signal, ref: false });
      } catch {
        return;
      }
      answer = await this.deliver('events_api', payload, { num: index + 1, reason });
      if (answer.acked) return;
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#agent.destroy();
  }

  async #sendOverSocket(
    type: EnvelopeType,
    payload: JsonObject,
    retry: { num: number; reason: string } | undefined,
    timeoutMs: number,
    getElapsedMs: () => number,
  ): Promise<DeliveryAnswer> {
    const timerController = new AbortController();
    const timeout = wait(timeoutMs, 'late' as const, { signal: timerController.signal }).catch(
      () => 'late' as const,
    );
    const acknowledgment = this.#options.socket.send(type, payload, retry).then((body) => ({ body }));
    const result = await Promise.race([acknowledgment, timeout]);
    timerController.abort();
    if (result === 'late')
      return { acked: false, ackMs: getElapsedMs(), status: null, error: 'operation_timeout' };
    const { body } = result;
    const isEmpty =
      body === undefined || (typeof body === 'object' && body !== null && Object.keys(body).length === 0);
    return { acked: true, ackMs: getElapsedMs(), status: 200, ...(!isEmpty && { body }) };
  }

  async #sendOverHttp(
    type: EnvelopeType,
    payload: JsonObject,
    retry: { num: number; reason: string } | undefined,
    signingOverrides: SigningOverrides | undefined,
    timeoutMs: number,
    getElapsedMs: () => number,
  ): Promise<DeliveryAnswer> {
    const body = encodeBody(type, payload);
    const timestamp = signingOverrides?.timestamp ?? Math.floor(Date.now() / 1_000);
    const signature = signingOverrides?.signature ?? sign(this.#options.signingSecret, timestamp, body);
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), timeoutMs);
    try {
      const response = await request(this.requestUrl ?? '', {
        method: 'POST',
        dispatcher: this.#agent,
        // Keep-alive is off: a reused connection may be closing, which would look like a failure of the app.
        reset: true,
        signal: controller.signal,
        headers: {
          'content-type': type === 'events_api' ? 'application/json' : 'application/x-www-form-urlencoded',
          'user-agent': 'Slackbot 1.0 (+https://api.slack.com/robots)',
          'x-slack-request-timestamp': String(timestamp),
          'x-slack-signature': signature,
          ...(retry && { 'x-slack-retry-num': String(retry.num), 'x-slack-retry-reason': retry.reason }),
        },
        body,
      });
      const text = await response.body.text();
      const acked = response.statusCode >= 200 && response.statusCode < 300;
      return {
        acked,
        ackMs: getElapsedMs(),
        status: response.statusCode,
        ...(text !== '' && { body: readBody(text, String(response.headers['content-type'] ?? '')) }),
        ...(!acked && { error: 'dispatch_failed' }),
      };
    } catch {
      const error = controller.signal.aborted ? 'operation_timeout' : 'dispatch_failed';
      return { acked: false, ackMs: getElapsedMs(), status: null, error };
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Slack's signature for a request (docs.slack.dev, verifying requests from Slack). */
function sign(secret: string, timestamp: number, body: string): string {
  return `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')}`;
}

function encodeBody(type: EnvelopeType, payload: JsonObject): string {
  if (type === 'events_api') return JSON.stringify(payload);
  if (type === 'interactive') return new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
  const fields = Object.entries(payload).map(([name, value]): [string, string] => [name, String(value)]);
  return new URLSearchParams(fields).toString();
}

function readBody(text: string, contentType: string): Json {
  if (!contentType.includes('json')) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
