/** What of a signed approval does not fit. */
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
