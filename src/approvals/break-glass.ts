import { type ChangeOutcome, changeOrder } from '../orders/change-order.ts';
import type { OrdersContext } from '../orders/context.ts';
import { isRequester, type Order } from '../orders/order.ts';
import type { Refusal } from '../orders/refusal.ts';
import { peopleAmong, requestersOf, type WaitingDecision, waitingDecision } from './approvers.ts';
import { clearForSending, moneyOf, withImpact } from './decide.ts';

/*
 * Break glass: an admin approves a waiting order alone where every rule that asks for approval allows it in an emergency.
 * Everybody who could have decided is told, and another admin has to review it afterwards.
 */

/**
 * An admin approves a waiting order alone. What else an approval checks is checked as well.
 * @param reason why; it is needed
 */
export async function approveInEmergency(
  deps: OrdersContext,
  orderId: string,
  userId: string,
  reason: string | undefined,
): Promise<ChangeOutcome> {
  return clearForSending(deps, orderId, (order, { agreedExcess, pressedAt }, findObstacle) =>
    withImpact(deps, order, { userId, pressedAt }, async (isImpactUnknown) => {
      const grounds = await emergencyGrounds(deps, order, userId);
      if ('refusal' in grounds) return grounds;
      if (reason === undefined || reason.trim() === '') return { refusal: { code: 'reason_missing' } };
      const { price, over, unaware, reservation } = await moneyOf(deps, order, [{ userId, agreedExcess }]);
      if (unaware.length > 0) return { refusal: { code: 'excess_unseen', over } };
      const obstacle = await findObstacle();
      if (obstacle !== undefined) return obstacle;
      const deciders = await decidersOf(deps, order, userId, grounds);
      return {
        event: {
          type: 'emergency_approved',
          ...{ by: userId, agreedExcess, reason, ...deciders, policyVersion: grounds.policyVersion },
          ...{ price, isImpactUnknown, over },
        },
        extra: { reservation },
      };
    }),
  );
}

/** Why a person may not approve an order alone at this moment, asked before the form for the reason opens. */
export async function refusalToBreakGlass(
  deps: OrdersContext,
  order: Order,
  userId: string,
): Promise<Refusal | undefined> {
  const grounds = await emergencyGrounds(deps, order, userId);
  return 'refusal' in grounds ? grounds.refusal : undefined;
}

/** What the order needs, by which a person may approve it alone; or why they may not. */
async function emergencyGrounds(
  deps: OrdersContext,
  order: Order,
  userId: string,
): Promise<WaitingDecision | { readonly refusal: Refusal }> {
  if (!(await deps.isAdmin(userId))) return { refusal: { code: 'not_an_admin', wanted: 'break_glass' } };
  if (order.state !== 'PENDING')
    return { refusal: { code: 'wrong_state', wanted: 'emergency_approved', state: order.state } };
  if (isRequester(order, userId)) return { refusal: { code: 'own_emergency' } };
  const decision = await waitingDecision(deps, order);
  const { outcome, refusedBy, breakGlass } = decision.demand;
  if (outcome === 'refuse') return { refusal: { code: 'policy_refuses', rules: refusedBy } };
  return breakGlass ? decision : { refusal: { code: 'break_glass_not_allowed' } };
}

/** Who could have decided about a waiting order, besides those who asked for it and the person who does. */
async function decidersOf(
  { directory }: OrdersContext,
  order: Order,
  userId: string,
  { demand, standIns }: WaitingDecision,
) {
  const { people, unreadableGroups } = await peopleAmong(directory, [
    ...demand.requirements.flatMap(({ approvers }) => approvers),
    ...[...standIns.values()].map((standIn) => standIn.userId),
  ]);
  const requesters = requestersOf(order);
  return { approvers: people.filter((id) => id !== userId && !requesters.has(id)), unreadableGroups };
}

/** Another admin has reviewed that an order was approved alone. */
export function signOff(deps: OrdersContext, orderId: string, userId: string): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, async () =>
    (await deps.isAdmin(userId))
      ? { event: { type: 'signed_off', by: userId } }
      : { refusal: { code: 'not_an_admin', wanted: 'sign_off' } },
  );
}
