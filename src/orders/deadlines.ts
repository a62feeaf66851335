import { DAY_MS, MINUTE_MS } from '../lib/duration.ts';
import type { Requirements } from '../policy/evaluate.ts';

/** Deadlines of a pending order: reminder, escalation, expiry. Pure. */

/** Shortest wait before a reminder for a name that expires soon. */
const MIN_WAIT_MS = 15 * MINUTE_MS;
const SOON_MS = 7 * DAY_MS;
const VERY_SOON_MS = 2 * DAY_MS;

export interface PendingDeadlines {
  readonly expiresAt: Date;
  readonly remindAt: Date;
  readonly escalateAt: Date;
}

/** How long an order waits before each deadline, in milliseconds. */
export type ApprovalWaits = Pick<Requirements, 'ttlMs' | 'remindAfterMs' | 'escalateAfterMs'>;

/**
 * The deadlines of an order that becomes pending now.
 * @param firstExpiry earliest known expiry of its names
 * @param sendAt when the order will be sent. Approval is needed before that time, unless the order was reopened then
 */
export function computeDeadlines(
  waits: ApprovalWaits,
  now: Date,
  firstExpiry?: Date,
  sendAt?: Date,
): PendingDeadlines {
  const after = (ms: number) => new Date(now.getTime() + ms);
  const futureSendAt = sendAt !== undefined && sendAt > now ? sendAt : undefined;
  const soonest =
    futureSendAt !== undefined && (firstExpiry === undefined || futureSendAt < firstExpiry)
      ? futureSendAt
      : firstExpiry;
  const end = after(waits.ttlMs);
  return {
    expiresAt: futureSendAt !== undefined && futureSendAt < end ? futureSendAt : end,
    remindAt: after(shortenWait(waits.remindAfterMs, now, soonest)),
    escalateAt: after(shortenWait(waits.escalateAfterMs, now, soonest)),
  };
}

/** Half of a wait if the name expires within 7 days, a quarter within 2, but at least 15 minutes. */
export function shortenWait(waitMs: number, now: Date, expiry: Date | undefined): number {
  if (expiry === undefined) return waitMs;
  const leftMs = expiry.getTime() - now.getTime();
  const divisor = leftMs <= VERY_SOON_MS ? 4 : leftMs <= SOON_MS ? 2 : 1;
  return Math.max(waitMs / divisor, Math.min(waitMs, MIN_WAIT_MS));
}
