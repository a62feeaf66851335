import type { LifecyclePhase } from '../zones/lifecycle.ts';

/** Names that expired longer ago get no reminders, because every documented period has ended by then. */
export const MAX_DAYS_AFTER_EXPIRY = 120;

/** A point after the expiry at which a reminder is due. */
export interface ReminderMark {
  /** The threshold of the mark's reminder. Later marks have lower numbers. */
  readonly threshold: number;
  readonly phase: LifecyclePhase;
  /** Days before the phase's last safe day; undefined if the mark isn't relative to that day. */
  readonly daysToSafeDay?: number;
  /** Days after the expiry; undefined if the mark is at the start of the phase. */
  readonly daysAfterExpiry?: number;
}

/**
 * The threshold of a renewal that the registry doesn't show is this number plus the weeks since the renewal.
 * It is above all other thresholds, so it doesn't suppress their reminders.
 */
export const MIN_DISPUTE_THRESHOLD = 100_000;

export function isDisputeThreshold(threshold: number): boolean {
  return threshold >= MIN_DISPUTE_THRESHOLD;
}

/** One mark at the start of each phase, and more while the name can still be saved. */
export const MARKS_AFTER_EXPIRY: readonly ReminderMark[] = [
  { threshold: -1, phase: 'auto_renew_grace' },
  { threshold: -2, phase: 'auto_renew_grace', daysToSafeDay: 7 },
  { threshold: -3, phase: 'auto_renew_grace', daysToSafeDay: 1 },
  { threshold: -4, phase: 'redemption' },
  { threshold: -5, phase: 'redemption', daysToSafeDay: 7 },
  { threshold: -6, phase: 'redemption', daysToSafeDay: 1 },
  { threshold: -7, phase: 'pending_delete' },
  { threshold: -8, phase: 'released' },
  { threshold: -9, phase: 'expired' },
  { threshold: -10, phase: 'expired', daysAfterExpiry: 7 },
  { threshold: -11, phase: 'expired', daysAfterExpiry: 14 },
  { threshold: -12, phase: 'expired', daysAfterExpiry: 28 },
  { threshold: -13, phase: 'deleted' },
];
