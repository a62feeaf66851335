import type { Readable } from 'node:stream';
import { Client, type Dispatcher } from 'undici';
import { ACCEPT_ENCODING, decodeContent, TooLargeError } from './content-coding.ts';

export interface HttpRequest {
  readonly origin: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Alternating names and values. */
  readonly headers: readonly string[];
  readonly body?: string | Uint8Array | Readable | undefined;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Undefined if it can't be decoded. */
  readonly body: Buffer | undefined;
  readonly rawBody: Buffer;
}

export interface ExchangeLimits {
  /** Covers the whole exchange. */
  readonly timeoutMs: number;
  /**
   * Limits the body before and after decoding. `discard_body`: the exchange ends after the headers, with an empty body.
   */
  readonly maxBytes: number | 'discard_body';
  readonly signal?: AbortSignal | undefined;
  /** Checked before connecting, and again before the first byte is written. */
  readonly sendDeadline?: SendDeadline | undefined;
}

/** The latest time to send a request. */
export interface SendDeadline {
  /** Milliseconds since 1970. */
  readonly epochMs: number;
  /** Must be a wall clock: monotonic clocks stop while a virtual machine is suspended. */
  readonly clock: () => number;
}

export class TooLateError extends Error {
  override readonly name = 'TooLateError';
}

export type ExchangeFailure = 'timeout' | 'too_large' | 'aborted' | 'connection';

const FAILURE_MESSAGES: Readonly<Record<Exclude<ExchangeFailure, 'connection'>, string>> = {
  timeout: 'no complete response in time',
  too_large: 'the response is too large',
  aborted: 'the request was canceled',
};

export class HttpExchangeError extends Error {
  override readonly name = 'HttpExchangeError';
  readonly failure: ExchangeFailure;
  /** `false` proves that no byte was sent; `true` proves nothing. */
  readonly mayHaveBeenSent: boolean;
  readonly status: number | undefined;

  constructor(
    failure: ExchangeFailure,
    message: string,
    {
      mayHaveBeenSent,
      status,
      cause,
    }: { mayHaveBeenSent: boolean; status?: number | undefined; cause?: unknown },
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.failure = failure;
    this.mayHaveBeenSent = mayHaveBeenSent;
    this.status = status;
  }
}

/**
 * Sends one request and reads the whole response under one deadline. Never retries or follows redirects. undici calls
 * `onRequestStart` right before it writes the first byte, after DNS, TCP and TLS, so this call shows whether anything
 * was sent. In this call, the handler aborts a request that is past its send deadline or would be sent twice.
 * @throws {HttpExchangeError | TooLateError}
 */
export function exchange(
  dispatcher: Dispatcher,
  request: HttpRequest,
  limits: ExchangeLimits,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const handler = new ExchangeHandler(limits, resolve, reject);
    if (!handler.start()) return;
    dispatcher.dispatch(
      {
        origin: request.origin,
        path: request.path,
        method: request.method,
        headers: [...request.headers, 'accept-encoding', ACCEPT_ENCODING],
        body: request.body ?? null,
        // The exchange has its own timeout.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      handler,
    );
  });
}

