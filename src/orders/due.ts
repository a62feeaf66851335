import { DAY_MS, MINUTE_MS } from '../lib/duration.ts';
import { isPaused, nextItems } from './bulk/waves.ts';
import {
  FOLLOWED_TASKS,
  LOOKED_UP_TASKS,
  type Order,
  type OrderItem,
  type OrderState,
  UNDO_HOURS,
  undoableUntil,
} from './order.ts';
import type { DueLane } from './ports.ts';
import { findTask } from './tasks.ts';

/** When an order is due next. Pure: the store writes both times with every change of an order. */

/** The states of the orders in each lane. */
export const DUE_LANES: Readonly<Record<DueLane, readonly OrderState[]>> = {
  deadlines: ['PENDING', 'EXECUTING'],
  execution: ['APPROVED'],
  observation: ['SUCCEEDED', 'FAILED', 'UNKNOWN'],
};

/** Public records are checked often for this long, while people wait, then hourly. */
const OFTEN_MS = 60 * MINUTE_MS;
const OFTEN_EVERY_MS = 5 * MINUTE_MS;
const LATER_EVERY_MS = 60 * MINUTE_MS;
/** After this, an unknown outcome without records is left to people. */
const EVIDENCE_MS = 3 * DAY_MS;
/** After this, the completion of an accepted task is no longer checked. */
const CONFIRMATION_MS = 30 * DAY_MS;
/** Slack shows an order as running only after this long. Most outcomes are known before. */
const UNDER_WAY_MS = 1_000;
/** An order in waves changes all the time. */
const WAVES_UNDER_WAY_MS = 3_000;
/** Slack shows an order as approved if no worker has claimed it for this long. */
const APPROVED_MS = 3_000;

/**
 * When an order is due next: to be sent, retried, expired, reminded of, taken over from a dead worker, added to the
 * watch list, or looked up. Undefined: never.
 * @param at the time of the change or lookup that causes this state
 */
export function dueAt(order: Order, at: Date): Date | undefined {
  switch (order.state) {
    case 'DRAFT':
      return undefined;
    case 'PENDING':
      return earliest([order.remindAt, order.escalateAt, order.expiresAt]);
    case 'APPROVED':
      // It waits for a person.
      if (isPaused(order)) return order.expiresAt;
      return earliest(nextItems(order).map(({ notBefore }) => notBefore ?? order.sendAfter ?? at)) ?? at;
    case 'EXECUTING':
      // Its lease, by the database's clock, keeps others away while its worker is alive.
      return at;
    default:
      if (order.task === 'mandate') return earliest([order.remindAt, order.expiresAt]);
      return unfollowedItems(order).length > 0
        ? at
        : earliest([
            ...unknownItems(order).map(({ sentAt }) => nextLookup(sentAt, EVIDENCE_MS, at)),
            ...unconfirmedItems(order).map(({ answeredAt }) => nextLookup(answeredAt, CONFIRMATION_MS, at)),
            ...delegatedItems(order).map((item) => nextDelegationCheck(undoableUntil(order, item), at)),
          ]);
  }
}

/**
 * When people must be notified of an order's state. Undefined for a draft, which only its requester sees.
 * @param at the time of the change that causes this state
 */
export function notificationDueAt(order: Order, at: Date): Date | undefined {
  if (order.state === 'DRAFT') return undefined;
  if (order.state === 'EXECUTING')
    return new Date(at.getTime() + (order.bulk === undefined ? UNDER_WAY_MS : WAVES_UNDER_WAY_MS));
  const isUntried = order.items.every(({ attempts }) => attempts === 0);
  const isForLater = order.sendAfter !== undefined && order.sendAfter > at;
  const beginsSoon = order.state === 'APPROVED' && order.approvals.length > 0 && isUntried && !isForLater;
  return beginsSoon ? new Date(at.getTime() + APPROVED_MS) : at;
}

/** Successes that aren't on the watch list yet. */
export function unfollowedItems({ task, items }: Order): readonly OrderItem[] {
  return FOLLOWED_TASKS.includes(task)
    ? items.filter(({ state, isFollowed }) => state === 'SUCCEEDED' && !isFollowed)
    : [];
}

/** Items with an unknown outcome that public records may show. */
export function unknownItems({ task, state, items }: Order): readonly OrderItem[] {
  return state === 'UNKNOWN' && LOOKED_UP_TASKS.has(task)
    ? items.filter((item) => item.state === 'UNKNOWN' && item.sentAt !== undefined)
    : [];
}

/** Items accepted by the service that the registry doesn't show as done yet. */
export function unconfirmedItems({ task, state, items }: Order): readonly OrderItem[] {
  return state === 'SUCCEEDED' && findTask(task).nextStep !== undefined
    ? items.filter(
        (item) =>
          item.state === 'SUCCEEDED' &&
          item.answeredAt !== undefined &&
          item.result?.confirmedByRegistry !== true,
      )
    : [];
}

/** Items whose new nameservers are still checked for answers. */
export function delegatedItems(order: Order): readonly OrderItem[] {
  return order.state === 'SUCCEEDED'
    ? order.items.filter((item) => undoableUntil(order, item) !== undefined)
    : [];
}

/** The last check is at the end, when the undo button is removed. */
function nextDelegationCheck(until: Date | undefined, at: Date): Date | undefined {
  if (until === undefined || until <= at) return undefined;
  const forMs = UNDO_HOURS * 60 * MINUTE_MS;
  return earliest([nextLookup(new Date(until.getTime() - forMs), forMs, at), until]);
}

function nextLookup(since: Date | undefined, forMs: number, at: Date): Date | undefined {
  if (since === undefined) return undefined;
  const ageMs = at.getTime() - since.getTime();
  if (ageMs > forMs) return undefined;
  return new Date(at.getTime() + (ageMs < OFTEN_MS ? OFTEN_EVERY_MS : LATER_EVERY_MS));
}

function earliest(moments: readonly (Date | undefined)[]): Date | undefined {
  return moments.filter((moment) => moment !== undefined).sort((a, b) => a.getTime() - b.getTime())[0];
}
