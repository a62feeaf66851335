/** How often each person does something, within a time that moves along. Kept in memory, by one process for itself. */
export interface Limiter {
  /**
   * Counts one more.
   * @returns undefined when the person may, else after how many seconds they may again; a refusal does not count
   */
  take(personId: string): number | undefined;
  /** The latest one taken does not count after all. */
  giveBack(personId: string): void;
}

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
/** People remembered at once; beyond this those who were quiet for a window are forgotten. */
const MAX_PEOPLE = 1_000;

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
      const recent = (taken.get(personId) ?? []).filter((moment) => moment > at - windowMs);
      const [oldest] = recent;
      if (recent.length >= most && oldest !== undefined) {
        taken.set(personId, recent);
        return Math.max(1, Math.ceil((oldest + windowMs - at) / 1_000));
      }
      taken.set(personId, [...recent, at]);
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
