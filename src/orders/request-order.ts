import type { OrdersContext } from './context.ts';
import { decideRequest } from './decide-request.ts';
import { isOpen, type Order } from './order.ts';
import type { Refusal } from './refusal.ts';
import { loadRequestContext, type OrderRequest, type RejectedRequest } from './request-context.ts';

export type RequestOutcome =
  | { readonly kind: 'accepted'; readonly order: Order }
  | { readonly kind: 'not_linked' }
  | RejectedRequest
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'already_open'; readonly order: Order };

/** Creates an order from a request. Starts over if a budget or a conflicting order changes in the meantime. */
export async function requestOrder(context: OrdersContext, request: OrderRequest): Promise<RequestOutcome> {
  for (;;) {
    const loadResult = await loadRequestContext(context, request);
    if ('kind' in loadResult) return loadResult;
    const decision = decideRequest(loadResult);
    if (decision.kind !== 'create') return decision;
    const { order, logEntry, reservation } = decision;
    const { sealedInput, sealedItems } = loadResult.secrets;
    const conflict = await context.store.create({
      order,
      log: [logEntry],
      sealedInput,
      sealedItems,
      reservation,
    });
    if (conflict === undefined) {
      context.advance(order);
      return { kind: 'accepted', order };
    }
    // Other orders have reserved the rest of a budget in the meantime.
    if (conflict.conflictingOrderId === undefined) continue;
    const conflictingOrder = await context.store.load(conflict.conflictingOrderId, 'system');
    if (conflictingOrder?.deliveryId === request.deliveryId)
      return { kind: 'accepted', order: conflictingOrder };
    // An order that was closed in the meantime no longer conflicts.
    if (conflictingOrder !== undefined && isOpen(conflictingOrder.state))
      return { kind: 'already_open', order: conflictingOrder };
  }
}
