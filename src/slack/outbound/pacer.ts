import { MINUTE_MS } from '../../lib/duration.ts';

/**
 * - `urgent`: a person acted or was asked.
 * - `background`: keeps messages up to date.
 */
export type Urgency = 'urgent' | 'background';

/** Keeps calls within Slack's rate limits. One for each workspace and process. */
export interface Pacer {
  /**
   * Starts a call if it is allowed now.
   * @returns 0, or the milliseconds to wait
   */
  tryStart(method: string, channel: string | undefined, urgency: Urgency): number;
  recordRefusal(method: string, channel: string | undefined, retryAfterMs: number): void;
  hasCapacity(method: string): boolean;
}

interface Tier {
  readonly calls: number;
  readonly perMs: number;
  readonly isPerChannel?: true;
}

/**
 * Methods that keep messages up to date, with the minimum that Slack guarantees
 * (https://docs.slack.dev/apis/web-api/rate-limits). The callers of other methods handle limits themselves.
 */
const TIERS: Readonly<Record<string, Tier>> = {
  'chat.postMessage': { calls: 1, perMs: 1_000, isPerChannel: true },
  'chat.update': { calls: 50, perMs: MINUTE_MS },
};

/** Share of a tier for background calls. The rest is for people. */
const BACKGROUND_SHARE = 0.5;
/** After a refusal, calls are spaced evenly for the period of their tier, but at least for this long. */
const MIN_RECOVERY_MS = 10_000;
/** Each consecutive refusal doubles the spacing of background calls, at most this many times. */
const MAX_DOUBLINGS = 5;
/** Above this number, the oldest channels are forgotten. */
const MAX_STATES = 1_000;

const NEVER = Number.NEGATIVE_INFINITY;

interface State {
  readonly tier: Tier;
  sent: readonly number[];
  blockedUntil: number;
  recoveredAt: number;
  refusals: number;
}

/** @param clock in milliseconds */
export function createPacer(clock: () => number = () => performance.now()): Pacer {
  const states = new Map<string, State>();
  let latest = NEVER;
  const now = () => {
    const at = clock();
    // The clock was set back, so no stored time is valid.
    if (at < latest) states.clear();
    latest = at;
    return at;
  };

  function findState(method: string, channel: string | undefined): State | undefined {
    const tier = Object.hasOwn(TIERS, method) ? TIERS[method] : undefined;
    if (tier === undefined) return undefined;
    const key = tier.isPerChannel ? `${method} ${channel}` : method;
    const known = states.get(key);
    if (known !== undefined) return known;
    const [oldest] = states.keys();
    if (states.size >= MAX_STATES && oldest !== undefined) states.delete(oldest);
    const state: State = { tier, sent: [], blockedUntil: NEVER, recoveredAt: NEVER, refusals: 0 };
    states.set(key, state);
    return state;
  }

  return {
    tryStart(method, channel, urgency) {
      const at = now();
      const state = findState(method, channel);
      if (state === undefined) return 0;
      const waitMs = callDelay(state, at, urgency);
      if (waitMs > 0) return waitMs;
      state.sent = [...state.sent.filter((sentAt) => sentAt > at - state.tier.perMs), at];
      return 0;
    },
    recordRefusal(method, channel, retryAfterMs) {
      const at = now();
      const state = findState(method, channel);
      if (state === undefined) return;
      // Concurrent refusals count as one.
      if (at >= state.blockedUntil) state.refusals = at < state.recoveredAt ? state.refusals + 1 : 1;
      state.blockedUntil = Math.max(state.blockedUntil, at + retryAfterMs);
      state.recoveredAt = state.blockedUntil + Math.max(state.tier.perMs, MIN_RECOVERY_MS);
    },
    hasCapacity(method) {
      const at = now();
      const state = findState(method, undefined);
      return state === undefined || callDelay(state, at, 'background') <= 0;
    },
  };
}

/** The delay of a call. Urgent calls are delayed only after a refusal. */
function callDelay({ tier, sent, blockedUntil, recoveredAt, refusals }: State, at: number, urgency: Urgency) {
  if (at < blockedUntil) return blockedUntil - at;
  const { calls, perMs } = tier;
  if (at < recoveredAt) {
    const factor = urgency === 'urgent' ? 1 : 2 ** Math.min(refusals, MAX_DOUBLINGS);
    return (sent.at(-1) ?? NEVER) + (perMs / calls) * factor - at;
  }
  if (urgency === 'urgent') return 0;
  const share = Math.max(1, Math.floor(calls * BACKGROUND_SHARE));
  return (sent.at(-share) ?? NEVER) + perMs - at;
}
