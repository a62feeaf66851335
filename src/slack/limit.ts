/** How often each person does something, within a minute that moves along. Kept in memory, by one process for itself. */
export interface Limiter {
  /**
   * Counts one more.
   * @returns undefined when the person may, else after how many seconds they may again; a refusal does not count
   */
  take(personId: string): number | undefined;
}

const WINDOW_MS = 60_000;
/** People remembered at once; beyond this those who were quiet for a window are forgotten. */
const MAX_PEOPLE = 1_000;

/**
 * @param perMinute what one person may do in any 60 seconds
 * @param now milliseconds of a clock that never goes back
 */
export function createLimiter(perMinute: number, now: () => number = () => performance.now()): Limiter {
  const taken = new Map<string, number[]>();
  return {
    take(personId) {
      const at = now();
      const recent = (taken.get(personId) ?? []).filter((moment) => moment > at - WINDOW_MS);
      const [oldest] = recent;
      if (recent.length >= perMinute && oldest !== undefined) {
        taken.set(personId, recent);
        return Math.max(1, Math.ceil((oldest + WINDOW_MS - at) / 1_000));
      }
      taken.set(personId, [...recent, at]);
      if (taken.size > MAX_PEOPLE) {
        for (const [id, moments] of taken) {
          if ((moments.at(-1) ?? 0) <= at - WINDOW_MS) taken.delete(id);
        }
      }
      return undefined;
    },
  };
}
