import { DEFAULT_PACE, type Pace } from '../../src/app/seams.ts';

/** The product's durations, divided by a factor. */
export function fasterPace(factor: number): Pace {
  const { leaseMs, maxSendDelayMs, notificationLeaseMs, periodMs, purgePeriodMs } = DEFAULT_PACE;
  return {
    leaseMs: leaseMs / factor,
    maxSendDelayMs: maxSendDelayMs / factor,
    notificationLeaseMs: notificationLeaseMs / factor,
    periodMs: periodMs / factor,
    purgePeriodMs: purgePeriodMs / factor,
  };
}
