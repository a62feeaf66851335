import { isInvalidTokenCode } from './web.ts';

export interface OutageWatch {
  recordOutcome(outcome: string): void;
  /** Returns the start and last outcome of the current outage, if any. */
  getCurrentOutage(): { readonly since: Date; readonly code: string } | undefined;
}

/** If Slack refuses the token, the bot can't reach anyone either. */
function isOutage(outcome: string): boolean {
  return outcome === 'unreachable' || outcome === 'unreadable' || isInvalidTokenCode(outcome);
}

export function createOutageWatch(now: () => Date): OutageWatch {
  let outage: { readonly since: Date; readonly code: string } | undefined;
  return {
    recordOutcome(outcome) {
      outage = isOutage(outcome) ? { since: outage?.since ?? now(), code: outcome } : undefined;
    },
    getCurrentOutage: () => outage,
  };
}
