import type { Log } from '../../lib/log.ts';
import { isTransient, retryDelayOf, SlackApiError } from './web.ts';

/** Calls of Slack of which only the latest for each key counts. */
export interface Latest {
  /**
   * Makes a call once the one under way for the same key is over. Where Slack limits it or is away, it is made again
   * later, unless a newer one for the same key has come by then. Errors are logged.
   * @param askedAt when it was asked for, as text that sorts; one from before the latest of the key is not made
   * @returns when the first attempt is over
   */
  run(key: string, call: () => Promise<void>, askedAt?: string): Promise<void>;
}

/** With the pauses of {@link retryDelayOf}, more than 10 minutes. */
const MAX_ATTEMPTS = 10;

/** With more keys than this, the oldest calls count as new. */
const MAX_ASKED = 1_000;

/** @param activity what the calls do, for the log */
export function createLatest(activity: string, log: Log): Latest {
  const latest = new Map<string, { attempt: Promise<void> }>();
  /** When the latest call of a key was asked for, also after it is over. */
  const asked = new Map<string, string>();
  return {
    run(key, call, askedAt = '') {
      if (askedAt < (asked.get(key) ?? '')) return Promise.resolve();
      if (askedAt !== '') {
        if (asked.size >= MAX_ASKED) asked.clear();
        asked.set(key, askedAt);
      }
      const before = latest.get(key)?.attempt;
      const attempt = async (failures: number): Promise<void> => {
        // A newer call says all that this one would.
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
            // A shutdown does not wait for it.
            setTimeout(again, retryDelayOf(err, failures)).unref();
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
