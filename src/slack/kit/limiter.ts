/** Sliding-window rate limit per person. In memory, per process. */
export interface Limiter {
  /**
   * Records one use, unless over the limit.
   * @returns undefined if allowed, else the seconds to wait
   */
  take(personId: string): number | undefined;
  /** Undoes the latest use. */
  giveBack(personId: string): void;
}

/** Above this, people idle for a whole window are dropped. */
const MAX_PEOPLE = 1_000;

/** Limits concurrency; further work waits in line. */
export function createSlots(atOnce: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = atOnce;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

/**
 * @param most uses per person in any `windowMs`
 * @param now monotonic clock in milliseconds
 */
export function createLimiter(
  most: number,
  windowMs: number,
  now: () => number = () => performance.now(),
): Limiter {
  const taken = new Map<string, number[]>();
  return {
    take(personId) {
      const at = now();
      const recent = taken.get(personId) ?? [];
      while (recent[0] !== undefined && recent[0] <= at - windowMs) recent.shift();
      const [oldest] = recent;
      if (recent.length >= most && oldest !== undefined) {
        return Math.max(1, Math.ceil((oldest + windowMs - at) / 1_000));
      }
      recent.push(at);
      taken.set(personId, recent);
      if (taken.size > MAX_PEOPLE) {
        for (const [id, moments] of taken) {
          if ((moments.at(-1) ?? 0) <= at - windowMs) taken.delete(id);
        }
      }
      return undefined;
    },

    giveBack(personId) {
      taken.get(personId)?.pop();
    },
  };
}
