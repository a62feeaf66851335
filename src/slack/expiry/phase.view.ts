import type { LifePhase } from '../../zones/lifecycle.ts';

const PHASES: Readonly<Record<LifePhase, string>> = {
  registered: 'It’s registered.',
  auto_renew_grace: '*It expired* and is in its auto-renew grace.',
  redemption: '*It was deleted.* Only a paid restore recovers it.',
  pending_delete: '*It’s being deleted.* It can’t be recovered.',
  released: '*It was released.* Anyone can register it.',
  expired: '*It expired.* Its zone doesn’t document what happens next.',
  deleted: '*It was deleted.* Only a paid restore recovers it; the deadline isn’t documented for its zone.',
};

/** For lists: the dates suggest a deletion, but only a requested deletion is certain. */
export const NO_DELETION_KNOWN = 'past its grace, no known deletion';

/**
 * One or two sentences, mrkdwn.
 * @param isAssumed treated as deleted, as a precaution
 */
export function phaseText(phase: LifePhase, isAssumed: boolean): string {
  return isAssumed
    ? '*Its grace is over, with no known deletion.* It should have renewed automatically: check the domain service.'
    : PHASES[phase];
}
