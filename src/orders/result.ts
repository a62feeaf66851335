import { accountName } from '../accounts/account.ts';
import { VaultError } from '../accounts/vault.ts';
import type { DescribedObject, Envelope } from '../service/envelope.ts';
import { ServiceError } from '../service/errors.ts';
import type { ItemResult, OrderAccount, ResultObject } from './order.ts';
import type { CompletedRequest, OrderTask } from './order-task.ts';

/** Tries after the first, where the service provably did not carry the task out or repeating is harmless. */
const MAX_RETRIES = 3;
/** A busy service is asked again for longer: it refused, so nothing was carried out. */
const MAX_BUSY_RETRIES = 20;
const MAX_RETRY_AFTER_MS = 15 * 60_000;

/** A request was about to leave when the process was suspended for too long: nothing left, and nobody knows what happened meanwhile. */
export class SuspendedError extends Error {
  override readonly name = 'SuspendedError';
}

/** The service refused a request because its session had ended, and the order no longer lets it go out again. */
export class RetryRefusedError extends Error {
  override readonly name = 'NotRepeatedError';
  /** What became of the request. */
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
      readonly why: string;
      /** It may have been carried out: repeating it does no harm. Else it provably was not. */
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
  task: Pick<OrderTask, 'effect' | 'idempotent'>,
  attempts: number,
  sent: boolean,
): RetryDecision {
  // What does not open will not open at the next try either.
  if (error instanceof VaultError && !sent) return { kind: 'over', outcome: 'FAILED' };
  if (error instanceof SuspendedError) return { kind: 'over', outcome: 'UNKNOWN' };
  if (error instanceof RetryRefusedError) return { kind: 'over', outcome: 'FAILED' };
  if (!(error instanceof ServiceError)) {
    // Whatever this is, where the request may have left only "unknown" is honest.
    return sent
      ? { kind: 'over', outcome: 'UNKNOWN' }
      : retryBeforeSending(attempts, 'It could not be sent.');
  }
  switch (error.kind) {
    case 'busy':
      return attempts > MAX_BUSY_RETRIES
        ? { kind: 'over', outcome: 'FAILED' }
        : {
            kind: 'again',
            afterMs: Math.min(Math.max(error.retryAfterMs ?? backoff(attempts), 1_000), MAX_RETRY_AFTER_MS),
            why: 'The service is busy.',
          };
    case 'token_used':
      return attempts > MAX_BUSY_RETRIES
        ? { kind: 'over', outcome: 'FAILED' }
        : {
            kind: 'again',
            afterMs: Math.max(error.retryAfterMs ?? backoff(attempts), 1_000),
            why: 'The one-time token of this half minute is used up.',
          };
    case 'not_sent':
      return retryBeforeSending(attempts, 'The service could not be reached.');
    case 'unknown_outcome':
    case 'invalid_response':
      if (!sent) return retryBeforeSending(attempts, 'The service did not answer.');
      return task.effect !== 'charge' && task.idempotent && attempts <= MAX_RETRIES
        ? {
            kind: 'again',
            afterMs: backoff(attempts),
            why: 'The service did not answer; repeating this is harmless.',
            inDoubt: true,
          }
        : { kind: 'over', outcome: 'UNKNOWN' };
    case 'auth':
    case 'refused':
    case 'unsupported':
    case 'invalid_input':
      return { kind: 'over', outcome: 'FAILED' };
  }
}

/** Nothing of the item left, so that nothing speaks against trying again. */
function retryBeforeSending(attempts: number, why: string): RetryDecision {
  return attempts > MAX_RETRIES
    ? { kind: 'over', outcome: 'FAILED' }
    : { kind: 'again', afterMs: backoff(attempts), why };
}

/** 1 s, 4 s, 16 s. */
function backoff(attempts: number): number {
  return 1_000 * 4 ** (Math.min(attempts, 4) - 1);
}

