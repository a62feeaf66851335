import type { Log } from '../../lib/log.ts';
import { computeRetryDelay, isTransient, SlackApiError } from './web.ts';

/** Queues Slack calls by key. A newer call for a key replaces older ones. */
export interface UpdateQueue {
  /**
   * Makes a call after the pending call for the same key. After a rate limit or outage, retries later, unless
   * there is a newer call. Logs errors.
   * @param requestedAt sortable text; calls older than the latest for the key are dropped
   * @returns a promise that resolves after the first attempt
   */
  run(key: string, call: () => Promise<void>, requestedAt?: string): Promise<void>;
}

/** With the delays of {@link computeRetryDelay}, the last attempt is after more than 10 minutes. */
const MAX_ATTEMPTS = 10;

/** When the times of the latest requests are stored for this many keys, all of them are dropped. */
const MAX_KEYS = 1_000;

/** @param activity what the calls do, for the log */
export function createUpdateQueue(activity: string, log: Log): UpdateQueue {
  const latestCalls = new Map<string, { attempt: Promise<void> }>();
  /** Time of the latest request by key, kept after its call ends. */
  const latestRequestTimes = new Map<string, string>();
  return {
    run(key, call, requestedAt = '') {
      if (requestedAt < (latestRequestTimes.get(key) ?? '')) return Promise.resolve();
      if (requestedAt !== '') {
        if (latestRequestTimes.size >= MAX_KEYS) latestRequestTimes.clear();
        latestRequestTimes.set(key, requestedAt);
      }
      const previousAttempt = latestCalls.get(key)?.attempt;
      const runAttempt = async (failureCount: number): Promise<void> => {
        // A newer call has replaced this one.
        if (latestCalls.get(key) !== queuedCall) return;
        try {
          await call();
        } catch (err) {
          const canRetry =
            err instanceof SlackApiError && isTransient(err) && failureCount + 1 < MAX_ATTEMPTS;
          if (canRetry) {
            log.warn({ err, key }, `${activity} failed, will retry`);
            const retry = () => {
              queuedCall.attempt = runAttempt(failureCount + 1);
            };
            // `unref`, so that the timer doesn't delay a shutdown.
            setTimeout(retry, computeRetryDelay(err, failureCount)).unref();
            return;
          }
          log.error({ err, key }, `${activity} failed`);
        }
        if (latestCalls.get(key) === queuedCall) latestCalls.delete(key);
      };
      const queuedCall = { attempt: Promise.resolve(previousAttempt).then(() => runAttempt(0)) };
      latestCalls.set(key, queuedCall);
      return queuedCall.attempt;
    },
  };
}
