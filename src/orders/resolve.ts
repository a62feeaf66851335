import { type ApproverRights, checkApprover, loadApproverRights } from '../approvals/approvers.ts';
import { type ChangeDecision, type ChangeOutcome, changeOrder } from './change-order.ts';
import type { OrdersContext } from './context.ts';
import type { Order } from './order.ts';
import type { Refusal } from './refusal.ts';

/** Call this before opening the form that asks for the reason. */
export async function checkCanResolve(
  context: OrdersContext,
  order: Order,
  userId: string,
): Promise<Refusal | undefined> {
  return checkSettlement(order, await loadApproverRights(context, order, [userId], 'general'), userId);
}

export function resolveOrder(
  context: OrdersContext,
  orderId: string,
  userId: string,
  outcome: 'SUCCEEDED' | 'FAILED',
  reason: string | undefined,
): Promise<ChangeOutcome> {
  return changeOrder(context, orderId, async (order) =>
    decideSettlement(order, await loadApproverRights(context, order, [userId], 'general'), {
      by: userId,
      outcome,
      reason,
    }),
  );
}

export function decideSettlement(
  order: Order,
  rights: ApproverRights,
  settlement: {
    readonly by: string;
    readonly outcome: 'SUCCEEDED' | 'FAILED';
    readonly reason: string | undefined;
  },
): ChangeDecision {
  const refusal = checkSettlement(order, rights, settlement.by);
  return refusal === undefined ? { event: { type: 'resolved', ...settlement } } : { refusal };
}

function checkSettlement(order: Order, rights: ApproverRights, userId: string): Refusal | undefined {
  const refusal = checkApprover(rights, userId, 'resolve');
  if (refusal !== undefined) return refusal;
  return order.state === 'UNKNOWN' ? undefined : { code: 'outcome_known' };
}
