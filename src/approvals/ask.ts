import { type ChangeOutcome, changeOrder } from '../orders/change-order.ts';
import type { OrdersContext } from '../orders/context.ts';
import { waitingMoments } from '../orders/deadlines.ts';
import { isRequester, type Order } from '../orders/order.ts';
import type { Refusal } from '../orders/refusal.ts';
import { refusalOfNonApprover } from './approval-rights.ts';
import { approversOf } from './approvers.ts';
import { currentRequirements } from './requirements.ts';

/** An approver asks the requester something about a waiting order. The time that is left starts anew. */
export async function askRequester(
  deps: OrdersContext,
  orderId: string,
  userId: string,
  question: string,
): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, async (order) => {
    const refusal = await refusalToAsk(deps, order, userId);
    if (refusal !== undefined) return { refusal };
    const now = deps.now();
    const firstExpiry = await deps.firstExpiry(order.items.map(({ name }) => name));
    const { demand } = await currentRequirements(deps, order);
    const moments = waitingMoments(demand, now, firstExpiry);
    return { event: { type: 'asked', by: userId, question, ...moments } };
  });
}

/** Why a person may not ask the requester. It is checked before the form for the question opens, too. */
export async function refusalToAsk(
  deps: OrdersContext,
  order: Order,
  userId: string,
): Promise<Refusal | undefined> {
  if (order.state !== 'PENDING') return { code: 'wrong_state', wanted: 'asked', state: order.state };
  if (isRequester(order, userId)) return { code: 'own_question' };
  return refusalOfNonApprover(await approversOf(deps, order, [userId]), userId, 'ask');
}
