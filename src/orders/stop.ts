import { type ApprovalPolicy, findApprovers, refusalOfNonApprover } from '../approvals/approvers.ts';
import { type ChangeContext, type ChangeOutcome, changeOrder, type Decision } from './change-order.ts';
import type { OrdersContext } from './context.ts';
import { findEarlier, stopAfterEarlierOrder } from './earlier.ts';
import { isFinal, type Order, pendingItems } from './order.ts';

/** The requester or an approver stops unsent items. A running request continues, and its answer is kept. */
export function stopOrder(context: OrdersContext, orderId: string, userId: string): Promise<ChangeOutcome> {
  return changeOrder(context, orderId, async (order) => {
    const isOwn = order.requesterId === userId;
    return decideStop(order, isOwn ? undefined : await findApprovers(context, order, [userId]), userId);
  });
}

/** Pure. @param rights undefined for the requester */
function decideStop(order: Order, rights: ApprovalPolicy | undefined, userId: string): Decision {
  const { state } = order;
  const mayNot = rights && refusalOfNonApprover(rights, userId, 'stop');
  if (mayNot !== undefined) return { refusal: mayNot };
  if (state === 'DRAFT' || state === 'PENDING') return { refusal: { code: 'stop_unapproved' } };
  if (isFinal(state) || state === 'UNKNOWN') return { refusal: { code: 'nothing_waits', state } };
  if (pendingItems(order).length === 0) return { refusal: { code: 'sent_already' } };
  return { event: { type: 'stopped', by: userId, summary: { code: 'stopped' } } };
}

/** Stops every name of a retry that an earlier order has done, or may still do. */
export async function stopEarlier(deps: ChangeContext, orderId: string): Promise<ChangeOutcome> {
  for (;;) {
    const outcome = await changeOrder(deps, orderId, async (order) => {
      const event = stopAfterEarlierOrder(order, await findEarlier(deps.store.load, order));
      return event === undefined ? { refusal: { code: 'not_due' } } : { event };
    });
    if (!outcome.ok) return outcome;
  }
}
