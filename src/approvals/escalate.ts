import { type ChangeOutcome, changeOrder } from '../orders/change-order.ts';
import type { OrdersContext } from '../orders/context.ts';
import { currentRequirements } from './requirements.ts';

/**
 * Calls others about an order that still waits, once. Does nothing when it is not time yet, or they were called. For a
 * private order only admins are called.
 */
export async function escalateOrder(deps: OrdersContext, orderId: string): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, async (order) => {
    if (order.isPrivate) return { event: { type: 'escalated', to: [], toAdmins: true } };
    const { escalateTo: to, escalateToAdmins } = (await currentRequirements(deps, order)).demand;
    return { event: { type: 'escalated', to, toAdmins: escalateToAdmins || to.length === 0 } };
  });
}
