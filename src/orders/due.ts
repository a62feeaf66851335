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
import { findTask } from './tasks.ts';

/**
 * Computes when an order is due next, and when people are notified. Pure. The store saves both times with every change
 * of an order.
 */

/** The states of the orders in each lane. */
export const DUE_LANES: Readonly<Record<DueLane, readonly OrderState[]>> = {
  deadlines: ['PENDING', 'EXECUTING'],
  execution: ['APPROVED'],
  observation: ['SUCCEEDED', 'FAILED', 'UNKNOWN'],
};

/** Public records are checked every 5 minutes for this long, while people wait, and hourly afterwards. */
const FREQUENT_LOOKUPS_MS = HOUR_MS;
const FREQUENT_INTERVAL_MS = 5 * MINUTE_MS;
const LATER_INTERVAL_MS = HOUR_MS;
/** After this, public records are no longer checked for an unknown outcome, and a person must settle the order. */
const MAX_EVIDENCE_AGE_MS = 3 * DAY_MS;
/** After this, the registry is no longer checked for the completion of an accepted task. */
const MAX_CONFIRMATION_AGE_MS = 30 * DAY_MS;
/** The delay before Slack shows an order as running. Most orders end sooner. */
const RUNNING_NOTICE_DELAY_MS = 1_000;
/** A bulk order changes constantly, so its card is updated less often. */
const BULK_NOTICE_DELAY_MS = 3_000;
/** The delay before Slack shows an order as approved. Usually, a worker claims it sooner. */
const APPROVED_NOTICE_DELAY_MS = 3_000;

/**
 * The next time when the bot must send, retry, expire or look up an order, remind approvers, take over from a dead
 * worker, or update the watch list; undefined if never.
 * @param at the time of the change or lookup that causes this state
 */
export function computeDueTime(order: Order, at: Date): Date | undefined {
  switch (order.state) {
    case 'DRAFT':
      return undefined;
    case 'PENDING':
      return findEarliest([order.remindAt, order.escalateAt, order.expiresAt]);
    case 'APPROVED':
      // A paused order waits for a person.
      if (isPaused(order)) return order.expiresAt;
      return (
        findEarliest(findNextItems(order).map(({ notBefore }) => notBefore ?? order.sendAfter ?? at)) ?? at
      );
    case 'EXECUTING':
      // While the order's worker is alive, its lease keeps other workers away.
      return at;
    default:
      if (order.task === 'mandate') return findEarliest([order.remindAt, order.expiresAt]);
      return findItemsForWatchList(order).length > 0
        ? at
        : findEarliest([
            ...findUnknownItems(order).map(({ sentAt }) =>
              computeNextLookup(sentAt, MAX_EVIDENCE_AGE_MS, at),
            ),
            ...findUnconfirmedItems(order).map(({ answeredAt }) =>
              computeNextLookup(answeredAt, MAX_CONFIRMATION_AGE_MS, at),
            ),
            ...findDelegationItems(order).map((item) =>
              computeNextDelegationCheck(findUndoDeadline(order, item), at),
            ),
          ]);
  }
}

/**
 * When people are notified of an order's state. Undefined for a draft, which only its requester sees.
 * @param at the time of the change that causes this state
 */
export function computeNotificationTime(order: Order, at: Date): Date | undefined {
  if (order.state === 'DRAFT') return undefined;
  if (order.state === 'EXECUTING')
    return new Date(
      at.getTime() + (order.bulk === undefined ? RUNNING_NOTICE_DELAY_MS : BULK_NOTICE_DELAY_MS),
    );
  const isUntried = order.items.every(({ attempts }) => attempts === 0);
  const isScheduled = order.sendAfter !== undefined && order.sendAfter > at;
  const startsSoon = order.state === 'APPROVED' && order.approvals.length > 0 && isUntried && !isScheduled;
  return startsSoon ? new Date(at.getTime() + APPROVED_NOTICE_DELAY_MS) : at;
}

/** Successful items whose watch list update is missing. */
export function findItemsForWatchList({ task, items }: Order): readonly OrderItem[] {
  return WATCH_LIST_TASKS.includes(task)
    ? items.filter(({ state, isWatchListUpdated }) => state === 'SUCCEEDED' && !isWatchListUpdated)
    : [];
}

/** Items with an unknown outcome that public records may show. */
export function findUnknownItems({ task, state, items }: Order): readonly OrderItem[] {
  return state === 'UNKNOWN' && PUBLIC_RECORD_TASKS.has(task)
    ? items.filter((item) => item.state === 'UNKNOWN' && item.sentAt !== undefined)
    : [];
}

/** Items that the service has accepted but the registry doesn't show as done yet. */
export function findUnconfirmedItems({ task, state, items }: Order): readonly OrderItem[] {
  return state === 'SUCCEEDED' && findTask(task).nextStep !== undefined
    ? items.filter(
        (item) =>
          item.state === 'SUCCEEDED' &&
          item.answeredAt !== undefined &&
          item.result?.confirmedByRegistry !== true,
      )
    : [];
}

/** Items whose new nameservers are still checked. */
export function findDelegationItems(order: Order): readonly OrderItem[] {
  return order.state === 'SUCCEEDED'
    ? order.items.filter((item) => findUndoDeadline(order, item) !== undefined)
    : [];
}

/** The last check is at the deadline, when the undo button is removed. */
function computeNextDelegationCheck(endsAt: Date | undefined, at: Date): Date | undefined {
  if (endsAt === undefined || endsAt <= at) return undefined;
  const durationMs = UNDO_HOURS * HOUR_MS;
  return findEarliest([computeNextLookup(new Date(endsAt.getTime() - durationMs), durationMs, at), endsAt]);
}

function computeNextLookup(startedAt: Date | undefined, durationMs: number, at: Date): Date | undefined {
  if (startedAt === undefined) return undefined;
  const ageMs = at.getTime() - startedAt.getTime();
  if (ageMs > durationMs) return undefined;
  return new Date(at.getTime() + (ageMs < FREQUENT_LOOKUPS_MS ? FREQUENT_INTERVAL_MS : LATER_INTERVAL_MS));
}

function findEarliest(times: readonly (Date | undefined)[]): Date | undefined {
  return times.filter((time) => time !== undefined).sort((a, b) => a.getTime() - b.getTime())[0];
}
