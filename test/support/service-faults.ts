import type { FaultKind } from '@domain-steward/sandbox-service';

/** What goes wrong with a request over JSON and is over at once, but for `hang`. */
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
