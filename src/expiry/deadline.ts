import type { LifecyclePhase } from '../zones/lifecycle.ts';
import { countDaysBetween, type Day, shiftDay } from './days.ts';

/** The next action that can save a name, and its deadline. Lists show and sort by the deadline. */
export interface Deadline {
  /** `check`: the grace period is over and no deletion is known, so check whether the name auto-renewed. */
  readonly action: 'renew' | 'restore' | 'check' | 'none';
  readonly phase: LifecyclePhase;
  /**
   * The expiry day of a registered name, or the last safe day of a later phase. Undefined if nothing can save
   * the name or the zone's periods aren't documented.
   */
  readonly until: Day | undefined;
  /** Calendar days to {@link Deadline.until}. */
  readonly daysLeft: number | undefined;
}

export interface DeadlineFacts {
  readonly phase: LifecyclePhase;
  /** Whether the name is treated as deleted to be safe, although no deletion is known. */
  readonly isDeletionAssumed: boolean;
  readonly expiryDay: Day;
  /** Calendar days to the expiry; negative after it. */
  readonly daysLeft: number;
  readonly lastSafeDay: Day | undefined;
}

const ACTION_BY_PHASE: Readonly<Record<LifecyclePhase, Deadline['action']>> = {
  registered: 'renew',
  auto_renew_grace: 'renew',
  expired: 'renew',
  redemption: 'restore',
  deleted: 'restore',
  pending_delete: 'none',
  released: 'none',
};

export function isRenewable(phase: LifecyclePhase): boolean {
  return ACTION_BY_PHASE[phase] === 'renew';
}

/**
 * Returns which tasks can save a name. A name that is only assumed to be deleted has most likely auto-renewed
 * and can be renewed. A restore is offered too, to be safe.
 */
export function getRenewalOptions({ action, phase }: Pick<Deadline, 'action' | 'phase'>): {
  readonly canRenew: boolean;
  readonly canRestore: boolean;
} {
  return {
    canRenew: action === 'renew' || action === 'check',
    canRestore: ACTION_BY_PHASE[phase] === 'restore',
  };
}

export function findDeadline(facts: DeadlineFacts): Deadline {
  const { phase, isDeletionAssumed, expiryDay, daysLeft, lastSafeDay } = facts;
  const action = isDeletionAssumed ? 'check' : ACTION_BY_PHASE[phase];
  if (phase === 'registered') return { action, phase, until: expiryDay, daysLeft };
  if (!isSavablePhase(phase) || lastSafeDay === undefined)
    return { action, phase, until: undefined, daysLeft: undefined };
  const today = shiftDay(expiryDay, -daysLeft);
  return { action, phase, until: lastSafeDay, daysLeft: countDaysBetween(today, lastSafeDay) };
}

export function isSavablePhase(phase: LifecyclePhase): boolean {
  return ACTION_BY_PHASE[phase] !== 'none';
}

/** Names that are lost soonest come first, and names that can't be recovered last. */
export function compareDeadlines(a: Deadline | undefined, b: Deadline | undefined): number {
  return getUrgencyRank(a) - getUrgencyRank(b);
}

function getUrgencyRank(deadline: Deadline | undefined): number {
  if (deadline === undefined) return Number.MAX_SAFE_INTEGER;
  if (!isSavablePhase(deadline.phase)) return Number.MAX_SAFE_INTEGER - 1;
  // Without documented periods, an expired or deleted name may be lost at any time.
  return deadline.daysLeft ?? -1;
}
