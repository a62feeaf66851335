import type { Envelope } from './envelope.ts';
import type { RequestIssue } from './request-issue.ts';

/**
 * - `auth`: the service refused the credential (401, 403, or while opening a session).
 * - `refused`: the service refused the task (an error code, or 4xx).
 * - `busy`: the service refused the task because of load; retry after `retryAfterMs`.
 * - `token_used`: nothing was sent, because the current one-time token was already used; retry after
 * `retryAfterMs`.
 * - `invalid_response`: a read-only task got no usable response; a retry is harmless.
 * - `not_sent`: the task's own request certainly wasn't sent, or was refused because its session had ended; a
 * retry is harmless.
 * - `unknown_outcome`: the request was or may have been sent, and the task may have been carried out.
 * - `unsupported`: the task isn't documented for the credential's interface; `issue` has the reason.
 * - `invalid_input`: the input can't be sent; `issue` has the reason. Nothing was sent.
 */
export type ServiceErrorKind =
  | 'auth'
  | 'refused'
  | 'busy'
  | 'token_used'
  | 'invalid_response'
  | 'not_sent'
  | 'unknown_outcome'
  | 'unsupported'
  | 'invalid_input';

export interface ServiceErrorDetails {
  /** For example `domain.renew`. */
  readonly task: string;
  /** Undefined without a response. */
  readonly httpStatus?: number | undefined;
  /** Undefined if the response had no envelope. */
  readonly code?: string | undefined;
  readonly text?: string | undefined;
  /** Server transaction id. */
  readonly stid?: string | undefined;
  /** Client transaction id. */
  readonly ctid?: string | undefined;
  /** The delay that the service requested, or the time until the next token. Callers cap this value. */
  readonly retryAfterMs?: number | undefined;
  /** With secrets masked. */
  readonly envelope?: Envelope | undefined;
  readonly unreadableResponse?: UnreadableResponse | undefined;
  /** Set for `unsupported` and `invalid_input`. */
  readonly issue?: RequestIssue | undefined;
  readonly cause?: unknown;
}

/** A 2xx response that can't be parsed. A retry would give the same result. */
export interface UnreadableResponse {
  readonly reason: string;
  readonly contentType?: string | undefined;
  readonly contentEncoding?: string | undefined;
  /** Escaped, with secrets masked. Omitted if secrets in it can't be recognized. */
  readonly body?: string | undefined;
}

/**
 * The process was suspended for too long right before sending. Nothing was sent, but a person may have
 * settled the order in the meantime.
 */
export class SuspendedError extends Error {
  override readonly name = 'SuspendedError';
}

/**
 * The client throws only this error and {@link SuspendedError}. The message is for the log: it names the
 * activity and never contains a secret. People see the kind, the issue and the service's text.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly kind: ServiceErrorKind;
  readonly task: string;
  readonly httpStatus: number | undefined;
  readonly code: string | undefined;
  readonly text: string | undefined;
  readonly stid: string | undefined;
  readonly ctid: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly envelope: Envelope | undefined;
  readonly unreadableResponse: UnreadableResponse | undefined;
  readonly issue: RequestIssue | undefined;

  constructor(kind: ServiceErrorKind, message: string, details: ServiceErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.task = details.task;
    this.httpStatus = details.httpStatus;
    this.code = details.code;
    this.text = details.text;
    this.stid = details.stid;
    this.ctid = details.ctid;
    this.retryAfterMs = details.retryAfterMs;
    this.envelope = details.envelope;
    this.unreadableResponse = details.unreadableResponse;
    this.issue = details.issue;
  }
}
