/** A sliding-window rate limit per person and process. */
export interface RateLimiter {
  /**
   * Records a use unless it would exceed the limit.
   * @returns undefined if allowed, or the seconds to wait
   */
  recordUse(personId: string): number | undefined;
  /** Undoes the latest use. */
  undoUse(personId: string): void;
}

/** Above this number, people without recent uses are removed from memory. */
const MAX_PEOPLE = 1_000;

/** Runs at most `limit` tasks at the same time. Further tasks are queued. */
export function createConcurrencyLimiter(limit: number): <T>(work: () => Promise<T>) => Promise<T> {
  let freeSlots = limit;
  const queue: (() => void)[] = [];
  return async (work) => {
    if (freeSlots > 0) freeSlots -= 1;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await work();
    } finally {
      const startNext = queue.shift();
      if (startNext === undefined) freeSlots += 1;
      else startNext();
    }
  };
}

/**
 * @param limit uses per person within any `windowMs`
 * @param now monotonic clock, in milliseconds
 */
export function createRateLimiter(
  limit: number,
  windowMs: number,
  now: () => number = () => performance.now(),
): RateLimiter {
  const usesByPerson = new Map<string, number[]>();
  return {
    recordUse(personId) {
      const time = now();
      const recentUses = usesByPerson.get(personId) ?? [];
      while (recentUses[0] !== undefined && recentUses[0] <= time - windowMs) recentUses.shift();
      const [oldest] = recentUses;
      if (recentUses.length >= limit && oldest !== undefined) {
        return Math.max(1, Math.ceil((oldest + windowMs - time) / 1_000));
      }
      recentUses.push(time);
      usesByPerson.set(personId, recentUses);
      if (usesByPerson.size > MAX_PEOPLE) {
        for (const [id, times] of usesByPerson) {
          if ((times.at(-1) ?? 0) <= time - windowMs) usesByPerson.delete(id);
        }
      }
      return undefined;
    },

    undoUse(personId) {
      usesByPerson.get(personId)?.pop();
    },
  };
}
