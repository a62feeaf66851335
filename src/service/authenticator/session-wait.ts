import { ServiceError } from '../errors.ts';
import { type Activity, type Deadline, serviceError } from '../request.ts';

/**
 * Waits for a session that other calls may share, within this call's deadline. Without a session, the task wasn't sent.
 * A refused session means a refused account.
 */
export async function waitForSession<T>(
  opening: Promise<T>,
  activity: Activity,
  deadline: Deadline,
): Promise<T> {
  try {
    return await within(opening, deadline);
  } catch (error) {
    if (!(error instanceof ServiceError)) {
      throw serviceError(
        'not_sent',
        activity,
        error instanceof Error ? error.message : 'no session could be opened',
        { cause: error },
      );
    }
    const { kind, httpStatus, code, text, stid, retryAfterMs, envelope, issue } = error;
    const here = sessionErrorKind(kind, envelope !== undefined);
    const ctid = activity.ctid ?? error.ctid;
    const details = { httpStatus, code, text, stid, ctid, retryAfterMs, envelope, issue, cause: error };
    throw serviceError(here, activity, `nothing was sent, because ${error.message}`, details);
  }
}

function sessionErrorKind(kind: ServiceError['kind'], hasEnvelope: boolean): ServiceError['kind'] {
  if (kind === 'refused') return hasEnvelope ? 'auth' : 'refused';
  return kind === 'invalid_response' || kind === 'unknown_outcome' ? 'not_sent' : kind;
}

function within<T>(promise: Promise<T>, { endsAt, signal }: Deadline): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void =>
      reject(new Error('it was given up while a session was being opened', { cause: signal?.reason }));
    const late = (): void => reject(new Error('there was no session in time'));
    const timer = setTimeout(late, endsAt - performance.now());
    signal?.addEventListener('abort', giveUp);
    if (signal?.aborted) giveUp();
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
    });
  });
}
