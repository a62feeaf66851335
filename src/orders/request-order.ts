import type { OrdersContext } from './context.ts';
import { decideRequest } from './decide-request.ts';
import { isOpen, type Order } from './order.ts';
import type { Refusal } from './refusal.ts';
import { loadRequest, type OrderRequest, type RejectedRequest } from './request-context.ts';

export type RequestOutcome =
  | { readonly kind: 'accepted'; readonly order: Order }
  | { readonly kind: 'not_linked' }
  | RejectedRequest
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'already_open'; readonly order: Order };

/** Creates an order from a request. Starts over if a budget or a conflicting order has changed meanwhile. */
export async function requestOrder(context: OrdersContext, request: OrderRequest): Promise<RequestOutcome> {
  for (;;) {
    const loaded = await loadRequest(context, request);
    if ('kind' in loaded) return loaded;
    const decision = decideRequest(loaded);
    if (decision.kind !== 'create') return decision;
    const { order, entry, reservation } = decision;
    const { sealedInput, sealedItems } = loaded.secrets;
    const conflict = await context.store.create({
      order,
      log: [entry],
      sealedInput,
      sealedItems,
      reservation,
    });
    if (conflict === undefined) {
      context.advance(order);
      return { kind: 'accepted', order };
    }
    // Other orders have reserved the rest of a budget meanwhile.
    if (conflict.conflictingOrderId === undefined) continue;
    const conflictingOrder = await context.store.load(conflict.conflictingOrderId, 'system');
    if (conflictingOrder?.deliveryId === request.deliveryId)
      return { kind: 'accepted', order: conflictingOrder };
    // An order that was closed meanwhile no longer conflicts.
    if (conflictingOrder !== undefined && isOpen(conflictingOrder.state))
      return { kind: 'already_open', order: conflictingOrder };
  }
}
