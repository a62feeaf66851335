import { DAY_MS, HOUR_MS, MINUTE_MS } from '../lib/duration.ts';
import { findNextItems, isPaused } from './bulk/waves.ts';
import {
  findUndoDeadline,
  type Order,
  type OrderItem,
  type OrderState,
  PUBLIC_RECORD_TASKS,
  UNDO_HOURS,
  WATCH_LIST_TASKS,
} from './order.ts';
import type { DueLane } from './ports.ts';
import { getOrderTask } from './tasks.ts';

/**
 * Computes when an order is due next, and when people are notified. Pure. The store saves both times
 * whenever an order changes.
 */

export const STATES_BY_DUE_LANE: Readonly<Record<DueLane, readonly OrderState[]>> = {
  deadlines: ['PENDING', 'EXECUTING'],
  execution: ['APPROVED'],
  observation: ['SUCCEEDED', 'FAILED', 'UNKNOWN'],
};

/** For this long, public records are checked every 5 minutes because people are waiting; afterwards, hourly. */
const FREQUENT_LOOKUP_PERIOD_MS = HOUR_MS;
const FREQUENT_LOOKUP_INTERVAL_MS = 5 * MINUTE_MS;
const LATER_LOOKUP_INTERVAL_MS = HOUR_MS;
/** After this, public records are no longer checked for an unknown outcome, and a person must settle the order. */
const EVIDENCE_LOOKUP_PERIOD_MS = 3 * DAY_MS;
/** After this, the registry is no longer checked for the completion of an accepted task. */
const CONFIRMATION_LOOKUP_PERIOD_MS = 30 * DAY_MS;
/** The delay before Slack shows an order as running. Most orders end sooner. */
const RUNNING_NOTICE_DELAY_MS = 1_000;
/** A bulk order changes constantly, so its card is updated less often. */
const BULK_NOTICE_DELAY_MS = 3_000;
/** The delay before Slack shows an order as approved. Usually, a worker claims it sooner. */
const APPROVED_NOTICE_DELAY_MS = 3_000;

/**
 * The next time when the bot must send, retry, expire or look up an order, remind approvers, take over from a dead
 * worker, or update the watch list; undefined if never.
 */
export function computeDueTime(order: Order, now: Date): Date | undefined {
  switch (order.state) {
    case 'DRAFT':
      return undefined;
    case 'PENDING':
      return findEarliest([order.remindAt, order.escalateAt, order.expiresAt]);
    case 'APPROVED':
      // A paused order waits for a person.
      if (isPaused(order)) return order.expiresAt;
      return (
        findEarliest(findNextItems(order).map(({ notBefore }) => notBefore ?? order.sendAfter ?? now)) ?? now
      );
    case 'EXECUTING':
      // While the order's worker is alive, its lease keeps other workers away.
      return now;
    default:
      if (order.task === 'mandate') return findEarliest([order.remindAt, order.expiresAt]);
      return findItemsPendingWatchListUpdate(order).length > 0
        ? now
        : findEarliest([
            ...findUnknownItems(order).map(({ sentAt }) =>
              computeNextLookup(sentAt, EVIDENCE_LOOKUP_PERIOD_MS, now),
            ),
            ...findUnconfirmedItems(order).map(({ answeredAt }) =>
              computeNextLookup(answeredAt, CONFIRMATION_LOOKUP_PERIOD_MS, now),
            ),
            ...findDelegationItems(order).map((item) =>
              computeNextDelegationCheck(findUndoDeadline(order, item), now),
            ),
          ]);
  }
}

/** When people are notified of an order's state. Undefined for a draft, which only its requester sees. */
export function computeNotificationTime(order: Order, now: Date): Date | undefined {
  if (order.state === 'DRAFT') return undefined;
  if (order.state === 'EXECUTING')
    return new Date(
      now.getTime() + (order.bulk === undefined ? RUNNING_NOTICE_DELAY_MS : BULK_NOTICE_DELAY_MS),
    );
  const hasNoAttempts = order.items.every(({ attempts }) => attempts === 0);
  const isScheduled = order.sendAfter !== undefined && order.sendAfter > now;
  const willStartSoon =
    order.state === 'APPROVED' && order.approvals.length > 0 && hasNoAttempts && !isScheduled;
  return willStartSoon ? new Date(now.getTime() + APPROVED_NOTICE_DELAY_MS) : now;
}

/** Successful items whose watch list update is pending. */
export function findItemsPendingWatchListUpdate({ task, items }: Order): readonly OrderItem[] {
  return WATCH_LIST_TASKS.includes(task)
    ? items.filter(({ state, isWatchListUpdated }) => state === 'SUCCEEDED' && !isWatchListUpdated)
    : [];
}

/** Items with an unknown outcome, if public records can show it. */
export function findUnknownItems({ task, state, items }: Order): readonly OrderItem[] {
  return state === 'UNKNOWN' && PUBLIC_RECORD_TASKS.has(task)
    ? items.filter((item) => item.state === 'UNKNOWN' && item.sentAt !== undefined)
    : [];
}

/** Items that the service has accepted but the registry doesn't show as done yet. */
export function findUnconfirmedItems({ task, state, items }: Order): readonly OrderItem[] {
  return state === 'SUCCEEDED' && getOrderTask(task).nextStep !== undefined
    ? items.filter(
        (item) =>
          item.state === 'SUCCEEDED' &&
          item.answeredAt !== undefined &&
          item.result?.confirmedByRegistry !== true,
      )
    : [];
}

/** Items whose new nameservers are still being checked. */
export function findDelegationItems(order: Order): readonly OrderItem[] {
  return order.state === 'SUCCEEDED'
    ? order.items.filter((item) => findUndoDeadline(order, item) !== undefined)
    : [];
}

/** The last check is at the deadline, when the undo button is removed. */
function computeNextDelegationCheck(endsAt: Date | undefined, now: Date): Date | undefined {
  if (endsAt === undefined || endsAt <= now) return undefined;
  const durationMs = UNDO_HOURS * HOUR_MS;
  return findEarliest([computeNextLookup(new Date(endsAt.getTime() - durationMs), durationMs, now), endsAt]);
}

function computeNextLookup(startedAt: Date | undefined, durationMs: number, now: Date): Date | undefined {
  if (startedAt === undefined) return undefined;
  const ageMs = now.getTime() - startedAt.getTime();
  if (ageMs > durationMs) return undefined;
  return new Date(
    now.getTime() +
      (ageMs < FREQUENT_LOOKUP_PERIOD_MS ? FREQUENT_LOOKUP_INTERVAL_MS : LATER_LOOKUP_INTERVAL_MS),
  );
}

function findEarliest(times: readonly (Date | undefined)[]): Date | undefined {
  return times.filter((time) => time !== undefined).sort((a, b) => a.getTime() - b.getTime())[0];
}
