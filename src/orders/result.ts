import { accountName } from '../accounts/account.ts';
import { VaultError } from '../accounts/vault.ts';
import { MINUTE_MS } from '../lib/duration.ts';
import type { CallResult } from '../service/client.ts';
import type { DescribedObject, Envelope } from '../service/envelope.ts';
import { ServiceError, SuspendedError } from '../service/errors.ts';
import { NOT_SENDABLE } from '../service/request-issue.ts';
import type { Secret } from '../service/secret.ts';
import type { Effect } from '../service/task.ts';
import { StatementChangedError } from './check-statement.ts';
import type { ItemResult, OrderAccount, ResultObject } from './order.ts';
import type { PlainSummary, RetryReason } from './summary.ts';

/** Retries where the service provably did not carry the task out, or repeating it is harmless. */
const MAX_RETRIES = 3;
/** A busy service is asked more often: it has refused, so nothing was carried out. */
const MAX_BUSY_RETRIES = 20;
const MAX_RETRY_AFTER_MS = 15 * MINUTE_MS;

/** The service refused a request because its session had ended, and the order no longer allows to send it again. */
export class RetryRefusedError extends Error {
  override readonly name = 'RetryRefusedError';
  /** The refusal of the request. */
  readonly refusal: ServiceError;

  constructor(refusal: ServiceError) {
    super('the session had ended, and by now the order is not to be sent again', { cause: refusal });
    this.refusal = refusal;
  }
}

export type RetryDecision =
  | {
      readonly kind: 'again';
      readonly afterMs: number;
      readonly why: RetryReason;
      /**
       * It may have been carried out, and repeating it does no harm. When left out, it provably was not carried out.
       */
      readonly inDoubt?: boolean;
    }
  | { readonly kind: 'over'; readonly outcome: 'FAILED' | 'UNKNOWN' };

/**
 * What an error means for an item. Pure.
 * A task that costs money goes out again only where the service provably did not carry it out.
 * @param attempts tries so far, this one included
 * @param sent the item's request may have left, and nothing proves that it was not carried out
 */
export function decideRetry(
  error: unknown,
  task: { readonly effect: Effect; readonly idempotent: boolean },
  attempts: number,
  sent: boolean,
): RetryDecision {
  // A sealed value that does not open now will not open at the next try either.
  if (error instanceof VaultError && !sent) return FAILED;
  if (error instanceof SuspendedError) return UNKNOWN;
  if (error instanceof StatementChangedError || error instanceof RetryRefusedError) return FAILED;
  // The cause is not known. Where the request may have left, the outcome is not known either.
  if (!(error instanceof ServiceError)) return sent ? UNKNOWN : retryBeforeSending(attempts, 'not_sendable');
  switch (error.kind) {
    case 'busy':
    case 'token_used': {
      if (attempts > MAX_BUSY_RETRIES) return FAILED;
      const afterMs = Math.max(error.retryAfterMs ?? backoff(attempts), 1_000);
      const mostMs = error.kind === 'busy' ? MAX_RETRY_AFTER_MS : Number.POSITIVE_INFINITY;
      return { kind: 'again', afterMs: Math.min(afterMs, mostMs), why: error.kind };
    }
    case 'not_sent':
      return retryBeforeSending(attempts, 'not_reached');
    case 'unknown_outcome':
    case 'invalid_response':
      if (!sent) return retryBeforeSending(attempts, 'no_answer');
      // The service has it. The next answer would be as unreadable as this one.
      if (error.unread !== undefined) return UNKNOWN;
      return task.effect !== 'charge' && task.idempotent && attempts <= MAX_RETRIES
        ? { kind: 'again', afterMs: backoff(attempts), why: 'no_answer_harmless', inDoubt: true }
        : UNKNOWN;
    case 'auth':
    case 'refused':
    case 'unsupported':
    case 'invalid_input':
      return FAILED;
  }
}

const FAILED: RetryDecision = { kind: 'over', outcome: 'FAILED' };
const UNKNOWN: RetryDecision = { kind: 'over', outcome: 'UNKNOWN' };

/** Decides where nothing of the item left, so that trying again is safe. */
function retryBeforeSending(attempts: number, why: RetryReason): RetryDecision {
  return attempts > MAX_RETRIES ? FAILED : { kind: 'again', afterMs: backoff(attempts), why };
}

/** 1 s, 4 s, 16 s. */
function backoff(attempts: number): number {
  return 1_000 * 4 ** (Math.min(attempts, 4) - 1);
}

/** The data of an answer is kept with the order up to this many characters of JSON. */
const MAX_DATA_LENGTH = 4_000;

