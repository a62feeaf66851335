/**
 * - `event_changed`, `event_gone`: an event row was changed or deleted after sealing.
 * - `event_unsealed`: an event row bypassed the trigger.
 * - `event_hidden`: an event's content was removed, but no event logs the deletion.
 * - `seal_changed`, `seal_gone`: a seal or its list of events was changed or deleted.
 * - `other_key`: the signing key has changed.
 * - `anchor_differs`: a seal differs from its anchor in the database.
 * - `rolled_back`: a seal anchored on this machine is missing: an older state was restored.
 * - `other_history`: an anchored seal was replaced: the database was restored and continued, or rewritten.
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
  'rolled_back',
  'other_history',
] as const;

export interface LedgerDifference {
  readonly code: (typeof LEDGER_DIFFERENCES)[number];
  readonly count: number;
  /** The number of the first affected seal or event. */
  readonly first?: number;
}
