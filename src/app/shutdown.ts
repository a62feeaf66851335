import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../lib/log.ts';

/** Shutdown takes at most 10 s in all. Work under way gets this long; then its requests are aborted. */
const DRAIN_MS = 5_000;
const FINAL_NOTIFICATIONS_MS = 1_500;
const LAST_BEAT_MS = 1_000;

/** What ends the parts of a bot. */
export interface Shutdown {
  /** Aborts requests to the service. */
  readonly sending: AbortSignal;
  /** Aborts look-ups and digests, which are resumed later where they were left. */
  readonly looking: AbortSignal;
  /** Closes a part at the end. The parts that were added last are closed first. */
  onClose(close: () => Promise<void> | void): void;
  /** Closes what was built of a bot that does not start. */
  closeAll(): Promise<void>;
  /** Ends work under way, or leaves it where it can be resumed. */
  stop(running: Stoppable): Promise<void>;
}

/** A running bot. */
export interface Stoppable {
  readonly heartbeat: { stopCleanly(): Promise<void> };
  readonly work: { stop(): void; idle(): Promise<void> };
  /** @returns false when `timeoutMs` was not enough */
  readonly app: { stop(timeoutMs: number): Promise<boolean> };
}

export function createShutdown(log: Log): Shutdown {
  const closers: (() => Promise<void> | void)[] = [];
  const [stopSending, stopLooking] = [new AbortController(), new AbortController()];
  // Every request under way listens to these signals.
  setMaxListeners(0, stopSending.signal, stopLooking.signal);
  const closeAll = async () => {
    for (const close of closers.splice(0).reverse()) {
      try {
        await close();
      } catch (err) {
        log.error({ err }, 'closing a component');
      }
    }
  };
  return {
    sending: stopSending.signal,
    looking: stopLooking.signal,
    onClose: (close) => void closers.push(close),
    closeAll,
    async stop({ heartbeat, work, app }) {
      work.stop();
      stopLooking.abort();
      const idle = work.idle().then(() => true);
      const drained = await Promise.all([
        app.stop(DRAIN_MS),
        Promise.race([idle, sleep(DRAIN_MS, false, { ref: false })]),
      ]);
      // Requests that are still under way are aborted. What was sent becomes `UNKNOWN` and is settled by a person.
      stopSending.abort();
      // Without a clean stop the next start doubts orders that may still have been sent.
      if (!drained.includes(false) || (await Promise.race([idle, sleep(FINAL_NOTIFICATIONS_MS, false)]))) {
        const lastBeat = heartbeat
          .stopCleanly()
          .catch((err: unknown) => log.warn({ err }, 'reporting the shutdown'));
        await Promise.race([lastBeat, sleep(LAST_BEAT_MS)]);
      }
      await closeAll();
      log.info('stopped');
    },
  };
}
