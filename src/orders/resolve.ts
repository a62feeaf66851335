import { type ChangeOutcome, changeOrder } from './change.ts';
import { currentPolicy, type DecideDeps } from './decide.ts';
import type { Order } from './order.ts';
import { refusalOfNonApprover } from './policy.ts';

/** Why a person may not settle an unknown outcome, or undefined when they may. */
export async function refusalToResolve(
  deps: DecideDeps,
  order: Order,
  userId: string,
): Promise<string | undefined> {
  const refusal = refusalOfNonApprover(
    await currentPolicy(deps, [userId]),
    userId,
    'Only approvers can settle an order whose outcome is not known. Ask one of them to look at the domain service.',
  );
  if (refusal !== undefined) return refusal;
  return order.state === 'UNKNOWN'
    ? undefined
    : 'Its outcome is known by now; there is nothing to settle. Its thread says how it went.';
}

/** An approver says what became of an order whose outcome nobody knew. */
export function resolveOrder(
  deps: DecideDeps,
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
