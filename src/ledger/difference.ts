/**
 * Differences the bot finds in its own ledger.
 * - `event_changed`, `event_gone`: a row of the log differs from what was sealed, or is missing.
 * - `event_unsealed`: a row of the log bypassed the trigger.
 * - `event_hidden`: the content of a row was removed, and no event logs its deletion.
 * - `seal_changed`, `seal_gone`: a seal, or the list of its events, differs from what was sealed, or is missing.
 * - `other_key`: the signing key has changed.
 * - `anchor_differs`: a seal differs from the database's own anchor of it.
 * - `put_back`: a seal anchored on this machine isn't in the database yet: an earlier state was restored.
 * - `other_history`: an anchored seal was replaced by another: the database was restored and continued, or rewritten.
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
  /** Number of occurrences. */
  readonly count: number;
  /** The number of the first seal or event concerned; omitted if it has none. */
  readonly first?: number;
}
