import { setMaxListeners } from 'node:events';

/**
 * Aborts at shutdown or after the time. Node 20 garbage-collects a signal of `AbortSignal.timeout` that only
 * `AbortSignal.any` references; a timer's controller stays.
 */
export function timeLimit(stop: AbortSignal, ms: number): AbortSignal {
  const late = new AbortController();
  setTimeout(() => late.abort(), ms).unref();
  const limit = AbortSignal.any([stop, late.signal]);
  setMaxListeners(0, limit);
  return limit;
}
