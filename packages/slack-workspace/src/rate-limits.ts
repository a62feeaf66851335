import { MAX_CALLS_PER_MINUTE } from './limits.ts';

const MINUTE_MS = 60_000;

/** Limits the calls of each method per minute by Slack's tiers (docs.slack.dev, rate limits). Off by default. */
export class RateLimits {
  enabled = false;
  readonly #now: () => number;
  readonly #callTimes = new Map<string, number[]>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Counts a call.
   * @returns the seconds until a retry is allowed; undefined if the call is within the limit
   */
  take(method: string): number | undefined {
    const limit = Object.hasOwn(MAX_CALLS_PER_MINUTE, method) ? MAX_CALLS_PER_MINUTE[method] : undefined;
    if (!this.enabled || limit === undefined) return undefined;
    const now = this.#now();
    const recentCallTimes = (this.#callTimes.get(method) ?? []).filter(
      (calledAt) => calledAt > now - MINUTE_MS && calledAt <= now,
    );
    const [oldestCallTime] = recentCallTimes;
    if (oldestCallTime !== undefined && recentCallTimes.length >= limit)
      return Math.max(Math.ceil((oldestCallTime + MINUTE_MS - now) / 1_000), 1);
    this.#callTimes.set(method, [...recentCallTimes, now]);
    return undefined;
  }
}
