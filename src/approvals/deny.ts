import { type ChangeDecision, type ChangeOutcome, changeOrder } from '../orders/change-order.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { Order } from '../orders/order.ts';
import type { Refusal } from '../orders/refusal.ts';
import { checkCanDecide, type DecisionContext, evaluateRights, loadDecisionContext } from './approvers.ts';
import { countApprovals } from './count-approvals.ts';

export function denyOrder(
  context: OrdersContext,
  orderId: string,
  userId: string,
  reason: string | undefined,
): Promise<ChangeOutcome> {
  return changeOrder(context, orderId, async (order) =>
    decideDenial(await loadDecisionContext(context, order, [userId]), userId, reason),
  );
}

/** Like an approval's event, the event contains slots and rules. */
export function decideDenial(
  context: DecisionContext,
  userId: string,
  reason: string | undefined,
): ChangeDecision {
  const { order, now } = context;
  const refusal = checkCanDecide(order, userId, 'deny', evaluateRights(context, [userId]));
  if (refusal !== undefined) return { refusal };
  const denial = { userId, at: now, agreedExcess: [] };
  const countResult = countApprovals(context, [denial], userId, new Set());
  const progress = 'refusal' in countResult ? undefined : countResult.progress;
  return { event: { type: 'denied', by: userId, reason, progress } };
}

/** Call this before opening the form for the reason. */
export async function checkCanDeny(
  context: OrdersContext,
  order: Order,
  userId: string,
): Promise<Refusal | undefined> {
  const rights = evaluateRights(await loadDecisionContext(context, order, [userId]), [userId]);
  return checkCanDecide(order, userId, 'deny', rights);
}
