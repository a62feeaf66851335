import { isDemoContext } from '../accounts/account.ts';
import { type DatedOrder, hasNewExpiry, updateDatesAfterOrder } from '../names/dates.ts';
import { getItemInput, getPeriodYears, type Order, type OrderItem } from '../orders/order.ts';
import type { ExpiryContext } from './context.ts';
import { createWatchedDomain } from './newly-watched.ts';
import type { WatchedDomain, WatchListChange } from './ports.ts';

const DATED_TASKS: readonly DatedOrder['task'][] = ['create', 'renew', 'transfer', 'delete', 'restore'];

/**
 * Updates the watch list after an item of an order succeeded. Idempotent.
 * @param itemNumber the number of the item, from 1
 * @returns the name, so that its date can be confirmed at the registry; undefined if nothing changed
 */
export async function updateWatchList(
  { watchList, now: clock }: ExpiryContext,
  order: Order,
  itemNumber: number,
): Promise<string | undefined> {
  const item = order.items.find((candidate) => candidate.n === itemNumber);
  if (item?.state !== 'SUCCEEDED') return undefined;
  const now = clock();
  const wasUpdated = await watchList.updateAfterOrder(order.id, itemNumber, now, (domain) =>
    buildWatchListChange(order, item, domain, now),
  );
  return wasUpdated ? item.name : undefined;
}

/**
 * A name that was registered, transferred or renewed becomes watched. A renewal ends the name's reminders,
 * and a deletion starts the periods in which it can be restored.
 * @returns undefined if nothing changes, such as for demo names or deletions and restores of unwatched names
 */
export function buildWatchListChange(
  order: Order,
  item: Pick<OrderItem, 'name' | 'sentAt' | 'answeredAt' | 'input'>,
  domain: WatchedDomain | undefined,
  now: Date,
): WatchListChange | undefined {
  const task = DATED_TASKS.find((datedTask) => datedTask === order.task);
  if (task === undefined || isDemoContext(order.account.context)) return undefined;
  const startsWatching = task === 'create' || task === 'renew' || task === 'transfer';
  if (!startsWatching && domain === undefined) return undefined;
  const before = domain ?? createWatchedDomain(item.name, order.requesterId, now);
  const doneAt = item.answeredAt ?? now;
  const years = getPeriodYears(getItemInput(order, item)) ?? 1;
  const datedOrder = { task, years, sentAt: item.sentAt ?? doneAt, doneAt };
  const dates = updateDatesAfterOrder(before, item.name, datedOrder);
  const shouldClearDecisions =
    task === 'create' || task === 'renew' || task === 'restore' || hasNewExpiry(before, dates);
  return {
    updatedDomain: {
      ...before,
      ...dates,
      ...(startsWatching && { registeredBy: order.requesterId }),
      ...(shouldClearDecisions && { snooze: undefined, lapse: undefined }),
      nextRegistryLookupAt: now,
    },
    details: buildDetailsChange(order),
    observation: { origin: 'order', at: now, orderId: order.id, done: datedOrder },
  };
}

/** A cleared owner field removes the owner, but an empty note changes nothing. */
function buildDetailsChange({ task, ownership, requesterId }: Order): WatchListChange['details'] {
  if (ownership === undefined || (task !== 'create' && task !== 'transfer')) return undefined;
  const { owner = null, note } = ownership;
  return { change: { owner, ...(note && { note }) }, by: requesterId };
}
