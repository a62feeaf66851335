import { SlackApiError } from './web.ts';

/** Caches the answers of one Slack method, by argument. */
export interface Cache<T> {
  /**
   * Returns the cached answer or calls Slack. Concurrent callers share one call.
   * @throws the error of the call; failures aren't cached
   */
  get(key: string): Promise<T>;
  forget(key: string): void;
}

interface Entry<T> {
  readonly answer: Promise<T>;
  readonly startedAt: number;
  isSettled: boolean;
}

/** Slack won't accept a call of the method before `until`. */
interface Limit {
  readonly until: number;
  readonly problem: SlackApiError;
}

/** Above this number, the cache is emptied. */
const MAX_ENTRIES = 5_000;

/** For a limit that ends sooner, the cache waits once, because another click would take longer. */
const MAX_WAIT_MS = 2_000;

interface CacheOptions<T> {
  readonly load: (key: string) => Promise<T>;
  /** Maximum age of an answer, from the start of its call. */
  readonly maxAgeMs: number;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** @param milliseconds at least this long */
  readonly sleep: (milliseconds: number) => Promise<unknown>;
}

/** Makes one call at a time per key. */
export function createCache<T>(options: CacheOptions<T>): Cache<T> {
  const { maxAgeMs, now } = options;
  const entries = new Map<string, Entry<T>>();
  const load = createLimitedLoad(options);
  return {
    get(key) {
      const cached = entries.get(key);
      if (cached !== undefined && (!cached.isSettled || now() - cached.startedAt < maxAgeMs))
        return cached.answer;
      if (entries.size >= MAX_ENTRIES) entries.clear();
      const entry: Entry<T> = { answer: load(key), startedAt: now(), isSettled: false };
      entries.set(key, entry);
      entry.answer.then(
        () => {
          entry.isSettled = true;
        },
        () => {
          if (entries.get(key) === entry) entries.delete(key);
        },
      );
      return entry.answer;
    },

    forget(key) {
      entries.delete(key);
    },
  };
}

/** Calls the method unless Slack limits it. */
function createLimitedLoad<T>({ load, now, sleep }: CacheOptions<T>): (key: string) => Promise<T> {
  let limit: Limit | undefined;
  return async (key) => {
    let hasWaited = false;
    const waitOut = async ({ until, problem }: Limit): Promise<void> => {
      const waitMs = until - now();
      if (hasWaited || waitMs > MAX_WAIT_MS) throw problem;
      hasWaited = true;
      // Timers may fire too early.
      await sleep(Math.ceil(waitMs) + 1);
    };
    for (;;) {
      if (limit !== undefined && limit.until > now()) await waitOut(limit);
      // Another caller may have got a new limit.
      if (limit !== undefined && limit.until > now()) throw limit.problem;
      try {
        return await load(key);
      } catch (error) {
        if (!(error instanceof SlackApiError) || error.retryAfterMs === undefined) throw error;
        limit = { until: now() + error.retryAfterMs, problem: error };
        await waitOut(limit);
      }
    }
  };
}
