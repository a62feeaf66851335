import { approversOf, refusalOfNonApprover } from '../approvals/approvers.ts';
import { type ChangeOutcome, changeOrder } from './change-order.ts';
import type { OrdersContext } from './context.ts';
import { findEarlier, stopForEarlier } from './earlier.ts';
import { isFinal, type Order, waitingItems } from './order.ts';
import type { OrderStore } from './ports.ts';
import type { Refusal } from './refusal.ts';

/**
 * Stops the items that wait to be sent, for the requester or an approver. A request under way goes on, and its answer is
 * kept.
 */
export function stopOrder(deps: OrdersContext, orderId: string, userId: string): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, async (order) => {
    const refusal = await refusalToStop(deps, order, userId);
    if (refusal !== undefined) return { refusal };
    return { event: { type: 'stopped', by: userId, summary: { code: 'stopped' } } };
  });
}

async function refusalToStop(
  deps: OrdersContext,
  order: Order,
  userId: string,
): Promise<Refusal | undefined> {
  if (order.requesterId !== userId) {
    const refusal = refusalOfNonApprover(await approversOf(deps, order, [userId]), userId, 'stop');
    if (refusal !== undefined) return refusal;
  }
  if (order.state === 'DRAFT' || order.state === 'PENDING') {
    return { code: 'stop_unapproved' };
  }
  if (isFinal(order.state) || order.state === 'UNKNOWN') {
    return { code: 'nothing_waits', state: order.state };
  }
  return waitingItems(order).length > 0 ? undefined : { code: 'sent_already' };
}

/** Stops every name of a retry that an earlier order has done, or may still do. */
export async function stopEarlier(
  deps: { readonly store: OrderStore; readonly now: () => Date },
  orderId: string,
): Promise<ChangeOutcome> {
  for (;;) {
    const outcome = await changeOrder(deps, orderId, async (order) => {
      const event = stopForEarlier(order, await findEarlier(deps.store.load, order));
      return event === undefined ? { refusal: { code: 'not_due' } } : { event };
    });
    if (!outcome.ok) return outcome;
  }
}
