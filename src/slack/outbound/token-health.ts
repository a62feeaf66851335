import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../lib/log.ts';
import { isInvalidTokenCode } from './web.ts';

export interface TokenHealth {
  recordOutcome(outcome: string): void;
  /** @returns Slack's error code for the token; undefined if Slack accepts the token */
  check(): Promise<string | undefined>;
}

/** On timeout, the outcome of the latest call counts. */
const CHECK_TIMEOUT_MS = 1_000;

/** @param callSlack makes any call with the token, and records its outcome */
export function createTokenHealth(callSlack: () => Promise<unknown>, log: Log): TokenHealth {
  let refusalCode: string | undefined;
  /** Shared by concurrent callers. */
  let pendingCall: Promise<unknown> | undefined;
  return {
    recordOutcome(outcome) {
      if (isInvalidTokenCode(outcome)) {
        if (refusalCode === undefined)
          log.error(
            { code: outcome },
            'Slack refuses SLACK_BOT_TOKEN: reinstall the app, set its bot token and restart. Orders are kept; messages wait for a valid token',
          );
        refusalCode = outcome;
      } else if (outcome === 'ok' && refusalCode !== undefined) {
        refusalCode = undefined;
        log.info('Slack accepts SLACK_BOT_TOKEN again');
      }
    },
    async check() {
      pendingCall ??= callSlack()
        .catch(() => undefined)
        .finally(() => {
          pendingCall = undefined;
        });
      await Promise.race([pendingCall, sleep(CHECK_TIMEOUT_MS, undefined, { ref: false })]);
      return refusalCode;
    },
  };
}