class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #limits: ExchangeLimits;
  readonly #resolve: (response: HttpResponse) => void;
  readonly #reject: (error: Error) => void;
  #timer: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #wasSent = false;
  #isSettled = false;
  #status: number | undefined;
  #headers: HttpResponse['headers'] = {};
  #size = 0;
  readonly #chunks: Buffer[] = [];
  readonly #onAbort = (): void => this.#failWith('aborted', this.#limits.signal?.reason);

  constructor(
    limits: ExchangeLimits,
    resolve: (response: HttpResponse) => void,
    reject: (error: Error) => void,
  ) {
    this.#limits = limits;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** @returns whether to dispatch the request. If false, the exchange has ended */
  start(): boolean {
    const { timeoutMs, signal } = this.#limits;
    this.#timer = setTimeout(() => this.#failWith('timeout'), timeoutMs);
    // After a suspension, both deadlines may have passed, and the send deadline takes precedence.
    if (!this.#checkSendDeadline()) return false;
    if (signal?.aborted) this.#onAbort();
    else if (timeoutMs <= 0) this.#fail('timeout', 'no time left to send the request');
    else signal?.addEventListener('abort', this.#onAbort);
    return !this.#isSettled;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isSettled || this.#wasSent) {
      controller.abort(new Error('the request has ended'));
      this.#fail('connection', 'the connection tried to send the request twice');
      // Checked again, because connecting takes time and the process may have been suspended.
    } else if (this.#checkSendDeadline()) {
      this.#wasSent = true;
      this.#controller = controller;
    } else controller.abort(new Error('the send deadline has passed'));
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: HttpResponse['headers'],
  ): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    const { maxBytes } = this.#limits;
    if (maxBytes === 'discard_body') {
      this.#finish({ status, headers, body: EMPTY_BODY, rawBody: EMPTY_BODY });
      controller.abort(new Error('the body is ignored'));
    } else if (Number(headers['content-length']) > maxBytes) this.#failWith('too_large');
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { maxBytes } = this.#limits;
    this.#size += chunk.length;
    if (maxBytes === 'discard_body' || this.#size > maxBytes) this.#failWith('too_large');
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const { maxBytes } = this.#limits;
    const status = this.#status;
    const headers = this.#headers;
    if (this.#isSettled || status === undefined || maxBytes === 'discard_body') return;
    const [first, second] = this.#chunks;
    const rawBody =
      first !== undefined && second === undefined ? first : Buffer.concat(this.#chunks, this.#size);
    try {
      this.#finish({ status, headers, rawBody, body: decodeContent(rawBody, headers, maxBytes) });
    } catch (error) {
      if (!(error instanceof TooLargeError)) throw error;
      this.#failWith('too_large');
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const message = this.#wasSent ? 'the connection was lost' : 'could not connect';
    this.#fail('connection', message, dropUnparsedBytes(error));
  }

  /** Fails the exchange if the deadline has passed. @returns whether the request may still be sent */
  #checkSendDeadline(): boolean {
    const { sendDeadline } = this.#limits;
    const lateMs = sendDeadline === undefined ? 0 : sendDeadline.clock() - sendDeadline.epochMs;
    if (lateMs > 0 && this.#settle())
      this.#reject(new TooLateError(`the send deadline passed ${lateMs} ms ago`));
    return lateMs <= 0;
  }

  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    this.#limits.signal?.removeEventListener('abort', this.#onAbort);
    return true;
  }

  #finish(response: HttpResponse): void {
    if (this.#settle()) this.#resolve(response);
  }

  #fail(failure: ExchangeFailure, message: string, cause?: unknown): void {
    if (!this.#settle()) return;
    const status = failure === 'too_large' ? this.#status : undefined;
    const details = { mayHaveBeenSent: this.#wasSent, status, cause };
    this.#reject(new HttpExchangeError(failure, message, details));
    this.#controller?.abort(new Error(message));
  }

  #failWith(failure: keyof typeof FAILURE_MESSAGES, cause?: unknown): void {
    this.#fail(failure, FAILURE_MESSAGES[failure], cause);
  }
}

const EMPTY_BODY = Buffer.alloc(0);

/** Shared, because undici would create an error with a stack trace for each connection. */
const EXCHANGE_ENDED = new Error('the exchange has ended');

/**
 * Uses a new connection, because a server may close a reused one while the request is being sent, which leaves the
 * outcome unknown. `Connection: close` isn't used, because undici would create an error with a stack trace for every
 * response.
 */
export async function exchangeOnFreshConnection(
  request: HttpRequest,
  limits: ExchangeLimits,
): Promise<HttpResponse> {
  // Destroying a client doesn't stop a connection attempt, but the connect timeout does.
  const timeout = Math.max(1, Math.ceil(limits.timeoutMs));
  const dispatcher = new Client(request.origin, { connect: { timeout } });
  try {
    return await exchange(dispatcher, request, limits);
  } finally {
    dispatcher.destroy(EXCHANGE_ENDED, () => undefined);
  }
}

/** undici's parser errors contain the unparsed bytes, which may include a secret. */
function dropUnparsedBytes(error: Error): Error {
  if (!('data' in error)) return error;
  return Object.assign(new Error(error.message), 'code' in error ? { code: error.code } : {});
}
