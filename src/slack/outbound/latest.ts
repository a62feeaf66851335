import type { Log } from '../../lib/log.ts';
import { computeRetryDelay, isTransient, SlackApiError } from './web.ts';

/** Slack calls where only the latest per key matters. */
export interface Latest {
  /**
   * Makes a call after the pending one of its key. Retries limits and outages later, unless a newer one arrived. Logs
   * errors.
   * @param requestedAt sortable text; calls older than the key's latest are dropped
   * @returns after the first attempt
   */
  run(key: string, call: () => Promise<void>, requestedAt?: string): Promise<void>;
}

/** Over 10 minutes with the delays of {@link computeRetryDelay}. */
const MAX_ATTEMPTS = 10;

/** Above this, the oldest keys are forgotten. */
const MAX_KEYS = 1_000;

/** @param activity for the log */
export function createLatest(activity: string, log: Log): Latest {
  const latest = new Map<string, { attempt: Promise<void> }>();
  /** The latest request per key, kept after it ends. */
  const latestRequests = new Map<string, string>();
  return {
    run(key, call, requestedAt = '') {
      if (requestedAt < (latestRequests.get(key) ?? '')) return Promise.resolve();
      if (requestedAt !== '') {
        if (latestRequests.size >= MAX_KEYS) latestRequests.clear();
        latestRequests.set(key, requestedAt);
      }
      const before = latest.get(key)?.attempt;
      const attempt = async (failures: number): Promise<void> => {
        // A newer call replaces this one.
        if (latest.get(key) !== mine) return;
        try {
          await call();
        } catch (err) {
          const retries = err instanceof SlackApiError && isTransient(err) && failures + 1 < MAX_ATTEMPTS;
          if (!retries) log.error({ err, key }, activity);
          else {
            log.warn({ err, key }, `${activity}; will retry`);
            const again = () => {
              mine.attempt = attempt(failures + 1);
            };
            // Doesn't delay a shutdown.
            setTimeout(again, computeRetryDelay(err, failures)).unref();
            return;
          }
        }
        if (latest.get(key) === mine) latest.delete(key);
      };
      const mine = { attempt: Promise.resolve(before).then(() => attempt(0)) };
      latest.set(key, mine);
      return mine.attempt;
    },
  };
}
