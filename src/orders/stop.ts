import { type ChangeOutcome, changeOrder } from './change.ts';
import { currentPolicy, type DecideDeps } from './decide.ts';
import { findEarlier, stopForEarlier } from './earlier.ts';
import { formatState, isFinal, type Order, waitingItems } from './order.ts';
import { refusalOfNonApprover } from './policy.ts';
import type { OrderStore } from './ports.ts';
import { STOPPED } from './state-machine.ts';

/**
 * The requester or an approver stops what waits to be sent. What is being sent goes on: its answer is kept as it comes.
 */
export function stopOrder(deps: DecideDeps, orderId: string, userId: string): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, async (order) => {
    const refusal = await refusalToStop(deps, order, userId);
    if (refusal !== undefined) return { refusal };
    return { event: { type: 'stopped', by: userId, summary: STOPPED } };
  });
}

async function refusalToStop(deps: DecideDeps, order: Order, userId: string): Promise<string | undefined> {
  if (order.requesterId !== userId) {
    const refusal = refusalOfNonApprover(
      await currentPolicy(deps, [userId]),
      userId,
      'Only the person who asked, or an approver, can stop this. Ask one of them.',
    );
    if (refusal !== undefined) return refusal;
  }
  if (order.state === 'DRAFT' || order.state === 'PENDING') {
    return 'It is not approved yet. The person who asked can cancel it, an approver can deny it.';
  }
  if (isFinal(order.state) || order.state === 'UNKNOWN') {
    return `The order is ${formatState(order.state)}; nothing waits to be sent any more. Its thread says how it went.`;
  }
  return waitingItems(order).length > 0
    ? undefined
    : 'Its request is on its way and cannot be called back. Its thread will say how it ends.';
}

/** Stops every name of a retry that an earlier order has done, or may still do. */
export async function stopEarlier(
  deps: { readonly store: OrderStore; readonly now: () => Date },
  orderId: string,
): Promise<ChangeOutcome> {
  for (;;) {
    const outcome = await changeOrder(deps, orderId, async (order) => {
      const event = stopForEarlier(order, await findEarlier(deps.store.load, order));
      return event === undefined ? { refusal: 'nothing stands in its way' } : { event };
    });
    if (!outcome.ok) return outcome;
  }
}
