import { isInvalidTokenCode } from './web.ts';

export interface OutageWatch {
  record(outcome: string): void;
  /** When the outage began and its last outcome; undefined while Slack answers. */
  current(): { readonly since: Date; readonly code: string } | undefined;
}

/** Outcomes without an answer. If the token is refused, the bot can't reach anyone either. */
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
