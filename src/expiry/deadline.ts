import type { LifePhase } from '../zones/lifecycle.ts';
import { type Day, daysBetween, shiftDay } from './days.ts';

/** The remaining options for a name, with deadlines. Lists show this date and sort by it. */
export interface Deadline {
  /** `check`: its grace period is over and no deletion is known, so its auto-renewal must be checked. */
  readonly action: 'renew' | 'restore' | 'check' | 'none';
  readonly phase: LifePhase;
  /**
   * For a registered name, the expiry day; after that, the last safe day. Undefined if nothing can be done or no period
   * is documented.
   */
  readonly until: Day | undefined;
  /** Calendar days to {@link Deadline.until}. */
  readonly daysLeft: number | undefined;
}

export interface DeadlineFacts {
  readonly phase: LifePhase;
  /** Assumed deleted as a precaution: no deletion is known. */
  readonly isDeletionAssumed: boolean;
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

/** Whether a renewal keeps a name in this phase. */
export function isRenewable(phase: LifePhase): boolean {
  return ACTIONS[phase] === 'renew';
}

/**
 * Tasks that keep a name. A name that is treated as deleted only as a precaution has most likely renewed itself: it can
 * be renewed, and restoring it is a precaution.
 */
export function renewalOptions({
  action,
  phase,
}: {
  readonly action: Deadline['action'];
  readonly phase: LifePhase;
}): {
  readonly renews: boolean;
  readonly restores: boolean;
} {
  return { renews: action === 'renew' || action === 'check', restores: ACTIONS[phase] === 'restore' };
}

export function findDeadline(facts: DeadlineFacts): Deadline {
  const { phase, isDeletionAssumed, expiryDay, daysLeft, lastSafeDay } = facts;
  const action = isDeletionAssumed ? 'check' : ACTIONS[phase];
  if (phase === 'registered') return { action, phase, until: expiryDay, daysLeft };
  if (ACTIONS[phase] === 'none' || lastSafeDay === undefined)
    return { action, phase, until: undefined, daysLeft: undefined };
  const today = shiftDay(expiryDay, -daysLeft);
  return { action, phase, until: lastSafeDay, daysLeft: daysBetween(today, lastSafeDay) };
}

/** Whether a name can still be lost or saved, by its dates. */
export function canBeSaved({ phase }: Deadline): boolean {
  return isSavablePhase(phase);
}

export function isSavablePhase(phase: LifePhase): boolean {
  return ACTIONS[phase] !== 'none';
}

/** Sorts names that are lost soonest first, and names that can't be recovered last. */
export function compareDeadlines(a: Deadline | undefined, b: Deadline | undefined): number {
  return urgency(a) - urgency(b);
}

function urgency(deadline: Deadline | undefined): number {
  if (deadline === undefined) return Number.MAX_SAFE_INTEGER;
  if (!canBeSaved(deadline)) return Number.MAX_SAFE_INTEGER - 1;
  // Expired or deleted in a zone without documented periods: it may be lost at any time.
  return deadline.daysLeft ?? -1;
}
