import type { LifecyclePhase } from '../zones/lifecycle.ts';
import { type Day, daysBetween, shiftDay } from './days.ts';

/** The next action that can keep a name, and its deadline. Lists show and sort by this date. */
export interface Deadline {
  /** `check`: the grace period is over and no deletion is known, so check whether the name auto-renewed. */
  readonly action: 'renew' | 'restore' | 'check' | 'none';
  readonly phase: LifecyclePhase;
  /**
   * The expiry day of a registered name; after the expiry, the last safe day. Undefined if nothing can be done or the
   * zone's periods aren't documented.
   */
  readonly until: Day | undefined;
  /** Calendar days to {@link Deadline.until}. */
  readonly daysLeft: number | undefined;
}

export interface DeadlineFacts {
  readonly phase: LifecyclePhase;
  /** Treated as deleted to be safe, although no deletion is known. */
  readonly isDeletionAssumed: boolean;
  readonly expiryDay: Day;
  /** Calendar days to the expiry; negative after it. */
  readonly daysLeft: number;
  readonly lastSafeDay: Day | undefined;
}

const ACTIONS: Readonly<Record<LifecyclePhase, Deadline['action']>> = {
  registered: 'renew',
  auto_renew_grace: 'renew',
  expired: 'renew',
  redemption: 'restore',
  deleted: 'restore',
  pending_delete: 'none',
  released: 'none',
};

/** Whether a renewal keeps a name in this phase. */
export function isRenewable(phase: LifecyclePhase): boolean {
  return ACTIONS[phase] === 'renew';
}

/**
 * Tasks that keep a name. A name that is only assumed deleted has most likely auto-renewed, so it can be renewed. A
 * restore is offered to be safe.
 */
export function renewalOptions({
  action,
  phase,
}: {
  readonly action: Deadline['action'];
  readonly phase: LifecyclePhase;
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

/** Whether the name can still be renewed, restored or checked, by its dates. */
export function canBeSaved({ phase }: Deadline): boolean {
  return isSavablePhase(phase);
}

export function isSavablePhase(phase: LifecyclePhase): boolean {
  return ACTIONS[phase] !== 'none';
}

/** Names that are lost soonest come first, and names that can't be recovered last. */
export function compareDeadlines(a: Deadline | undefined, b: Deadline | undefined): number {
  return urgency(a) - urgency(b);
}

function urgency(deadline: Deadline | undefined): number {
  if (deadline === undefined) return Number.MAX_SAFE_INTEGER;
  if (!canBeSaved(deadline)) return Number.MAX_SAFE_INTEGER - 1;
  // Expired or deleted in a zone without documented periods: it may be lost at any time.
  return deadline.daysLeft ?? -1;
}
