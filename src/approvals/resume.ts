import { isPaused } from '../orders/bulk/waves.ts';
import type { ChangeOutcome, Decision } from '../orders/change-order.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { Refusal } from '../orders/refusal.ts';
import { refusalOfNonApprover, refusalToDecide } from './approval-rights.ts';
import { clearForSending, weighPress, withIncidents, withoutStale } from './decide.ts';
import type { LoggedSignature } from './signing/approval.ts';

/**
 * The requester or an approver lets a paused order go on, if everything that an approval looks at still allows it. What has
 * gone wrong so far does not pause it again. An approval that is not enough is kept until the others have been given.
 */
export function resumeOrder(
  deps: OrdersContext,
  orderId: string,
  userId: string,
  signed?: LoggedSignature,
): Promise<ChangeOutcome> {
  return clearForSending(deps, orderId, async (order, known, findObstacle): Promise<Decision> => {
    const { agreedExcess, pressedAt } = known;
    if (!isPaused(order)) return { refusal: { code: 'not_paused' } };
    const counting = await withoutStale(deps, order, userId, signed);
    const isRenewed = counting !== order;
    const weighed = await weighPress(
      deps,
      counting,
      { userId, agreedExcess, signed },
      findObstacle,
      (policy) => (order.requesterId === userId ? undefined : refusalOfNonApprover(policy, userId, 'resume')),
    );
    if (!('weight' in weighed)) return weighed;
    const { policy, reservation, isRepeated } = weighed;
    const mayApprove = refusalToDecide(order, userId, 'approve', policy) === undefined;
    const validApprovers = weighed.weight.validApprovers.filter((giver) => giver !== userId || mayApprove);
    const weight = { ...weighed.weight, validApprovers };
    const { isApproved, requirements } = weight.progress;
    const { over, admins } = weight.budget;
    const goesOn = isApproved && (over.length === 0 || admins.length > 0);
    const resumed: Decision = { event: { type: 'resumed', ...weight }, extra: { reservation } };
    if (goesOn) return withIncidents(deps, order, { userId, pressedAt }, resumed);
    const isMissing = validApprovers.includes(userId) && !isRepeated;
    if (isMissing || admins.includes(userId)) return { event: { type: 'approved', ...weight, isRenewed } };
    const missing: Refusal = { code: 'approvals_missing', requirements };
    return { refusal: isApproved ? { code: 'over_budget', over } : missing };
  });
}
