import { isInvalidTokenCode } from './web.ts';

export interface OutageWatch {
  record(outcome: string): void;
  /** Start of the outage and last outcome; undefined while Slack answers. */
  current(): { readonly since: Date; readonly code: string } | undefined;
}

/** Outcomes without an answer. With a refused token, no one is reached either. */
function isOutage(outcome: string): boolean {
  return outcome === 'unreachable' || outcome === 'unreadable' || isInvalidTokenCode(outcome);
}

export function createOutageWatch(now: () => Date): OutageWatch {
  let outage: { readonly since: Date; readonly code: string } | undefined;
  return {
    record(outcome) {
      outage = isOutage(outcome) ? { since: outage?.since ?? now(), code: outcome } : undefined;
    },
    current: () => outage,
  };
}
