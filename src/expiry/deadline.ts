import type { LifePhase } from '../zones/lifecycle.ts';
import { type Day, daysBetween, shiftDay } from './days.ts';

/** What can still be done about a name, and until when. Lists show this date and sort by it. */
export interface Deadline {
  readonly action: 'renew' | 'restore' | 'none';
  /**
   * The day of the expiry for a registered name, the last safe day after that; undefined where nothing can be done or
   * no period is documented.
   */
  readonly until: Day | undefined;
  /** Calendar days to {@link Deadline.until}. */
  readonly daysLeft: number | undefined;
}

/** What a deadline is computed from. */
export interface DeadlineFacts {
  readonly phase: LifePhase;
  readonly expiryDay: Day;
  /** Calendar days to the expiry; negative after it. */
  readonly daysLeft: number;
  readonly lastSafeDay: Day | undefined;
}

const ACTIONS: Readonly<Record<LifePhase, Deadline['action']>> = {
  registered: 'renew',
  auto_renew_grace: 'renew',
  expired: 'renew',
  redemption: 'restore',
  deleted: 'restore',
  pending_delete: 'none',
  released: 'none',
};

/** Whether a renewal keeps a name that is in this phase. */
export function isRenewable(phase: LifePhase): boolean {
  return ACTIONS[phase] === 'renew';
}

/** The deadline of a name in a phase of its life. */
export function deadlineOf({ phase, expiryDay, daysLeft, lastSafeDay }: DeadlineFacts): Deadline {
  const action = ACTIONS[phase];
  if (phase === 'registered') return { action, until: expiryDay, daysLeft };
  if (action === 'none' || lastSafeDay === undefined)
    return { action, until: undefined, daysLeft: undefined };
  const today = shiftDay(expiryDay, -daysLeft);
  return { action, until: lastSafeDay, daysLeft: daysBetween(today, lastSafeDay) };
}

/** Compares two deadlines. What is lost first comes first; names that cannot be saved come last. */
export function byDeadline(a: Deadline | undefined, b: Deadline | undefined): number {
  return urgency(a) - urgency(b);
}

function urgency(deadline: Deadline | undefined): number {
  if (deadline === undefined) return Number.MAX_SAFE_INTEGER;
  if (deadline.action === 'none') return Number.MAX_SAFE_INTEGER - 1;
  // Expired or deleted in a zone without documented periods: it may be lost at any moment.
  return deadline.daysLeft ?? -1;
}
