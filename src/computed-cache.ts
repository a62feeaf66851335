/**
 * Computes something once for all who ask at the same time, and keeps it for a while after it is known. A failure is
 * kept as long, so that a source that fails is not asked more often than one that works.
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
