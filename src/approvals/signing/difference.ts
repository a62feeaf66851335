/** Why an approval's signature isn't valid: it is missing, or the part with this name differs. */
export const SIGNATURE_DIFFERENCES = [
  'unsigned',
  'statement',
  'approver',
  'policy',
  'order',
  'key',
  'signature',
] as const;
export type SignatureDifference = (typeof SIGNATURE_DIFFERENCES)[number];

/**
 * Why no charter is valid although one was signed.
 * - `not_signed`: the newest charter in the log has no valid signature
 * - `rows_differ`: the policy or the settings in the database differ from the last signed ones
 * - `events_missing`: events about keys or charters were removed from the log
 */
export const CHARTER_PROBLEMS = ['not_signed', 'rows_differ', 'events_missing'] as const;
export type CharterProblem = (typeof CHARTER_PROBLEMS)[number];
