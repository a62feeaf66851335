import { type ApproverRights, checkApprover, loadApproverRights } from '../approvals/approvers.ts';
import { type ChangeContext, type ChangeDecision, type ChangeOutcome, changeOrder } from './change-order.ts';
import type { OrdersContext } from './context.ts';
import { buildEarlierOrderStopEvent, loadEarlierFindings } from './earlier.ts';
import { findWaitingItems, isFinal, type Order } from './order.ts';

/** Stops unsent items for the requester or an approver. Running requests continue, and their answers are kept. */
export function stopOrder(context: OrdersContext, orderId: string, userId: string): Promise<ChangeOutcome> {
  return changeOrder(context, orderId, async (order) => {
    const isOwnOrder = order.requesterId === userId;
    return decideStop(
      order,
      isOwnOrder ? undefined : await loadApproverRights(context, order, [userId]),
      userId,
    );
  });
}

/** Pure. @param rights undefined for the requester */
function decideStop(order: Order, rights: ApproverRights | undefined, userId: string): ChangeDecision {
  const { state } = order;
  const refusal = rights && checkApprover(rights, userId, 'stop');
  if (refusal !== undefined) return { refusal };
  if (state === 'DRAFT' || state === 'PENDING') return { refusal: { code: 'not_approved_yet' } };
  if (isFinal(state) || state === 'UNKNOWN') return { refusal: { code: 'nothing_to_stop', state } };
  if (findWaitingItems(order).length === 0) return { refusal: { code: 'already_sent' } };
  return { event: { type: 'stopped', by: userId, summary: { code: 'stopped' } } };
}

/** Stops all items of a retry that an earlier order has carried out, or may still carry out. */
export async function stopEarlierNames(deps: ChangeContext, orderId: string): Promise<ChangeOutcome> {
  for (;;) {
    const outcome = await changeOrder(deps, orderId, async (order) => {
      const event = buildEarlierOrderStopEvent(order, await loadEarlierFindings(deps.store.load, order));
      return event === undefined ? { refusal: { code: 'not_due' } } : { event };
    });
    if (!outcome.ok) return outcome;
  }
}
