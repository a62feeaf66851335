import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../lib/log.ts';
import { type Acknowledgement, createAcknowledgement } from './acknowledgement.ts';

/** Tracks all work on deliveries that is under way, so that shutdown waits for it and no error is lost. */
export interface WorkTracker {
  /** @returns when the work is over; never rejects */
  track(activity: string, run: () => Promise<void>): Promise<void>;
  /**
   * Works on a delivery and acknowledges it when all its changes are committed: before it says something, at its end,
   * or when that takes too long. The caller does not wait for it, because Bolt's objects for the delivery would be kept
   * until the work is done.
   */
  runInBackground(
    activity: string,
    ack: () => Promise<void>,
    run: (acknowledgement: Acknowledgement) => Promise<void>,
  ): void;
  /** Waits for what is under way at this moment, at most this many milliseconds. */
  settled(timeoutMs: number): Promise<unknown>;
  /** Waits until nothing is under way. @returns false when `timeoutMs` was not enough */
  drained(timeoutMs: number): Promise<boolean>;
}

export function createWorkTracker(log: Log): WorkTracker {
  const underWay = new Set<Promise<void>>();

  function track(activity: string, run: () => Promise<void>): Promise<void> {
    const work: Promise<void> = run()
      .catch((err: unknown) => log.error({ err, activity }, 'answering Slack'))
      .finally(() => underWay.delete(work));
    underWay.add(work);
    return work;
  }

  return {
    track,
    runInBackground(activity, ack, run) {
      const acknowledgement = createAcknowledgement(ack, log);
      void track(activity, () => run(acknowledgement).finally(acknowledgement.give));
    },
    settled: (timeoutMs) =>
      Promise.race([Promise.allSettled(underWay), sleep(timeoutMs, undefined, { ref: false })]),
    drained(timeoutMs) {
      const waitForAll = async () => {
        while (underWay.size > 0) await Promise.allSettled(underWay);
        return true;
      };
      return Promise.race([waitForAll(), sleep(timeoutMs, false, { ref: false })]);
    },
  };
}
