import { isDemoContext } from '../accounts/account.ts';
import { type DatedOrder, hasNewExpiry, updateDatesAfterOrder } from '../names/dates.ts';
import { getItemInput, type Order, type OrderItem, readPeriod } from '../orders/order.ts';
import type { ExpiryContext } from './context.ts';
import { createWatchedDomain } from './newly-watched.ts';
import type { WatchedDomain, WatchListChange } from './ports.ts';

const DATED_TASKS: readonly DatedOrder['task'][] = ['create', 'renew', 'transfer', 'delete', 'restore'];

/**
 * Updates the watch list after an order succeeded. A name that was registered, transferred or renewed is watched; a
 * renewal ends the name's reminders; a deletion starts the periods in which it can be restored. Idempotent.
 * @param n the order's item, from 1
 * @returns the name, so that its date can be confirmed at the registry; undefined if nothing changed
 */
export async function updateWatchList(
  { watchList, now: clock }: ExpiryContext,
  order: Order,
  n: number,
): Promise<string | undefined> {
  const item = order.items.find((each) => each.n === n);
  if (item?.state !== 'SUCCEEDED') return undefined;
  const now = clock();
  const isUpdated = await watchList.updateAfterOrder(order.id, n, now, (known) =>
    applySuccess(order, item, known, now),
  );
  return isUpdated ? item.name : undefined;
}

/**
 * The watch list entry after an order for its name succeeded.
 * @returns undefined if nothing changes: demo names aren't listed, and a deleted or restored name stays unwatched if it
 * was
 */
export function applySuccess(
  order: Order,
  item: Pick<OrderItem, 'name' | 'sentAt' | 'answeredAt' | 'input'>,
  known: WatchedDomain | undefined,
  now: Date,
): WatchListChange | undefined {
  const task = DATED_TASKS.find((each) => each === order.task);
  if (task === undefined || isDemoContext(order.account.context)) return undefined;
  const isPaid = task === 'create' || task === 'renew' || task === 'transfer';
  if (!isPaid && known === undefined) return undefined;
  const before = known ?? createWatchedDomain(item.name, order.requesterId, now);
  const doneAt = item.answeredAt ?? now;
  const years = readPeriod(getItemInput(order, item)) ?? 1;
  const done = { task, years, sentAt: item.sentAt ?? doneAt, doneAt };
  const dates = updateDatesAfterOrder(before, item.name, done);
  const hasNewDecision =
    task === 'create' || task === 'renew' || task === 'restore' || hasNewExpiry(before, dates);
  return {
    after: {
      ...before,
      ...dates,
      ...(isPaid && { registeredBy: order.requesterId }),
      ...(hasNewDecision && { snooze: undefined, lapse: undefined }),
      nextRegistryAt: now,
    },
    details: buildDetailsChange(order),
    observation: { origin: 'order', at: now, orderId: order.id, done },
  };
}

/** A cleared owner field means no owner; an empty note changes nothing. */
function buildDetailsChange({ task, ownership, requesterId }: Order): WatchListChange['details'] {
  if (ownership === undefined || (task !== 'create' && task !== 'transfer')) return undefined;
  const { owner = null, note } = ownership;
  return { change: { owner, ...(note && { note }) }, by: requesterId };
}
