import { setTimeout as delay } from 'node:timers/promises';

export class HostBusyError extends Error {
  override readonly name = 'HostBusyError';
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    super('the server asked to wait');
    this.retryAfterMs = retryAfterMs;
  }
}

export interface HostRateLimiterOptions {
  readonly atOnce: number;
  readonly spacingMs: number;
  readonly now: () => Date;
}

/** Limits concurrency and rate per host, and pauses on the host's request. */
export class HostRateLimiter {
  readonly #options: HostRateLimiterOptions;
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;
  #nextStart = 0;
  #closedUntil = 0;

  constructor(options: HostRateLimiterOptions) {
    this.#options = options;
  }

  /** Also delays queued requests. */
  closeFor(ms: number): void {
    this.#closedUntil = Math.max(this.#closedUntil, this.#options.now().getTime() + ms);
  }

  /** @throws HostBusyError instead of waiting while the host is closed; the signal's reason when aborted. */
  async run<T>(request: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    this.#refuseWhileClosed();
    await this.#enter(signal);
    try {
      await this.#space(signal);
      this.#refuseWhileClosed();
      return await request();
    } finally {
      this.#leave();
    }
  }

  #refuseWhileClosed(): void {
    const left = this.#closedUntil - this.#options.now().getTime();
    if (left > 0) throw new HostBusyError(left);
  }

  async #enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#underWay < this.#options.atOnce) {
      this.#underWay += 1;
      return;
    }
    // The finished request passes its slot on, so the count doesn't change.
    await new Promise<void>((resolve, reject) => {
      const enter = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(signal?.reason);
      };
      this.#waiting.push(enter);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#underWay -= 1;
  }

  async #space(signal: AbortSignal | undefined): Promise<void> {
    const now = performance.now();
    const start = Math.max(now, this.#nextStart);
    this.#nextStart = start + this.#options.spacingMs;
    if (start > now) await delay(start - now, undefined, signal && { signal });
  }
}
