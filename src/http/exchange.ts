import type { Readable } from 'node:stream';
import { Client, type Dispatcher } from 'undici';
import { ACCEPT_ENCODING, decodeContent, TooLargeError } from './content-coding.ts';

export interface HttpRequest {
  readonly origin: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly body?: string | Uint8Array | Readable | undefined;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Decoded; undefined when that failed. */
  readonly body: Buffer | undefined;
  /** As received. */
  readonly rawBody: Buffer;
}

export interface ExchangeLimits {
  /** For the whole exchange. */
  readonly timeoutMs: number;
  /** Of the body as received and after decoding. `ignored`: the exchange ends after the headers, the body is empty. */
  readonly maxBytes: number | 'ignored';
  readonly signal?: AbortSignal | undefined;
  /** Checked before connecting, and right before the first byte is written. */
  readonly leaveBefore?: LeaveDeadline | undefined;
}

/** The latest time a request may be sent. */
export interface LeaveDeadline {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** A wall clock: a monotonic clock stops while a virtual machine is frozen. */
  readonly clock: () => number;
}

export class TooLateError extends Error {
  override readonly name = 'TooLateError';
}

/** Deadline, byte limit, signal, or connection. */
export type ExchangeFailure = 'timeout' | 'too_large' | 'aborted' | 'connection';

const FAILURES: Readonly<Record<Exclude<ExchangeFailure, 'connection'>, string>> = {
  timeout: 'there was no complete answer in time',
  too_large: 'the answer is too large',
  aborted: 'it was given up',
};

export class HttpExchangeError extends Error {
  override readonly name = 'HttpExchangeError';
  readonly failure: ExchangeFailure;
  /** `false` proves that no byte was sent; `true` proves nothing. */
  readonly sent: boolean;
  /** Of a response that is too large. */
  readonly status: number | undefined;

  constructor(
    failure: ExchangeFailure,
    message: string,
    { sent, status, cause }: { sent: boolean; status?: number | undefined; cause?: unknown },
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.failure = failure;
    this.sent = sent;
    this.status = status;
  }
}

/**
 * Sends one request and reads its whole response, under one deadline. Never retries, never follows a redirect.
 * undici's `onRequestStart` proves whether anything was sent: it runs right before the first byte is written, after
 * name resolution, connecting and the TLS handshake. A request given up before is stopped there. A second run would
 * send twice: it is stopped too.
 * @throws {HttpExchangeError | TooLateError}
 */
export function exchange(
  dispatcher: Dispatcher,
  request: HttpRequest,
  limits: ExchangeLimits,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const { signal, maxBytes, leaveBefore } = limits;
    let sent = false;
    let settled = false;
    let running: Dispatcher.DispatchController | undefined;
    let status: number | undefined;
    let headers: HttpResponse['headers'] = {};
    let size = 0;
    const chunks: Buffer[] = [];

    const settle = (): boolean => {
      if (settled) return false;
      settled = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      return true;
    };
    const fail = (failure: ExchangeFailure, message: string, cause?: unknown): void => {
      if (!settle()) return;
      const tooLarge = failure === 'too_large' ? { status } : {};
      reject(new HttpExchangeError(failure, message, { sent, cause, ...tooLarge }));
      running?.abort(new Error(message));
    };
    const failBy = (failure: keyof typeof FAILURES, cause?: unknown): void =>
      fail(failure, FAILURES[failure], cause);
    /** False: the exchange has ended. */
    const mayBegin = (): boolean => {
      const lateMs = leaveBefore === undefined ? 0 : leaveBefore.clock() - leaveBefore.at;
      if (lateMs > 0 && settle()) reject(new TooLateError(`it would have left ${lateMs} ms too late`));
      return lateMs <= 0;
    };
    const finish = (answer: HttpResponse): void => {
      if (settle()) resolve(answer);
    };
    const onAbort = (): void => failBy('aborted', signal?.reason);
    const timer = setTimeout(() => failBy('timeout'), limits.timeoutMs);
    // Before the deadline: a suspended process missed both, and must report the suspension.
    if (!mayBegin()) return;
    if (signal?.aborted) return onAbort();
    if (limits.timeoutMs <= 0) return fail('timeout', 'there was no time left to send it');
    signal?.addEventListener('abort', onAbort);

    dispatcher.dispatch(
      {
        origin: request.origin,
        path: request.path,
        method: request.method,
        headers: [...request.headers, 'accept-encoding', ACCEPT_ENCODING],
        body: request.body ?? null,
        // The deadline above is the only timer.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      {
        onRequestStart(controller) {
          if (settled || sent) {
            controller.abort(new Error('this request is over'));
            return fail('connection', 'the connection would have sent it a second time');
          }
          // Connecting may have taken long, and the process may have been suspended, so this is checked again.
          if (!mayBegin()) return controller.abort(new Error('nothing may be sent any more'));
          sent = true;
          running = controller;
        },
        onResponseStart(controller, statusCode, answerHeaders) {
          if (statusCode < 200) return;
          status = statusCode;
          headers = answerHeaders;
          if (maxBytes === 'ignored') {
            finish({ status, headers, body: NOTHING, rawBody: NOTHING });
            controller.abort(new Error('the body is not read'));
          } else if (Number(answerHeaders['content-length']) > maxBytes) failBy('too_large');
        },
        onResponseData(_controller, chunk) {
          size += chunk.length;
          if (maxBytes === 'ignored' || size > maxBytes) return failBy('too_large');
          chunks.push(chunk);
        },
        onResponseEnd() {
          if (settled || status === undefined || maxBytes === 'ignored') return;
          const [first, second] = chunks;
          const rawBody = first !== undefined && second === undefined ? first : Buffer.concat(chunks, size);
          try {
            finish({ status, headers, rawBody, body: decodeContent(rawBody, headers, maxBytes) });
          } catch (error) {
            if (!(error instanceof TooLargeError)) throw error;
            failBy('too_large');
          }
        },
        onResponseError(_controller, error) {
          const message = sent ? 'the connection was lost' : 'there is no connection to the service';
          fail('connection', message, withoutData(error));
        },
      },
    );
  });
}

const NOTHING = Buffer.alloc(0);

/** One error for all connections: undici would create one with a stack for each. */
const DEADLINE_PASSED = new Error('the exchange is over');

/**
 * A reused connection may be closed by the server while the request goes out, with an unknown outcome. The client
 * closes the connection itself, because with `Connection: close` undici creates a slow error for every response.
 */
export async function exchangeOnFreshConnection(
  request: HttpRequest,
  limits: ExchangeLimits,
): Promise<HttpResponse> {
  // Destroying a client doesn't stop a connection attempt; its own timeout does.
  const timeout = Math.max(1, Math.ceil(limits.timeoutMs));
  const dispatcher = new Client(request.origin, { connect: { timeout } });
  try {
    return await exchange(dispatcher, request, limits);
  } finally {
    dispatcher.destroy(DEADLINE_PASSED, () => undefined);
  }
}

/** undici's parser errors contain the unreadable bytes, which may echo a secret. */
function withoutData(error: Error): Error {
  if (!('data' in error)) return error;
  const safe = new Error(error.message);
  return Object.assign(safe, 'code' in error ? { code: error.code } : {});
}
