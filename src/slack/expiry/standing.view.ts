import type { LifePhase } from '../../zones/lifecycle.ts';

/* Where a name stands in its life, in the same words everywhere. */

const PHASES: Readonly<Record<LifePhase, string>> = {
  registered: 'It is registered.',
  auto_renew_grace: '*It has expired* and is in its auto-renew grace.',
  redemption: '*It was deleted.* Only a restore, which costs money, brings it back.',
  pending_delete: '*It is being deleted.* Nothing brings it back any more.',
  released: '*It was released.* Anybody can register it.',
  expired: '*It has expired.* Nothing is documented about what its zone does now.',
  deleted:
    '*It was deleted.* Only a restore, which costs money, brings it back; for how long is not documented for its zone.',
};

/** Used in lists of a name whose dates say that it may be gone: only a deletion that was asked for is known to be one. */
export const NO_DELETION_KNOWN = 'past its grace, no deletion is known';

/**
 * A sentence or two, in mrkdwn.
 * @param isAssumed the name counts as deleted out of caution
 */
export function formatStanding(phase: LifePhase, isAssumed: boolean): string {
  return isAssumed
    ? '*Its grace is over and no deletion is known.* By the document it has renewed itself: look at the domain service.'
    : PHASES[phase];
}
