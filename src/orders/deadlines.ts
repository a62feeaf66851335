import { DAY_MS, MINUTE_MS } from '../lib/duration.ts';
import type { Requirements } from '../policy/evaluate.ts';

/** Deadlines of a pending order: reminder, escalation, expiry. Pure. */

/** Waits are not shortened below this, however soon a name expires. */
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
 * @param firstExpiry the earliest known expiry of the order's names
 * @param sendAt the scheduled send time, by which the order must be approved. Ignored unless in the future
 */
export function computeDeadlines(
  waits: ApprovalWaits,
  now: Date,
  firstExpiry?: Date,
  sendAt?: Date,
): PendingDeadlines {
  const addToNow = (ms: number) => new Date(now.getTime() + ms);
  const futureSendTime = sendAt !== undefined && sendAt > now ? sendAt : undefined;
  const nextEventAt =
    futureSendTime !== undefined && (firstExpiry === undefined || futureSendTime < firstExpiry)
      ? futureSendTime
      : firstExpiry;
  const ttlEnd = addToNow(waits.ttlMs);
  return {
    expiresAt: futureSendTime !== undefined && futureSendTime < ttlEnd ? futureSendTime : ttlEnd,
    remindAt: addToNow(shortenWait(waits.remindAfterMs, now, nextEventAt)),
    escalateAt: addToNow(shortenWait(waits.escalateAfterMs, now, nextEventAt)),
  };
}

/** Halves the wait if the event is within 7 days, quarters it within 2 days, but keeps at least 15 minutes. */
export function shortenWait(waitMs: number, now: Date, nextEventAt: Date | undefined): number {
  if (nextEventAt === undefined) return waitMs;
  const remainingMs = nextEventAt.getTime() - now.getTime();
  const divisor = remainingMs <= VERY_SOON_MS ? 4 : remainingMs <= SOON_MS ? 2 : 1;
  return Math.max(waitMs / divisor, Math.min(waitMs, MIN_WAIT_MS));
}
