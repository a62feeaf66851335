import { SlackApiError } from './web.ts';

/** Caches the results of one Slack method, keyed by argument. */
export interface Cache<T> {
  /**
   * Returns the cached result or calls Slack. Concurrent callers share one call.
   * @throws the call's error, which isn't cached
   */
  get(key: string): Promise<T>;
  forget(key: string): void;
}

interface Entry<T> {
  readonly result: Promise<T>;
  readonly startedAt: number;
  isSettled: boolean;
}

interface RateLimit {
  readonly endsAt: number;
  readonly error: SlackApiError;
}

/** A cache with this many entries is cleared. */
const MAX_ENTRIES = 5_000;

/** A call waits once for a rate limit up to this long, because clicking again would take a person longer. */
const MAX_WAIT_MS = 2_000;

interface CacheOptions<T> {
  readonly load: (key: string) => Promise<T>;
  /** Maximum age of a result, measured from the start of its call. */
  readonly maxAgeMs: number;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** Like a timer, it may resolve slightly early. */
  readonly sleep: (milliseconds: number) => Promise<unknown>;
}

export function createCache<T>(options: CacheOptions<T>): Cache<T> {
  const { maxAgeMs, now } = options;
  const entries = new Map<string, Entry<T>>();
  const load = createRateLimitedLoader(options);
  return {
    get(key) {
      const cached = entries.get(key);
      if (cached !== undefined && (!cached.isSettled || now() - cached.startedAt < maxAgeMs))
        return cached.result;
      if (entries.size >= MAX_ENTRIES) entries.clear();
      const entry: Entry<T> = { result: load(key), startedAt: now(), isSettled: false };
      entries.set(key, entry);
      entry.result.then(
        () => {
          entry.isSettled = true;
        },
        () => {
          if (entries.get(key) === entry) entries.delete(key);
        },
      );
      return entry.result;
    },

    forget(key) {
      entries.delete(key);
    },
  };
}

/** Wraps `load` so that it isn't called while Slack limits the method. */
function createRateLimitedLoader<T>({ load, now, sleep }: CacheOptions<T>): (key: string) => Promise<T> {
  let limit: RateLimit | undefined;
  return async (key) => {
    let hasWaited = false;
    const waitOut = async ({ endsAt, error }: RateLimit): Promise<void> => {
      const waitMs = endsAt - now();
      if (hasWaited || waitMs > MAX_WAIT_MS) throw error;
      hasWaited = true;
      // Timers may fire too early.
      await sleep(Math.ceil(waitMs) + 1);
    };
    for (;;) {
      if (limit !== undefined && limit.endsAt > now()) await waitOut(limit);
      // Another call may have hit a new limit meanwhile.
      if (limit !== undefined && limit.endsAt > now()) throw limit.error;
      try {
        return await load(key);
      } catch (error) {
        if (!(error instanceof SlackApiError) || error.retryAfterMs === undefined) throw error;
        limit = { endsAt: now() + error.retryAfterMs, error };
        await waitOut(limit);
      }
    }
  };
}
