import { setTimeout as delay } from 'node:timers/promises';

/** A host has said that it takes no requests for a while. */
export class HostBusyError extends Error {
  override readonly name = 'HostBusyError';
  /** The rest of that while, in milliseconds. */
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    super('the server asked to wait');
    this.retryAfterMs = retryAfterMs;
  }
}

/** How gently a host is asked. */
export interface HostRateLimiterOptions {
  /** Requests under way at once. */
  readonly atOnce: number;
  /** Least time between two starts, milliseconds. */
  readonly spacingMs: number;
  readonly now: () => Date;
}

/** Lets requests to one host through: few at once, spaced, none while the host asked to wait. */
export class HostRateLimiter {
  readonly #options: HostRateLimiterOptions;
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;
  #nextStart = 0;
  #closedUntil = 0;

  constructor(options: HostRateLimiterOptions) {
    this.#options = options;
  }

  /** No request goes out for this long, those that wait already included. */
  closeFor(ms: number): void {
    this.#closedUntil = Math.max(this.#closedUntil, this.#options.now().getTime() + ms);
  }

  /**
   * Runs a request when its turn comes.
   * @throws HostBusyError instead of waiting while the host is closed; the signal's reason when it is aborted.
   */
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
    // A request that ends hands its place over, so the place stays counted.
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
