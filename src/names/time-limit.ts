import { setMaxListeners } from 'node:events';

/**
 * Returns a signal that aborts at shutdown or after a timeout. A timer is used because Node 20
 * garbage-collects an `AbortSignal.timeout` signal that only `AbortSignal.any` references.
 */
export function createTimeLimit(shutdownSignal: AbortSignal, timeoutMs: number): AbortSignal {
  const timeout = new AbortController();
  setTimeout(() => timeout.abort(), timeoutMs).unref();
  const limit = AbortSignal.any([shutdownSignal, timeout.signal]);
  setMaxListeners(0, limit);
  return limit;
}
