import { approversOf, refusalOfNonApprover } from '../approvals/approvers.ts';
import { type ChangeOutcome, changeOrder } from './change-order.ts';
import type { OrdersContext } from './context.ts';
import type { Order } from './order.ts';
import type { Refusal } from './refusal.ts';

/** Why a person may not settle an unknown outcome, or undefined when they may. */
export async function refusalToResolve(
  deps: OrdersContext,
  order: Order,
  userId: string,
): Promise<Refusal | undefined> {
  const refusal = refusalOfNonApprover(
    await approversOf(deps, order, [userId], 'general'),
    userId,
    'resolve',
  );
  if (refusal !== undefined) return refusal;
  return order.state === 'UNKNOWN' ? undefined : { code: 'outcome_known' };
}

/** An approver says what became of an order whose outcome nobody knew. */
export function resolveOrder(
  deps: OrdersContext,
  orderId: string,
  userId: string,
  outcome: 'SUCCEEDED' | 'FAILED',
  reason: string | undefined,
): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, async (order) => {
    const refusal = await refusalToResolve(deps, order, userId);
    return refusal === undefined ? { event: { type: 'resolved', by: userId, outcome, reason } } : { refusal };
  });
}