/** What an answer says of its object beside the words stays with the order up to this many characters of JSON. */
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

/** Whether there is something to look up in the whole answer that the status and the transaction do not say. */
function saysMoreThanStatus({ object, messages, data, received }: Envelope): boolean {
  const places = typeof received === 'object' && received !== null ? Object.keys(received) : [];
  const undocumented = places.some((place) => !['stid', 'status', 'result'].includes(place));
  return object !== undefined || messages.length > 0 || data.length > 0 || undocumented;
}

/** The whole of an answer, as it is kept beside the order. */
export function fullResponse(envelope: Envelope): unknown {
  return envelope.received ?? envelope;
}

/** What is kept of a good answer. */
export function resultOfResponse(
  answer: CompletedRequest,
  task: Pick<OrderTask, 'secretResult'>,
): ItemResult {
  return {
    ...fromEnvelope(answer.envelope),
    httpStatus: answer.httpStatus,
    summary: 'Done.',
    ...(task.secretResult && answer.secret !== undefined ? { hasSecret: true } : {}),
  };
}

const UNOPENED =
  'What is kept encrypted for it cannot be opened any more, so nothing was sent. Link the account again with `/domain link`, then ask again.';

const SUSPENDED =
  'The bot was suspended when it was about to send this, so it sent nothing. Meanwhile another process or person may have taken it for lost: look whether it was carried out before you settle it.';
const RETRY_REFUSED =
  'The service refused it because the session had ended, so it was not carried out. It was not sent again, because the order has changed meanwhile.';

/** What is kept of a refusal or of an answer that never came. */
export function resultOfError(
  error: unknown,
  outcome: 'FAILED' | 'UNKNOWN',
  account: Pick<OrderAccount, 'login' | 'context'>,
): ItemResult {
  if (error instanceof VaultError) return { summary: UNOPENED };
  if (error instanceof SuspendedError) return { summary: SUSPENDED };
  if (error instanceof RetryRefusedError) {
    return { ...resultOfError(error.refusal, outcome, account), summary: RETRY_REFUSED };
  }
  if (!(error instanceof ServiceError)) {
    return {
      summary:
        outcome === 'FAILED'
          ? 'The bot could not prepare the request, so nothing was sent. Its log says why.'
          : 'The bot failed while the request may have been under way.',
    };
  }
  return {
    ...(error.envelope === undefined ? {} : fromEnvelope(error.envelope)),
    ...(error.code === undefined ? {} : { code: error.code }),
    ...(error.text === undefined ? {} : { text: error.text }),
    ...(error.stid === undefined ? {} : { stid: error.stid }),
    ...(error.httpStatus === undefined ? {} : { httpStatus: error.httpStatus }),
    errorKind: error.kind,
    summary: summaryOf(error, outcome, account),
  };
}

function summaryOf(
  error: ServiceError,
  outcome: 'FAILED' | 'UNKNOWN',
  account: Pick<OrderAccount, 'login' | 'context'>,
): string {
  switch (error.kind) {
    case 'auth':
      return `The service did not accept the linked account (${accountName(account)}). Renew the link with \`/domain link\`, then retry.`;
    case 'refused':
      return 'The service refused.';
    case 'busy':
      return 'The service stayed busy, so it was not carried out.';
    case 'token_used':
      return 'The one-time tokens of the linked account were used up again and again, so nothing was sent.';
    case 'not_sent':
      return 'The service could not be reached, so nothing was sent.';
    case 'unsupported':
    case 'invalid_input':
      return `Nothing was sent: ${error.message}`;
    case 'unknown_outcome':
    case 'invalid_response':
      if (outcome !== 'UNKNOWN') return 'The service did not answer, and nothing was sent.';
      return error.envelope === undefined
        ? 'The request may have reached the service, but no answer that can be read came back.'
        : 'The service answered, but its answer does not say clearly whether it was carried out.';
  }
}
