import { type ChangeOutcome, changeOrder } from './change.ts';
import { currentPolicy, type DecideDeps } from './decide.ts';
import { FOLLOWED_TASKS, type Order } from './order.ts';
import type { OrderJob } from './ports.ts';

/** Why a person may not settle an unknown outcome, or undefined when they may. */
export async function refusalToSettle(
  deps: DecideDeps,
  order: Order,
  userId: string,
): Promise<string | undefined> {
  const policy = await currentPolicy(deps);
  if (!policy.approvers.has(userId))
    return 'Only approvers can settle an order whose outcome is not known. Ask one of them to look at the domain service.';
  return order.state === 'UNKNOWN'
    ? undefined
    : 'Its outcome is known by now; there is nothing to settle. Its thread says how it went.';
}

/** An approver says what became of an order whose outcome nobody knew. */
export function settleOrder(
  deps: DecideDeps,
  orderId: string,
  userId: string,
  outcome: 'SUCCEEDED' | 'FAILED',
  reason: string | undefined,
): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, async (order) => {
    const refusal = await refusalToSettle(deps, order, userId);
    if (refusal !== undefined) return { refusal };
    return {
      event: { type: 'settled', by: userId, outcome, reason },
      jobs: jobsAfterSettling(
        order,
        outcome,
        order.items.filter((item) => item.state === 'UNKNOWN').map(({ n }) => n),
      ),
    };
  });
}

/** @param settled numbers of the items whose outcome is known now */
export function jobsAfterSettling(
  order: Order,
  outcome: 'SUCCEEDED' | 'FAILED',
  settled: readonly number[],
): OrderJob[] {
  const orderId = order.id;
  const followed = outcome === 'SUCCEEDED' && FOLLOWED_TASKS.includes(order.task) ? settled : [];
  return [
    { queue: 'order.show', data: { orderId } },
    ...followed.map((n) => ({ queue: 'expiry.follow', data: { orderId, n } }) as const),
  ];
}
