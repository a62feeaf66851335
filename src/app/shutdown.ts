import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../lib/log.ts';

/** How long running work may continue before it is aborted. The whole shutdown takes at most 10 s. */
const DRAIN_TIMEOUT_MS = 5_000;
const FINAL_NOTIFICATIONS_TIMEOUT_MS = 1_500;
const LAST_HEARTBEAT_TIMEOUT_MS = 1_000;

export interface Shutdown {
  /** Aborts requests to the service. */
  readonly sendingSignal: AbortSignal;
  /** Aborts lookups and digests, which can be resumed later. */
  readonly backgroundSignal: AbortSignal;
  /** Registers a part to close at the end. Parts are closed in reverse order. */
  onClose(close: () => Promise<void> | void): void;
  /** Closes the registered parts. Called directly only if the bot failed to start. */
  closeAll(): Promise<void>;
  /** Finishes running work, or leaves it in a state from which it can be resumed. */
  stop(components: RunningComponents): Promise<void>;
}

export interface RunningComponents {
  readonly heartbeat: { stopCleanly(): Promise<void> };
  readonly work: { stop(): void; idle(): Promise<void> };
  /** @returns false on timeout */
  readonly app: { stop(timeoutMs: number): Promise<boolean> };
}

export function createShutdown(log: Log): Shutdown {
  const closers: (() => Promise<void> | void)[] = [];
  const [sendingAbort, backgroundAbort] = [new AbortController(), new AbortController()];
  // Every running request listens to these signals.
  setMaxListeners(0, sendingAbort.signal, backgroundAbort.signal);
  const closeAll = async () => {
    for (const close of closers.splice(0).reverse()) {
      try {
        await close();
      } catch (err) {
        log.error({ err }, 'closing a component failed');
      }
    }
  };
  return {
    sendingSignal: sendingAbort.signal,
    backgroundSignal: backgroundAbort.signal,
    onClose: (close) => void closers.push(close),
    closeAll,
    async stop({ heartbeat, work, app }) {
      work.stop();
      backgroundAbort.abort();
      const idlePromise = work.idle().then(() => true);
      const drainResults = await Promise.all([
        app.stop(DRAIN_TIMEOUT_MS),
        Promise.race([idlePromise, sleep(DRAIN_TIMEOUT_MS, false, { ref: false })]),
      ]);
      // Aborts running requests. Sent items become `UNKNOWN`, and a person settles them.
      sendingAbort.abort();
      // Without a clean stop, the next start treats orders that may have been sent as unknown.
      if (
        !drainResults.includes(false) ||
        (await Promise.race([idlePromise, sleep(FINAL_NOTIFICATIONS_TIMEOUT_MS, false)]))
      ) {
        const lastHeartbeat = heartbeat
          .stopCleanly()
          .catch((err: unknown) => log.warn({ err }, 'reporting the shutdown failed'));
        await Promise.race([lastHeartbeat, sleep(LAST_HEARTBEAT_TIMEOUT_MS)]);
      }
      await closeAll();
      log.info('stopped');
    },
  };
}
