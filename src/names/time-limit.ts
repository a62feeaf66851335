import { setMaxListeners } from 'node:events';

/**
 * Returns a signal that aborts at shutdown or after a timeout. A timer is used because Node 20
 * garbage-collects an `AbortSignal.timeout` signal that only `AbortSignal.any` references.
 */
export function createTimeoutSignal(shutdownSignal: AbortSignal, timeoutMs: number): AbortSignal {
  const timeoutController = new AbortController();
  setTimeout(() => timeoutController.abort(), timeoutMs).unref();
  const timeoutSignal = AbortSignal.any([shutdownSignal, timeoutController.signal]);
  setMaxListeners(0, timeoutSignal);
  return timeoutSignal;
}
