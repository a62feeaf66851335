import type { FaultKind } from '@domain-steward/sandbox-service';

/** The faults of a JSON request. All except `hang` end the request at once. */
export const JSON_FAULTS = [
  'hang',
  'drop_before',
  'drop_after',
  'status_500',
  'status_503',
  'status_429',
  'cut_json',
  'html',
  'redirect_307',
  'wrong_type',
] as const satisfies readonly FaultKind[];
