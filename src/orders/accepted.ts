import { changeOrder } from './change.ts';
import { unconfirmedItems } from './due.ts';
import type { Order, OrderItem } from './order.ts';
import type { LookDeps } from './ports.ts';

/** Whether the registry shows that what the service accepted has happened. Implemented by expiry. */
export type IsShownByRegistry = (order: Order, item: OrderItem) => Promise<boolean>;

/**
 * Checks whether the registry shows that a task has ended which the service had only accepted, and records it with the
 * order, so that its thread says so. Safe to repeat, also on several replicas at once.
 */
export async function recordRegistryConfirmations(
  deps: LookDeps<IsShownByRegistry>,
  order: Order,
): Promise<void> {
  const { look, log, signal } = deps;
  for (const item of unconfirmedItems(order)) {
    if (signal.aborted) return;
    const isShown = await look(order, item).catch((err: unknown) => {
      log.warn({ err, orderId: order.id, ctid: item.ctid }, 'looking whether the registry shows a result');
      return false;
    });
    if (isShown) await changeOrder(deps, order.id, () => ({ event: { type: 'shown', n: item.n } }));
  }
}
