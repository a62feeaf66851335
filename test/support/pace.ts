import { DEFAULT_PACE, type Pace } from '../../src/app/seams.ts';

/** The product's durations, divided by a factor. */
export function fasterPace(times: number): Pace {
  const { leaseMs, maxSendDelayMs, notificationLeaseMs, periodMs, purgeMs } = DEFAULT_PACE;
  return {
    leaseMs: leaseMs / times,
    maxSendDelayMs: maxSendDelayMs / times,
    notificationLeaseMs: notificationLeaseMs / times,
    periodMs: periodMs / times,
    purgeMs: purgeMs / times,
  };
}
