import { setMaxListeners } from 'node:events';

/**
 * Aborts at shutdown or after the time. Uses a timer, because Node 20 garbage-collects an `AbortSignal.timeout` signal
 * that only `AbortSignal.any` references.
 */
export function createTimeLimit(stop: AbortSignal, ms: number): AbortSignal {
  const timeout = new AbortController();
  setTimeout(() => timeout.abort(), ms).unref();
  const limit = AbortSignal.any([stop, timeout.signal]);
  setMaxListeners(0, limit);
  return limit;
}
