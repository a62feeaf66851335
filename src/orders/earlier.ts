import { groupBy } from '../lib/collections.ts';
import { findWaitingItems, type ItemState, type Order, type OrderEvent, type OrderItem } from './order.ts';
import type { OrderStore } from './ports.ts';
import type { EarlierFinding } from './refusal.ts';

/** A retry checks the orders that it repeats, because a late answer can show that one of them was carried out. */

export interface EarlierItem {
  readonly orderId: string;
  readonly name: string;
  readonly state: ItemState;
  /** The outcome of an answer that arrived after the item had ended. */
  readonly lateOutcome: 'SUCCEEDED' | 'FAILED' | 'UNKNOWN' | undefined;
}

/** Finds names for which an earlier item was, or may still be, carried out. Pure. */
export function deriveEarlierFindings(
  items: readonly EarlierItem[],
  names: readonly string[],
): EarlierFinding[] {
  const isDone = ({ state, lateOutcome }: EarlierItem) =>
    state === 'SUCCEEDED' || lateOutcome === 'SUCCEEDED';
  const mayStillBeDone = ({ state, lateOutcome }: EarlierItem) =>
    state === 'SENT' || state === 'UNKNOWN' || lateOutcome === 'UNKNOWN';
  const itemsByName = groupBy(items, ({ name }) => name);
  return names.flatMap((name): EarlierFinding[] => {
    const earlierItems = itemsByName.get(name) ?? [];
    const doneItem = earlierItems.find(isDone);
    if (doneItem !== undefined) return [{ orderId: doneItem.orderId, name, outcome: 'done' }];
    const unsettledItem = earlierItems.find(mayStillBeDone);
    return unsettledItem === undefined ? [] : [{ orderId: unsettledItem.orderId, name, outcome: 'open' }];
  });
}

/**
 * Finds items of a retry that an earlier order has carried out, or may still carry out.
 * @param checkedItems the waiting items by default
 */
export async function loadEarlierFindings(
  loadOrder: OrderStore['load'],
  order: Order,
  checkedItems: readonly OrderItem[] = findWaitingItems(order),
): Promise<EarlierFinding[]> {
  const items: EarlierItem[] = [];
  for (let id = order.retryOf; id !== undefined; ) {
    const earlierOrder: Order | undefined = await loadOrder(id, 'system');
    for (const { name, state, result } of earlierOrder?.items ?? []) {
      items.push({ orderId: id, name, state, lateOutcome: result?.lateOutcome });
    }
    id = earlierOrder?.retryOf;
  }
  return deriveEarlierFindings(
    items,
    checkedItems.map(({ name }) => name),
  );
}

/** Builds an event that stops names with the first finding's order and outcome. Others need their own events. */
export function buildEarlierOrderStopEvent(
  order: Order,
  findings: readonly EarlierFinding[],
): (OrderEvent & { readonly type: 'stopped' }) | undefined {
  const [firstFinding] = findings;
  if (firstFinding === undefined) return undefined;
  const names = findings
    .filter(({ orderId, outcome }) => orderId === firstFinding.orderId && outcome === firstFinding.outcome)
    .map(({ name }) => name);
  return {
    type: 'stopped',
    summary: { code: 'earlier_order', orderId: firstFinding.orderId, outcome: firstFinding.outcome },
    itemNumbers: findWaitingItems(order)
      .filter(({ name }) => names.includes(name))
      .map(({ n }) => n),
    ...(firstFinding.outcome === 'done' ? { doneByOrderId: firstFinding.orderId } : {}),
  };
}
