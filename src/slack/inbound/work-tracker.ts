import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../lib/log.ts';
import { type Acknowledgement, createAcknowledgement } from './acknowledgement.ts';

/** Tracks pending deliveries, so that shutdown waits for them and no error is lost. */
export interface WorkTracker {
  /** @returns a promise that resolves when the work is done and never rejects */
  track(activity: string, run: () => Promise<void>): Promise<void>;
  /**
   * Handles a delivery and acknowledges it after its changes are committed: before the first reply, at the
   * end, or on timeout. Returns at once, because a waiting caller would keep Bolt's objects in memory.
   */
  runInBackground(
    activity: string,
    ack: () => Promise<void>,
    run: (acknowledgement: Acknowledgement) => Promise<void>,
  ): void;
  /** Waits for the currently pending work, but no longer than `timeoutMs`. */
  waitForCurrentWork(timeoutMs: number): Promise<unknown>;
  /**
   * Waits until no work is pending.
   * @returns false on timeout
   */
  waitUntilIdle(timeoutMs: number): Promise<boolean>;
}

export function createWorkTracker(log: Log): WorkTracker {
  const pendingWork = new Set<Promise<void>>();

  function track(activity: string, run: () => Promise<void>): Promise<void> {
    const work: Promise<void> = run()
      .catch((err: unknown) => log.error({ err, activity }, 'answering Slack failed'))
      .finally(() => pendingWork.delete(work));
    pendingWork.add(work);
    return work;
  }

  return {
    track,
    runInBackground(activity, ack, run) {
      const acknowledgement = createAcknowledgement(ack, log);
      void track(activity, () => run(acknowledgement).finally(acknowledgement.send));
    },
    waitForCurrentWork: (timeoutMs) =>
      Promise.race([Promise.allSettled(pendingWork), sleep(timeoutMs, undefined, { ref: false })]),
    waitUntilIdle(timeoutMs) {
      const waitForAll = async () => {
        while (pendingWork.size > 0) await Promise.allSettled(pendingWork);
        return true;
      };
      return Promise.race([waitForAll(), sleep(timeoutMs, false, { ref: false })]);
    },
  };
}
