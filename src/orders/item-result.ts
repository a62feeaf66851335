import { formatAccountName } from '../accounts/account.ts';
import { VaultError } from '../accounts/vault.ts';
import type { CallResult } from '../service/client.ts';
import type { Envelope, ResponseObject } from '../service/envelope.ts';
import { ServiceError, SuspendedError } from '../service/errors.ts';
import { NOT_SENDABLE } from '../service/request-issue.ts';
import type { Secret } from '../service/secret.ts';
import { StatementChangedError } from './check-statement.ts';
import type { ItemResult, OrderAccount, ResultObject } from './order.ts';
import type { PlainSummary } from './summary.ts';

/** The service refused a request because its session had ended, and the order no longer allows sending it again. */
export class RetryRefusedError extends Error {
  override readonly name = 'RetryRefusedError';
  readonly refusal: ServiceError;

  constructor(refusal: ServiceError) {
    super('the session ended, and the order no longer allows sending the request again', { cause: refusal });
    this.refusal = refusal;
  }
}

/** The longest answer data that is stored with an order, in characters of JSON. */
const MAX_DATA_LENGTH = 4_000;

function toStoredFields(envelope: Envelope): Omit<ItemResult, 'summary'> {
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
    ...(object === undefined ? {} : { object: toResultObject(object) }),
    ...(details.length > 0 && isShort ? { data: details } : {}),
    ...(hasMoreThanStatus(envelope) ? { hasFullAnswer: true } : {}),
  };
}

function toResultObject({ type, value, summary }: ResponseObject): ResultObject {
  return {
    ...(type === undefined ? {} : { type }),
    ...(value === undefined ? {} : { value }),
    ...(summary === undefined ? {} : { summary }),
  };
}

/** Whether the answer has more than the status and the transaction id. */
function hasMoreThanStatus({ object, messages, data, received }: Envelope): boolean {
  const keys = typeof received === 'object' && received !== null ? Object.keys(received) : [];
  const hasUndocumentedKey = keys.some((key) => !['stid', 'status', 'result'].includes(key));
  return object !== undefined || messages.length > 0 || data.length > 0 || hasUndocumentedKey;
}

/** The full answer is stored separately from the order. */
export function getFullAnswer(envelope: Envelope): unknown {
  return envelope.received ?? envelope;
}

/** The full answer to a failed request; undefined if there was none. */
export function getFailedAnswer({ envelope, unreadableResponse }: ServiceError): unknown {
  return envelope === undefined
    ? unreadableResponse && { unreadable: unreadableResponse }
    : getFullAnswer(envelope);
}

export function buildSuccessResult(
  answer: CallResult<Secret | undefined>,
  { hasSecretResult }: { readonly hasSecretResult: boolean },
): ItemResult & { readonly summary: PlainSummary } {
  return {
    ...toStoredFields(answer.envelope),
    httpStatus: answer.httpStatus,
    summary: { code: 'done' },
    ...(hasSecretResult && answer.output !== undefined ? { hasSecret: true } : {}),
  };
}

/** The stored result of a refusal or a missing answer. */
export function buildErrorResult(
  error: unknown,
  outcome: 'FAILED' | 'UNKNOWN',
  account: NamedAccount,
): ItemResult & { readonly summary: PlainSummary } {
  if (error instanceof VaultError) return { summary: { code: 'decryption_failed' } };
  if (error instanceof SuspendedError) return { summary: { code: 'suspended' } };
  if (error instanceof StatementChangedError)
    return { summary: { code: 'statement_changed', parts: [...error.parts] } };
  if (error instanceof RetryRefusedError) {
    return { ...buildErrorResult(error.refusal, outcome, account), summary: { code: 'session_ended' } };
  }
  if (!(error instanceof ServiceError)) {
    return { summary: { code: outcome === 'FAILED' ? 'not_prepared' : 'error_while_sending' } };
  }
  return {
    ...(error.envelope === undefined ? {} : toStoredFields(error.envelope)),
    ...(error.unreadableResponse === undefined ? {} : { hasFullAnswer: true }),
    ...(error.code === undefined ? {} : { code: error.code }),
    ...(error.text === undefined ? {} : { text: error.text }),
    ...(error.stid === undefined ? {} : { stid: error.stid }),
    ...(error.httpStatus === undefined ? {} : { httpStatus: error.httpStatus }),
    errorKind: error.kind,
    summary: summarizeError(error, outcome, account),
  };
}

type NamedAccount = Omit<OrderAccount, 'id' | 'method'>;

function summarizeError(
  error: ServiceError,
  outcome: 'FAILED' | 'UNKNOWN',
  account: NamedAccount,
): PlainSummary {
  switch (error.kind) {
    case 'auth':
      return {
        code: 'account_refused',
        account: formatAccountName(account),
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
