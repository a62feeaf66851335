/** A sliding-window rate limit per person and process. */
export interface Limiter {
  /**
   * Records a use unless it would exceed the limit.
   * @returns undefined if allowed, or the seconds to wait
   */
  take(personId: string): number | undefined;
  /** Undoes the latest use. */
  undo(personId: string): void;
}

/** Above this number, people without uses in the window are dropped. */
const MAX_PEOPLE = 1_000;

/** Limits concurrency. Further work waits in a queue. */
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
export function createLimiter(
  limit: number,
  windowMs: number,
  now: () => number = () => performance.now(),
): Limiter {
  const uses = new Map<string, number[]>();
  return {
    take(personId) {
      const time = now();
      const recent = uses.get(personId) ?? [];
      while (recent[0] !== undefined && recent[0] <= time - windowMs) recent.shift();
      const [oldest] = recent;
      if (recent.length >= limit && oldest !== undefined) {
        return Math.max(1, Math.ceil((oldest + windowMs - time) / 1_000));
      }
      recent.push(time);
      uses.set(personId, recent);
      if (uses.size > MAX_PEOPLE) {
        for (const [id, times] of uses) {
          if ((times.at(-1) ?? 0) <= time - windowMs) uses.delete(id);
        }
      }
      return undefined;
    },

    undo(personId) {
      uses.get(personId)?.pop();
    },
  };
}
