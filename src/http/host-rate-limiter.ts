import { setTimeout as delay } from 'node:timers/promises';

export class HostBusyError extends Error {
  override readonly name = 'HostBusyError';
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    super('the server asked the client to wait');
    this.retryAfterMs = retryAfterMs;
  }
}

export interface HostRateLimiterOptions {
  readonly maxConcurrent: number;
  readonly spacingMs: number;
  readonly now: () => Date;
}

/** Limits the concurrency and rate of requests to one host, and pauses them when the host asks for it. */
export class HostRateLimiter {
  readonly #options: HostRateLimiterOptions;
  readonly #queue: (() => void)[] = [];
  #runningCount = 0;
  #nextStart = 0;
  #pausedUntil = 0;

  constructor(options: HostRateLimiterOptions) {
    this.#options = options;
  }

  /** Queued requests also fail with {@link HostBusyError}. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#options.now().getTime() + ms);
  }

  /**
   * @throws {HostBusyError} instead of waiting while the host is paused
   * @throws the signal's reason when aborted
   */
  async run<T>(request: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    this.#throwIfPaused();
    await this.#acquireSlot(signal);
    try {
      await this.#waitForSpacing(signal);
      this.#throwIfPaused();
      return await request();
    } finally {
      this.#releaseSlot();
    }
  }

  #throwIfPaused(): void {
    const remainingMs = this.#pausedUntil - this.#options.now().getTime();
    if (remainingMs > 0) throw new HostBusyError(remainingMs);
  }

  async #acquireSlot(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#runningCount < this.#options.maxConcurrent) {
      this.#runningCount += 1;
      return;
    }
    // The finished request hands over its slot, so the count stays the same.
    await new Promise<void>((resolve, reject) => {
      const takeSlot = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#queue.splice(this.#queue.indexOf(takeSlot), 1);
        reject(signal?.reason);
      };
      this.#queue.push(takeSlot);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  #releaseSlot(): void {
    const resumeNext = this.#queue.shift();
    if (resumeNext) resumeNext();
    else this.#runningCount -= 1;
  }

  async #waitForSpacing(signal: AbortSignal | undefined): Promise<void> {
    const now = performance.now();
    const startTime = Math.max(now, this.#nextStart);
    this.#nextStart = startTime + this.#options.spacingMs;
    if (startTime > now) await delay(startTime - now, undefined, signal && { signal });
  }
}
