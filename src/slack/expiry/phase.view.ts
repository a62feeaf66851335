import type { LifecyclePhase } from '../../zones/lifecycle.ts';

const PHASE_TEXTS: Readonly<Record<LifecyclePhase, string>> = {
  registered: 'It’s registered.',
  auto_renew_grace: '*It expired* and is in its auto-renew grace period.',
  redemption: '*It was deleted.* Only a paid restore can recover it.',
  pending_delete: '*It’s being deleted.* It can’t be recovered.',
  released: '*It was released.* Anyone can register it.',
  expired: '*It expired.* Its zone doesn’t document what happens next.',
  deleted: '*It was deleted.* Only a paid restore can recover it. Its zone doesn’t document the deadline.',
};

/** Used in lists if the dates suggest that the name was deleted, but nothing confirms it. */
export const POSSIBLY_DELETED = 'past its grace period, possibly deleted';

/** @param isDeletionAssumed whether only the dates suggest that the name was deleted */
export function phaseText(phase: LifecyclePhase, isDeletionAssumed: boolean): string {
  return isDeletionAssumed
    ? '*Its grace period is over, and it may have been deleted.* It should have renewed automatically. Check the domain service.'
    : PHASE_TEXTS[phase];
}
