/**
 * - `event_changed`, `event_gone`: an event's row was changed or deleted after it was sealed
 * - `event_unsealed`: an event was added without the trigger that queues events for sealing
 * - `event_hidden`: an event's content was removed, but no event logs the removal
 * - `seal_changed`, `seal_gone`: a seal or its list of events was changed or deleted
 * - `other_key`: the newest seal wasn't signed with the current key
 * - `anchor_differs`: a seal differs from its anchor in the database
 * - `rolled_back`: the seal in the anchor file is missing, because an older database was restored
 * - `other_history`: the seal in the anchor file was replaced: the database was rewritten, or restored and used since
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
