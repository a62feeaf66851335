import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../lib/log.ts';
import { isInvalidTokenCode } from './web.ts';

/** Whether Slack takes the bot's token. */
export interface TokenHealth {
  /** Notes how a call with the token ended. */
  note(outcome: string): void;
  /** Asks Slack. @returns the code with which it refuses the token; undefined while it takes it */
  check(): Promise<string | undefined>;
}

/** A check waits no longer for Slack. Where it takes longer, the latest call decides. */
const MAX_CHECK_MS = 1_000;

/** @param ask any call with the token, whose outcome is noted like that of all others */
export function createTokenHealth(ask: () => Promise<unknown>, log: Log): TokenHealth {
  let refusal: string | undefined;
  /** The question under way: however many check at a time, Slack is asked once. */
  let asked: Promise<unknown> | undefined;
  return {
    note(outcome) {
      if (isInvalidTokenCode(outcome)) {
        if (refusal === undefined)
          log.error(
            { code: outcome },
            'Slack refuses SLACK_BOT_TOKEN: reinstall the app, set its bot token and restart. Orders are kept; messages wait for a valid token',
          );
        refusal = outcome;
      } else if (outcome === 'ok' && refusal !== undefined) {
        refusal = undefined;
        log.info('Slack accepts SLACK_BOT_TOKEN again');
      }
    },
    async check() {
      asked ??= ask()
        .catch(() => undefined)
        .finally(() => {
          asked = undefined;
        });
      await Promise.race([asked, sleep(MAX_CHECK_MS, undefined, { ref: false })]);
      return refusal;
    },
  };
}
