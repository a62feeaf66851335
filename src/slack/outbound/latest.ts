import type { Log } from '../../lib/log.ts';
import { computeRetryDelay, isTransient, SlackApiError } from './web.ts';

/** Queues Slack calls by key. A newer call for a key replaces older ones. */
export interface UpdateQueue {
  /**
   * Makes a call after the pending call for the same key. After a rate limit or outage, retries later, unless
   * there is a newer call. Logs errors.
   * @param requestedAt sortable text; calls older than the latest for the key are dropped
   * @returns after the first attempt
   */
  run(key: string, call: () => Promise<void>, requestedAt?: string): Promise<void>;
}

/** With the delays of {@link computeRetryDelay}, the last attempt is after more than 10 minutes. */
const MAX_ATTEMPTS = 10;

/** When requests for this many keys are known, all are dropped. */
const MAX_KEYS = 1_000;

/** @param activity for the log */
export function createUpdateQueue(activity: string, log: Log): UpdateQueue {
  const latestCalls = new Map<string, { attempt: Promise<void> }>();
  /** The latest request per key. Kept after the call ends. */
  const latestRequests = new Map<string, string>();
  return {
    run(key, call, requestedAt = '') {
      if (requestedAt < (latestRequests.get(key) ?? '')) return Promise.resolve();
      if (requestedAt !== '') {
        if (latestRequests.size >= MAX_KEYS) latestRequests.clear();
        latestRequests.set(key, requestedAt);
      }
      const previous = latestCalls.get(key)?.attempt;
      const attempt = async (failures: number): Promise<void> => {
        // A newer call has replaced this one.
        if (latestCalls.get(key) !== queued) return;
        try {
          await call();
        } catch (err) {
          const canRetry = err instanceof SlackApiError && isTransient(err) && failures + 1 < MAX_ATTEMPTS;
          if (!canRetry) log.error({ err, key }, activity);
          else {
            log.warn({ err, key }, `${activity}; will retry`);
            const retry = () => {
              queued.attempt = attempt(failures + 1);
            };
            // `unref`, so that it doesn't delay a shutdown.
            setTimeout(retry, computeRetryDelay(err, failures)).unref();
            return;
          }
        }
        if (latestCalls.get(key) === queued) latestCalls.delete(key);
      };
      const queued = { attempt: Promise.resolve(previous).then(() => attempt(0)) };
      latestCalls.set(key, queued);
      return queued.attempt;
    },
  };
}
