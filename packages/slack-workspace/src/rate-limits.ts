import { TIERS } from './limits.ts';

const MINUTE_MS = 60_000;

/** Calls per method and minute, according to Slack's tiers (docs.slack.dev, rate limits). Off by default. */
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
    const limit = Object.hasOwn(TIERS, method) ? TIERS[method] : undefined;
    if (!this.enabled || limit === undefined) return undefined;
    const now = this.#now();
    const recent = (this.#callTimes.get(method) ?? []).filter((at) => at > now - MINUTE_MS && at <= now);
    const [oldest] = recent;
    if (oldest !== undefined && recent.length >= limit)
      return Math.max(Math.ceil((oldest + MINUTE_MS - now) / 1_000), 1);
    this.#callTimes.set(method, [...recent, now]);
    return undefined;
  }
}
