import type { LifePhase } from '../../zones/lifecycle.ts';

/* Where a name stands in its life, in the same words everywhere. */

const PHASES: Readonly<Record<LifePhase, string>> = {
  registered: 'It’s registered.',
  auto_renew_grace: '*It expired* and is in its auto-renew grace.',
  redemption: '*It was deleted.* Only a paid restore recovers it.',
  pending_delete: '*It’s being deleted.* It can’t be recovered.',
  released: '*It was released.* Anyone can register it.',
  expired: '*It expired.* What happens next isn’t documented for its zone.',
  deleted: '*It was deleted.* Only a paid restore recovers it; the deadline isn’t documented for its zone.',
};

/** Used in lists of a name whose dates say that it may be gone: only a deletion that was asked for is known to be one. */
export const NO_DELETION_KNOWN = 'past its grace, no known deletion';

/**
 * A sentence or two, in mrkdwn.
 * @param isAssumed the name counts as deleted out of caution
 */
export function formatStanding(phase: LifePhase, isAssumed: boolean): string {
  return isAssumed
    ? '*Its grace is over, with no known deletion.* By the document it renewed automatically: check the domain service.'
    : PHASES[phase];
}
