import { type Envelope, hasErrorType, hasSuccessCode, isRefusal } from './envelope.ts';
import type { ServiceErrorKind } from './errors.ts';
import type { SendableTask } from './task.ts';

/** Each code belongs to exactly one task. See “Task codes” in the service's API documentation. */
const KNOWN_SUCCESS_CODES: ReadonlySet<string> = new Set([
  'S1321001',
  'S1321003',
  'S1301001',
  'S0502',
  'S400202',
  'S0110005',
]);

export type ResponseClassification =
  | { readonly kind: 'done' }
  | {
      readonly kind: Exclude<ServiceErrorKind, 'not_sent' | 'token_used' | 'unsupported' | 'invalid_input'>;
      readonly problem: string;
      readonly retryAfterMs?: number;
    };

interface ReceivedResponse {
  readonly status: number;
  /** Undefined if the body was unreadable. */
  readonly envelope: Envelope | undefined;
  readonly unreadableReason: string;
  readonly retryAfterMs?: number | undefined;
}

/**
 * The API documents neither the status codes nor the bodies of failed responses. So only 4xx, or an envelope
 * with an error code, is a refusal. Anything else leaves the outcome unknown, because an order that is wrongly
 * treated as refused could be placed and paid twice.
 */
export function classifyResponse(
  task: Pick<SendableTask<unknown>, 'effect' | 'successCode' | 'outputProvesSuccess'>,
  { status, envelope, unreadableReason, retryAfterMs }: ReceivedResponse,
): ResponseClassification {
  const { effect } = task;
  const unclearKind = effect === 'read' ? 'invalid_response' : 'unknown_outcome';
  const retryDetails = retryAfterMs === undefined ? {} : { retryAfterMs };
  const statusSuffix = formatStatusSuffix(envelope);
  if (status >= 200 && status < 300) {
    if (envelope === undefined) return { kind: unclearKind, problem: unreadableReason };
    if (isRefusal(envelope)) return { kind: 'refused', problem: `the service refused it${statusSuffix}` };
    const contradiction = findContradiction(envelope, task);
    return contradiction === undefined
      ? { kind: 'done' }
      : { kind: unclearKind, problem: `the service ${contradiction}${statusSuffix}` };
  }
  if (status >= 400 && status < 500 && status !== 408) {
    // The status is a refusal but the envelope reports success, so the outcome is unknown.
    if (envelope !== undefined && hasSuccessCode(envelope))
      return { kind: unclearKind, problem: `the service contradicts itself: HTTP ${status}${statusSuffix}` };
    if (status === 401 || status === 403)
      return { kind: 'auth', problem: `the service refused the account (HTTP ${status})${statusSuffix}` };
    if (status === 429)
      return { kind: 'busy', problem: `the service is busy (HTTP 429)${statusSuffix}`, ...retryDetails };
    return { kind: 'refused', problem: `the service refused it (HTTP ${status})${statusSuffix}` };
  }
  if (status === 503 && effect === 'read')
    return { kind: 'busy', problem: `the service is busy (HTTP 503)${statusSuffix}`, ...retryDetails };
  const answer = status >= 300 && status < 400 ? 'a redirect, which is never followed' : 'no clear answer';
  return { kind: unclearKind, problem: `the service sent ${answer} (HTTP ${status})${statusSuffix}` };
}

/** Returns why a success code doesn't prove that this task was carried out, or undefined if it does. */
function findContradiction(
  envelope: Envelope,
  { successCode, outputProvesSuccess = false }: Parameters<typeof classifyResponse>[0],
): string | undefined {
  const { code, type } = envelope.status;
  if (!hasSuccessCode(envelope)) return undefined;
  if (hasErrorType(envelope)) return `contradicts itself: a success code with the type ${type}`;
  if (code === successCode) return undefined;
  const belongsToOtherTask =
    KNOWN_SUCCESS_CODES.has(code) || (successCode !== undefined && !outputProvesSuccess);
  return belongsToOtherTask ? 'responded with the success code of another task' : undefined;
}

function formatStatusSuffix(envelope: Envelope | undefined): string {
  if (envelope === undefined) return '';
  const { code, text } = envelope.status;
  return text === '' ? `: ${code}` : `: ${code} ${text}`;
}

/** Whether the session may have ended. The API documents no codes for this, so the text is searched. */
export function isSessionError(envelope: Envelope): boolean {
  const texts = [envelope.status.text, ...envelope.messages.map(({ text }) => text ?? '')];
  return texts.some((text) => /\b(session|not logged in|log ?in again|authentication)\b/i.test(text));
}
