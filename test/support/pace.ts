import { PACE, type Pace } from '../../src/app/seams.ts';

/** Durations that are shorter than the product's by a factor. */
export function fasterPace(times: number): Pace {
  const { leaseMs, sendWithinMs, notificationLeaseMs, periodMs, purgeMs } = PACE;
  return {
    leaseMs: leaseMs / times,
    sendWithinMs: sendWithinMs / times,
    notificationLeaseMs: notificationLeaseMs / times,
    periodMs: periodMs / times,
    purgeMs: purgeMs / times,
  };
}
