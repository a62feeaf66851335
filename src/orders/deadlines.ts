import { DAY_MS, MINUTE_MS } from '../lib/duration.ts';
import type { Requirements } from '../policy/evaluate.ts';

/** Deadlines of a pending order: reminder, escalation, expiry. Pure. */

/** Shortest wait before a reminder for a name that expires soon. */
const SHORTEST_WAIT_MS = 15 * MINUTE_MS;
const SOON_MS = 7 * DAY_MS;
const VERY_SOON_MS = 2 * DAY_MS;

export interface PendingDeadlines {
  readonly expiresAt: Date;
  readonly remindAt: Date;
  readonly escalateAt: Date;
}

/** Waits of an order, in milliseconds. */
export type Waits = Pick<Requirements, 'ttlMs' | 'remindAfterMs' | 'escalateAfterMs'>;

/**
 * The deadlines of an order that becomes pending now.
 * @param firstExpiry earliest known expiry of its names
 * @param time when it will be sent; it must be approved before, unless it was reopened then
 */
export function pendingDeadlines(waits: Waits, now: Date, firstExpiry?: Date, time?: Date): PendingDeadlines {
  const after = (ms: number) => new Date(now.getTime() + ms);
  const sent = time !== undefined && time > now ? time : undefined;
  const soonest =
    sent !== undefined && (firstExpiry === undefined || sent < firstExpiry) ? sent : firstExpiry;
  const end = after(waits.ttlMs);
  return {
    expiresAt: sent !== undefined && sent < end ? sent : end,
    remindAt: after(shortenedWait(waits.remindAfterMs, now, soonest)),
    escalateAt: after(shortenedWait(waits.escalateAfterMs, now, soonest)),
  };
}

/** Half of a wait if the name expires within 7 days, a quarter within 2, but at least 15 minutes. */
export function shortenedWait(waitMs: number, now: Date, expiry: Date | undefined): number {
  if (expiry === undefined) return waitMs;
  const leftMs = expiry.getTime() - now.getTime();
  const share = leftMs <= VERY_SOON_MS ? 4 : leftMs <= SOON_MS ? 2 : 1;
  return Math.max(waitMs / share, Math.min(waitMs, SHORTEST_WAIT_MS));
}
