import { isInvalidTokenCode } from './web.ts';

/** Whether Slack is out of reach. */
export interface OutageWatch {
  /** Notes how a call ended. */
  note(outcome: string): void;
  /** Since when no call was answered, and how the last one ended; undefined while Slack answers. */
  current(): { readonly since: Date; readonly code: string } | undefined;
}

/** Outcomes of calls that Slack did not answer. A token that it refuses reaches nobody either. */
function isOutage(outcome: string): boolean {
  return outcome === 'unreachable' || outcome === 'unreadable' || isInvalidTokenCode(outcome);
}

/** Follows the calls of this process. */
export function createOutageWatch(now: () => Date): OutageWatch {
  let outage: { readonly since: Date; readonly code: string } | undefined;
  return {
    note(outcome) {
      outage = isOutage(outcome) ? { since: outage?.since ?? now(), code: outcome } : undefined;
    },
    current: () => outage,
  };
}
