/** Limits how often a person does something within a moving window. Each process counts for itself, in memory. */
export interface Limiter {
  /**
   * Counts one more, unless the limit is reached.
   * @returns undefined when the person may; else the seconds after which they may again
   */
  take(personId: string): number | undefined;
  /** Takes the latest one back. */
  giveBack(personId: string): void;
}

/** With more people than this, those who did nothing for a whole window are forgotten. */
const MAX_PEOPLE = 1_000;

/** Runs at most so many pieces of work at a time; the others wait in line. */
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
 * @param most how often one person may do it in any `windowMs`
 * @param now milliseconds of a clock that never goes back
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
