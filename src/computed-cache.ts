/**
 * Computes a value once for all concurrent callers, and keeps it for a while. A failure is kept as long, so that a
 * failing source is not asked more often than a working one.
 * @param keepMs in milliseconds
 * @param now a clock that never goes back, in milliseconds
 */
export function cacheFor<T>(
  keepMs: number,
  compute: () => Promise<T>,
  now: () => number = () => performance.now(),
): () => Promise<T> {
  let current: Promise<T> | undefined;
  let keptUntil = Number.POSITIVE_INFINITY;
  return () => {
    if (current === undefined || now() >= keptUntil) {
      keptUntil = Number.POSITIVE_INFINITY;
      current = compute().finally(() => {
        keptUntil = now() + keepMs;
      });
    }
    return current;
  };
}
