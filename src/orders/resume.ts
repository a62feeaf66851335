import { refusalOfNonApprover } from './approval-rights.ts';
import { approversOf } from './approvers.ts';
import { type ChangeOutcome, changeOrder } from './change.ts';
import type { DecideDeps } from './decide.ts';
import { isPaused } from './waves.ts';

/** The requester or an approver lets a paused order go on. What has gone wrong so far does not pause it again. */
export function resumeOrder(deps: DecideDeps, orderId: string, userId: string): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, async (order) => {
    if (order.requesterId !== userId) {
      const refusal = refusalOfNonApprover(await approversOf(deps, order, [userId]), userId, 'resume');
      if (refusal !== undefined) return { refusal };
    }
    return isPaused(order) ? { event: { type: 'resumed', by: userId } } : { refusal: { code: 'not_paused' } };
  });
}
