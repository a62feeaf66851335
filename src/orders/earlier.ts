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
export function findEarlierOutcomes(
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
    const openItem = earlierItems.find(mayStillBeDone);
    return openItem === undefined ? [] : [{ orderId: openItem.orderId, name, outcome: 'open' }];
  });
}

/**
 * Finds items of a retry that an earlier order has carried out, or may still carry out.
 * @param checkedItems default: the waiting items
 */
export async function loadEarlierFindings(
  load: OrderStore['load'],
  order: Order,
  checkedItems: readonly OrderItem[] = findWaitingItems(order),
): Promise<EarlierFinding[]> {
  const items: EarlierItem[] = [];
  for (let id = order.retryOf; id !== undefined; ) {
    const earlierOrder: Order | undefined = await load(id, 'system');
    for (const { name, state, result } of earlierOrder?.items ?? []) {
      items.push({ orderId: id, name, state, lateOutcome: result?.lateOutcome });
    }
    id = earlierOrder?.retryOf;
  }
  return findEarlierOutcomes(
    items,
    checkedItems.map(({ name }) => name),
  );
}

/** Stops the names that share the first finding's order and outcome. Other names need their own events. */
export function buildEarlierOrderStop(
  order: Order,
  findings: readonly EarlierFinding[],
): (OrderEvent & { readonly type: 'stopped' }) | undefined {
  const [first] = findings;
  if (first === undefined) return undefined;
  const names = findings
    .filter(({ orderId, outcome }) => orderId === first.orderId && outcome === first.outcome)
    .map(({ name }) => name);
  return {
    type: 'stopped',
    summary: { code: 'earlier_order', orderId: first.orderId, outcome: first.outcome },
    itemNumbers: findWaitingItems(order)
      .filter(({ name }) => names.includes(name))
      .map(({ n }) => n),
    ...(first.outcome === 'done' ? { doneByOrderId: first.orderId } : {}),
  };
}
