import { setTimeout as sleep } from 'node:timers/promises';
import { SlackApiError } from './web.ts';

/** Slack takes a trigger for 3 s from what the person did; some of that passes on the way here and back. */
const TRIGGER_MS = 2_700;

/**
 * Makes a call that spends a trigger. Where Slack limits it, it is made again as soon as Slack allows, while the trigger
 * lives.
 * @param arrivedAt when the delivery with the trigger arrived, in milliseconds of `performance.now`
 */
export async function withinTrigger<T>(arrivedAt: number, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof SlackApiError) || error.retryAfterMs === undefined) throw error;
      if (performance.now() + error.retryAfterMs > arrivedAt + TRIGGER_MS) throw error;
      await sleep(error.retryAfterMs);
    }
  }
}
