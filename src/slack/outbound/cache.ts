import { SlackApiError } from './web.ts';

/** Answers of one of Slack's methods, by what was asked about. */
export interface Cache<T> {
  /**
   * The cached answer, or Slack's. Whoever asks about the same thing meanwhile waits for the same call.
   * @throws whatever the call failed with; a failure is not cached
   */
  get(key: string): Promise<T>;
  /** The answer has changed: whoever asks from now on gets a new one. */
  forget(key: string): void;
}

interface Entry<T> {
  readonly answer: Promise<T>;
  readonly startedAt: number;
  isSettled: boolean;
}

/** Slack takes no call of the method before `until`. */
interface Limit {
  readonly until: number;
  readonly problem: SlackApiError;
}

/** With more entries than this the cache is emptied. */
const MAX_ENTRIES = 5_000;

/** A limit that ends within this time is waited out, once: pressing again would take the person longer. */
const MAX_WAIT_MS = 2_000;

interface CacheOptions<T> {
  readonly load: (key: string) => Promise<T>;
  /** How old an answer may be, in milliseconds, from the moment the call began. */
  readonly maxAgeMs: number;
  /** In milliseconds, of a clock that never goes back. */
  readonly now: () => number;
  /** Resolves after so many milliseconds. */
  readonly sleep: (milliseconds: number) => Promise<unknown>;
}

/** Caches a method's answers, with one call at a time for each key. */
export function createCache<T>(options: CacheOptions<T>): Cache<T> {
  const { maxAgeMs, now } = options;
  const entries = new Map<string, Entry<T>>();
  const call = respectLimit(options);
  return {
    get(key) {
      const known = entries.get(key);
      if (known !== undefined && (!known.isSettled || now() - known.startedAt < maxAgeMs))
        return known.answer;
      if (entries.size >= MAX_ENTRIES) entries.clear();
      const entry: Entry<T> = { answer: call(key), startedAt: now(), isSettled: false };
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

/** Calls a method, but not while Slack limits it. */
function respectLimit<T>({ load, now, sleep }: CacheOptions<T>): (key: string) => Promise<T> {
  let limit: Limit | undefined;
  return async (key) => {
    let hasWaited = false;
    const waitOut = async ({ until, problem }: Limit): Promise<void> => {
      const waitMs = until - now();
      if (hasWaited || waitMs > MAX_WAIT_MS) throw problem;
      hasWaited = true;
      // A timer may fire a little early.
      await sleep(Math.ceil(waitMs) + 1);
    };
    for (;;) {
      if (limit !== undefined && limit.until > now()) await waitOut(limit);
      // Others may have met another limit meanwhile.
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
