import { refusalOfNonApprover, refusalToDecide } from './approval-rights.ts';
import type { ChangeOutcome, Decision } from './change.ts';
import { countApprovals, type DecideDeps, letGo, readGrounds } from './decide.ts';
import type { Refusal } from './refusal.ts';
import { isPaused } from './waves.ts';

/**
 * The requester or an approver lets a paused order go on, if everything that an approval looks at still allows it. What has
 * gone wrong so far does not pause it again. An approval that is not enough is kept until the others have been given.
 */
export function resumeOrder(deps: DecideDeps, orderId: string, userId: string): Promise<ChangeOutcome> {
  return letGo(deps, orderId, async (order, agreedExcess, findObstacle): Promise<Decision> => {
    if (!isPaused(order)) return { refusal: { code: 'not_paused' } };
    const grounds = await readGrounds(deps, order, { userId, agreedExcess }, findObstacle);
    const { policy, money, obstacle } = grounds;
    const { over, admins, unaware, price, reservation } = money;
    const refusal = order.requesterId === userId ? undefined : refusalOfNonApprover(policy, userId, 'resume');
    const isRepeated = order.approvals.some((approval) => approval.userId === userId);
    if (unaware.includes(userId) && (refusal !== undefined || isRepeated))
      return { refusal: { code: 'excess_unseen', over } };
    if (refusal !== undefined && !admins.includes(userId)) return { refusal };
    if (obstacle !== undefined) return obstacle;
    const counted = countApprovals(deps, order, userId, grounds);
    if ('refusal' in counted) return counted;
    const mayApprove = refusalToDecide(order, userId, 'approve', policy) === undefined;
    const validApprovers = counted.validApprovers.filter((giver) => giver !== userId || mayApprove);
    const press = {
      ...counted,
      ...{ by: userId, agreedExcess, validApprovers, price, budget: { over, admins } },
    };
    const { isApproved, requirements } = counted.progress;
    if (isApproved && (over.length === 0 || admins.length > 0))
      return { event: { type: 'resumed', ...press }, extra: { reservation } };
    const isMissing = validApprovers.includes(userId) && !isRepeated;
    if (isMissing || admins.includes(userId)) return { event: { type: 'approved', ...press } };
    const missing: Refusal = { code: 'approvals_missing', requirements };
    return { refusal: isApproved ? { code: 'over_budget', over } : missing };
  });
}
