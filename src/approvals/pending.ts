import { type ChangeOutcome, changeOrder } from '../orders/change-order.ts';
import type { OrdersContext } from '../orders/context.ts';
import { computeDeadlines } from '../orders/deadlines.ts';
import { getChosenSendTime, isRequester, type Order } from '../orders/order.ts';
import type { Refusal } from '../orders/refusal.ts';
import { checkApprover, loadApproverRights } from './approvers.ts';
import { loadCurrentEvaluation } from './requirements.ts';

/** Changes to a pending order, other than approving or denying it. */

export function cancelOrder(context: OrdersContext, orderId: string, userId: string): Promise<ChangeOutcome> {
  return changeOrder(context, orderId, (order) =>
    order.requesterId === userId
      ? { event: { type: 'cancelled', by: userId } }
      : { refusal: { code: 'not_the_requester', action: 'cancel' } },
  );
}

/** Does nothing before the order's `expiresAt`. */
export function expireOrder(context: OrdersContext, orderId: string): Promise<ChangeOutcome> {
  return changeOrder(context, orderId, () => ({ event: { type: 'expired' } }));
}

/** Reminds the approvers once. Does nothing before the order's `remindAt`. */
export function remindApprovers(context: OrdersContext, orderId: string): Promise<ChangeOutcome> {
  return changeOrder(context, orderId, () => ({ event: { type: 'reminded' } }));
}

/** Escalates once. Private orders go only to admins. Does nothing before the order's `escalateAt`. */
export function escalateOrder(context: OrdersContext, orderId: string): Promise<ChangeOutcome> {
  return changeOrder(context, orderId, async (order) => {
    if (order.isPrivate) return { event: { type: 'escalated', to: [], toAdmins: true } };
    const { escalateTo: to, escalateToAdmins } = (await loadCurrentEvaluation(context, order)).requirements;
    return { event: { type: 'escalated', to, toAdmins: escalateToAdmins || to.length === 0 } };
  });
}

/** Sends an approver's question to the requester, and restarts the deadlines. */
export function askRequester(
  context: OrdersContext,
  orderId: string,
  userId: string,
  question: string,
): Promise<ChangeOutcome> {
  return changeOrder(context, orderId, async (order) => {
    const refusal = await checkCanAsk(context, order, userId);
    if (refusal !== undefined) return { refusal };
    const firstExpiry = await context.findFirstExpiry(order.items.map(({ name }) => name));
    const { requirements } = await loadCurrentEvaluation(context, order);
    const deadlines = computeDeadlines(requirements, context.now(), firstExpiry, getChosenSendTime(order));
    return { event: { type: 'asked', by: userId, question, ...deadlines } };
  });
}

/** Call this before opening the form for the question. */
export async function checkCanAsk(
  context: OrdersContext,
  order: Order,
  userId: string,
): Promise<Refusal | undefined> {
  if (order.state !== 'PENDING') return { code: 'wrong_state', action: 'asked', state: order.state };
  if (isRequester(order, userId)) return { code: 'own_question' };
  return checkApprover(await loadApproverRights(context, order, [userId]), userId, 'ask');
}