function fromEnvelope(envelope: Envelope): Omit<ItemResult, 'summary'> {
  const { status, stid, messages, object, data } = envelope;
  const details = [object?.data, ...data].filter((detail) => detail !== undefined && detail !== null);
  const isShort = JSON.stringify(details).length <= MAX_DATA_LENGTH;
  return {
    code: status.code,
    text: status.text,
    ...(status.type === undefined ? {} : { type: status.type }),
    ...(stid === undefined ? {} : { stid }),
    messages: messages.map(({ code, text, status: kind, objects }) => ({
      ...(code === undefined ? {} : { code }),
      ...(text === undefined ? {} : { text }),
      ...(kind === undefined ? {} : { status: kind }),
      ...(objects.length === 0 ? {} : { objects }),
    })),
    ...(object === undefined ? {} : { object: resultObject(object) }),
    ...(details.length > 0 && isShort ? { data: details } : {}),
    ...(saysMoreThanStatus(envelope) ? { hasAnswer: true } : {}),
  };
}

function resultObject({ type, value, summary }: DescribedObject): ResultObject {
  return {
    ...(type === undefined ? {} : { type }),
    ...(value === undefined ? {} : { value }),
    ...(summary === undefined ? {} : { summary }),
  };
}

/** Whether the whole answer holds more than the status and the transaction. */
function saysMoreThanStatus({ object, messages, data, received }: Envelope): boolean {
  const places = typeof received === 'object' && received !== null ? Object.keys(received) : [];
  const undocumented = places.some((place) => !['stid', 'status', 'result'].includes(place));
  return object !== undefined || messages.length > 0 || data.length > 0 || undocumented;
}

/** The whole of an answer, as it is kept beside the order. */
export function fullResponse(envelope: Envelope): unknown {
  return envelope.received ?? envelope;
}

/** The failed answer, as it is kept beside the order; undefined when no answer came. */
export function failedResponse({ envelope, unread }: ServiceError): unknown {
  return envelope === undefined ? unread && { unread } : fullResponse(envelope);
}

/** What is kept of a successful answer. */
export function resultOfResponse(
  answer: CallResult<Secret | undefined>,
  { secretResult }: { readonly secretResult: boolean },
): ItemResult & { readonly summary: PlainSummary } {
  return {
    ...fromEnvelope(answer.envelope),
    httpStatus: answer.httpStatus,
    summary: { code: 'done' },
    ...(secretResult && answer.output !== undefined ? { hasSecret: true } : {}),
  };
}

/** What is kept of a refusal, or of an answer that never came. */
export function resultOfError(
  error: unknown,
  outcome: 'FAILED' | 'UNKNOWN',
  account: NamedAccount,
): ItemResult & { readonly summary: PlainSummary } {
  if (error instanceof VaultError) return { summary: { code: 'sealed_unopened' } };
  if (error instanceof SuspendedError) return { summary: { code: 'suspended' } };
  if (error instanceof StatementChangedError)
    return { summary: { code: 'statement_changed', parts: [...error.parts] } };
  if (error instanceof RetryRefusedError) {
    return { ...resultOfError(error.refusal, outcome, account), summary: { code: 'session_ended' } };
  }
  if (!(error instanceof ServiceError)) {
    return { summary: { code: outcome === 'FAILED' ? 'not_prepared' : 'failed_under_way' } };
  }
  return {
    ...(error.envelope === undefined ? {} : fromEnvelope(error.envelope)),
    ...(error.unread === undefined ? {} : { hasAnswer: true }),
    ...(error.code === undefined ? {} : { code: error.code }),
    ...(error.text === undefined ? {} : { text: error.text }),
    ...(error.stid === undefined ? {} : { stid: error.stid }),
    ...(error.httpStatus === undefined ? {} : { httpStatus: error.httpStatus }),
    errorKind: error.kind,
    summary: summaryOf(error, outcome, account),
  };
}

/** What messages say of an order's account. */
type NamedAccount = Omit<OrderAccount, 'id' | 'method'>;

function summaryOf(error: ServiceError, outcome: 'FAILED' | 'UNKNOWN', account: NamedAccount): PlainSummary {
  switch (error.kind) {
    case 'auth':
      return {
        code: 'account_refused',
        account: accountName(account),
        ...(account.isTeamAccount === true ? { isTeamAccount: true } : {}),
      };
    case 'refused':
      return { code: 'refused' };
    case 'busy':
      return { code: 'service_busy' };
    case 'token_used':
      return { code: 'tokens_used_up' };
    case 'not_sent':
      return { code: 'not_reached' };
    case 'unsupported':
    case 'invalid_input':
      return { code: 'request_invalid', issue: error.issue ?? NOT_SENDABLE };
    case 'unknown_outcome':
    case 'invalid_response':
      if (outcome !== 'UNKNOWN') return { code: 'no_answer' };
      return { code: error.envelope === undefined ? 'no_readable_answer' : 'unclear_answer' };
  }
}
