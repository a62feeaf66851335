import { DAY_MS, MINUTE_MS } from '../lib/duration.ts';
import type { Requirements } from '../policy/evaluate.ts';

/** Deadlines of a pending order: reminder, escalation, expiry. Pure. */

/** The shortest wait before a reminder or an escalation, however soon the name expires. */
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
 * @param sendAt when the order will be sent. Approval is needed by then, unless the order was reopened at that time
 */
export function computeDeadlines(
  waits: ApprovalWaits,
  now: Date,
  firstExpiry?: Date,
  sendAt?: Date,
): PendingDeadlines {
  const addToNow = (ms: number) => new Date(now.getTime() + ms);
  const futureSendAt = sendAt !== undefined && sendAt > now ? sendAt : undefined;
  const nextEvent =
    futureSendAt !== undefined && (firstExpiry === undefined || futureSendAt < firstExpiry)
      ? futureSendAt
      : firstExpiry;
  const ttlEnd = addToNow(waits.ttlMs);
  return {
    expiresAt: futureSendAt !== undefined && futureSendAt < ttlEnd ? futureSendAt : ttlEnd,
    remindAt: addToNow(shortenWait(waits.remindAfterMs, now, nextEvent)),
    escalateAt: addToNow(shortenWait(waits.escalateAfterMs, now, nextEvent)),
  };
}

/** Half of the wait if the name expires within 7 days, a quarter within 2 days, but at least 15 minutes. */
export function shortenWait(waitMs: number, now: Date, expiry: Date | undefined): number {
  if (expiry === undefined) return waitMs;
  const leftMs = expiry.getTime() - now.getTime();
  const divisor = leftMs <= VERY_SOON_MS ? 4 : leftMs <= SOON_MS ? 2 : 1;
  return Math.max(waitMs / divisor, Math.min(waitMs, MIN_WAIT_MS));
}
