import { MINUTE_MS } from '../../lib/duration.ts';

/**
 * - `urgent`: the call responds to a person or asks for a response.
 * - `background`: the call keeps a message up to date.
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
  readonly maxCalls: number;
  readonly periodMs: number;
  readonly isPerChannel?: true;
}

/**
 * Slack's guaranteed minimum for the methods that keep messages up to date
 * (https://docs.slack.dev/apis/web-api/rate-limits). Callers of other methods handle limits themselves.
 */
const TIERS: Readonly<Record<string, Tier>> = {
  'chat.postMessage': { maxCalls: 1, periodMs: 1_000, isPerChannel: true },
  'chat.update': { maxCalls: 50, periodMs: MINUTE_MS },
};

/** The share of a tier that background calls may use. */
const BACKGROUND_SHARE = 0.5;
/** After a refusal, calls are spaced evenly for the period of their tier, but at least for this long. */
const MIN_RECOVERY_MS = 10_000;
/** Each consecutive refusal doubles the spacing of background calls, at most this many times. */
const MAX_DOUBLINGS = 5;
/** Above this number, the oldest states are dropped. */
const MAX_STATES = 1_000;

const NEVER = Number.NEGATIVE_INFINITY;

interface MethodState {
  readonly tier: Tier;
  sentTimes: readonly number[];
  blockedUntil: number;
  recoveryEndsAt: number;
  refusalCount: number;
}

/** @param clock in milliseconds */
export function createPacer(clock: () => number = () => performance.now()): Pacer {
  const states = new Map<string, MethodState>();
  let lastTime = NEVER;
  const readClock = () => {
    const now = clock();
    // If the clock was set back, no stored time is valid.
    if (now < lastTime) states.clear();
    lastTime = now;
    return now;
  };

  function getOrCreateState(method: string, channel: string | undefined): MethodState | undefined {
    const tier = Object.hasOwn(TIERS, method) ? TIERS[method] : undefined;
    if (tier === undefined) return undefined;
    const key = tier.isPerChannel ? `${method} ${channel}` : method;
    const existing = states.get(key);
    if (existing !== undefined) return existing;
    const [oldest] = states.keys();
    if (states.size >= MAX_STATES && oldest !== undefined) states.delete(oldest);
    const state: MethodState = {
      tier,
      sentTimes: [],
      blockedUntil: NEVER,
      recoveryEndsAt: NEVER,
      refusalCount: 0,
    };
    states.set(key, state);
    return state;
  }

  return {
    tryStart(method, channel, urgency) {
      const now = readClock();
      const state = getOrCreateState(method, channel);
      if (state === undefined) return 0;
      const waitMs = computeCallDelay(state, now, urgency);
      if (waitMs > 0) return waitMs;
      state.sentTimes = [...state.sentTimes.filter((sentAt) => sentAt > now - state.tier.periodMs), now];
      return 0;
    },
    recordRefusal(method, channel, retryAfterMs) {
      const now = readClock();
      const state = getOrCreateState(method, channel);
      if (state === undefined) return;
      // Concurrent refusals count as one.
      if (now >= state.blockedUntil)
        state.refusalCount = now < state.recoveryEndsAt ? state.refusalCount + 1 : 1;
      state.blockedUntil = Math.max(state.blockedUntil, now + retryAfterMs);
      state.recoveryEndsAt = state.blockedUntil + Math.max(state.tier.periodMs, MIN_RECOVERY_MS);
    },
    hasCapacity(method) {
      const now = readClock();
      const state = getOrCreateState(method, undefined);
      return state === undefined || computeCallDelay(state, now, 'background') <= 0;
    },
  };
}

/** Urgent calls are delayed only after a refusal. */
function computeCallDelay(state: MethodState, now: number, urgency: Urgency): number {
  const { tier, sentTimes, blockedUntil, recoveryEndsAt, refusalCount } = state;
  if (now < blockedUntil) return blockedUntil - now;
  const { maxCalls, periodMs } = tier;
  if (now < recoveryEndsAt) {
    const spacingFactor = urgency === 'urgent' ? 1 : 2 ** Math.min(refusalCount, MAX_DOUBLINGS);
    return (sentTimes.at(-1) ?? NEVER) + (periodMs / maxCalls) * spacingFactor - now;
  }
  if (urgency === 'urgent') return 0;
  const maxBackgroundCalls = Math.max(1, Math.floor(maxCalls * BACKGROUND_SHARE));
  return (sentTimes.at(-maxBackgroundCalls) ?? NEVER) + periodMs - now;
}
