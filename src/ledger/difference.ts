/**
 * What the bot finds of its own ledger that does not fit.
 * - `event_changed`, `event_gone`: a row of the log is not what was sealed, or is not there.
 * - `event_unsealed`: a row of the log was written past the trigger.
 * - `event_hidden`: the content of a row was taken away, and no event that tells of forgetting names it.
 * - `seal_changed`, `seal_gone`: a seal, or the list of its events, is not what was sealed, or is not there.
 * - `other_key`: the key that signs is not the one that has signed.
 * - `anchor_differs`: a seal is not the one of which the database itself says that it left.
 * - `put_back`: a seal that left, as this machine remembers, is not in the database yet: a state from before it was put back.
 * - `other_history`: there is another seal in the place of one that left: it was put back and has gone on, or it was rewritten.
 */
export const LEDGER_DIFFERENCES = [
  'event_changed',
  'event_gone',
  'event_unsealed',
  'event_hidden',
  'seal_changed',
  'seal_gone',
  'other_key',
  'anchor_differs',
  'put_back',
  'other_history',
] as const;

export interface LedgerDifference {
  readonly code: (typeof LEDGER_DIFFERENCES)[number];
  /** How many there are of it. */
  readonly count: number;
  /** The number of the first seal or event that it concerns; left out where it has none. */
  readonly first?: number;
}
