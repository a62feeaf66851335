import { ServiceError } from '../errors.ts';
import { type Activity, createServiceError, type Deadline } from '../request.ts';

/**
 * Waits within this call's deadline for a session that other calls may share.
 * @throws {ServiceError} usually `not_sent`; `auth` if the service refused to open a session
 */
export async function waitForSession<T>(
  sessionPromise: Promise<T>,
  activity: Activity,
  deadline: Deadline,
): Promise<T> {
  try {
    return await waitUntilDeadline(sessionPromise, deadline);
  } catch (error) {
    if (!(error instanceof ServiceError)) {
      throw createServiceError(
        'not_sent',
        activity,
        error instanceof Error ? error.message : 'opening a session failed',
        { cause: error },
      );
    }
    const { kind, httpStatus, code, text, stid, retryAfterMs, envelope, issue } = error;
    const callErrorKind = toCallErrorKind(kind, envelope !== undefined);
    const ctid = activity.ctid ?? error.ctid;
    const details = { httpStatus, code, text, stid, ctid, retryAfterMs, envelope, issue, cause: error };
    throw createServiceError(callErrorKind, activity, `nothing was sent, because ${error.message}`, details);
  }
}

function toCallErrorKind(kind: ServiceError['kind'], hasEnvelope: boolean): ServiceError['kind'] {
  if (kind === 'refused') return hasEnvelope ? 'auth' : 'refused';
  return kind === 'invalid_response' || kind === 'unknown_outcome' ? 'not_sent' : kind;
}

function waitUntilDeadline<T>(promise: Promise<T>, { endsAt, signal }: Deadline): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void =>
      reject(
        new Error('the request was canceled while a session was being opened', { cause: signal?.reason }),
      );
    const onTimeout = (): void => reject(new Error('no session was opened in time'));
    const timer = setTimeout(onTimeout, endsAt - performance.now());
    signal?.addEventListener('abort', onAbort);
    if (signal?.aborted) onAbort();
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    });
  });
}
