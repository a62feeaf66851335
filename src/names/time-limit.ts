import { setMaxListeners } from 'node:events';

/** Aborts when the process stops, and after so long. Every question under way may listen to it. */
export function timeLimit(stop: AbortSignal, ms: number): AbortSignal {
  const limit = AbortSignal.any([stop, AbortSignal.timeout(ms)]);
  setMaxListeners(0, limit);
  return limit;
}
