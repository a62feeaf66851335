import { setMaxListeners } from 'node:events';

/**
 * Aborts at shutdown or after the time. Node 20 garbage-collects a signal of `AbortSignal.timeout` that only
 * `AbortSignal.any` references; a timer's controller stays.
 */
export function createTimeLimit(stop: AbortSignal, ms: number): AbortSignal {
  const timeout = new AbortController();
  setTimeout(() => timeout.abort(), ms).unref();
  const limit = AbortSignal.any([stop, timeout.signal]);
  setMaxListeners(0, limit);
  return limit;
}
