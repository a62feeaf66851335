import { isPaused } from '../orders/bulk/waves.ts';
import type { ChangeDecision } from '../orders/change-order.ts';
import { isRequester, type Order } from '../orders/order.ts';
import { findExcessConsent } from '../orders/order-budget.ts';
import type { Refusal } from '../orders/refusal.ts';
import { getOrderTask } from '../orders/tasks.ts';
import type { Requirements } from '../policy/evaluate.ts';
import type { ApprovalContext } from './approval-context.ts';
import { checkApprover, checkCanDecide, evaluateRights, listRequesters } from './approvers.ts';
import {
  countClick,
  dropStaleApproval,
  dropUnwarnedApprovals,
  findSendingObstacle,
} from './count-approvals.ts';

/** `needs`: the impact must be looked up before the click can be accepted. */
export type ClickDecision = ChangeDecision | { readonly needs: 'impact' };

export function decideClick(context: ApprovalContext): ClickDecision {
  switch (context.click.kind) {
    case 'approve':
      return decideApproval(context);
    case 'resume':
      return decideResumption(context);
    case 'break_glass':
      return decideEmergencyApproval(context);
  }
}

export function decideApproval(context: ApprovalContext): ClickDecision {
  const { click, order } = context;
  const { userId, reason } = click;
  // A paused order is resumed with another button.
  if (isPaused(order)) return { refusal: { code: 'wrong_state', action: 'approved', state: order.state } };
  const approvals = dropStaleApproval(context, dropUnwarnedApprovals(context, order.approvals));
  const refusal = checkCanDecide(order, userId, 'approve', evaluateRights(context, [userId]));
  const countedClick = countClick(context, approvals, refusal);
  if (!('approval' in countedClick)) return countedClick;
  const { approval, reservation } = countedClick;
  if (!approval.validApprovers.includes(userId) && !approval.budget.admins.includes(userId))
    return { refusal: { code: 'stand_in_not_needed' } };
  const obstacle = requireSeenFindings(context);
  if (obstacle !== undefined) return obstacle;
  const isReplacement = hasApproved(order.approvals, userId) && !hasApproved(approvals, userId);
  const isImpactUnknown = click.impact === 'unknown';
  return {
    event: { type: 'approved', ...approval, isImpactUnknown, isReplacement, reason },
    extra: { reservation },
  };
}

/** If more approvals are needed to resume the order, the click is kept as an approval. */
export function decideResumption(context: ApprovalContext): ClickDecision {
  const { click, order } = context;
  const { userId } = click;
  if (!isPaused(order)) return { refusal: { code: 'not_paused' } };
  const approvals = dropStaleApproval(context, order.approvals);
  const rights = evaluateRights(context, [userId]);
  const refusal = order.requesterId === userId ? undefined : checkApprover(rights, userId, 'resume');
  const countedClick = countClick(context, approvals, refusal);
  if (!('approval' in countedClick)) return countedClick;
  const canApprove = checkCanDecide(order, userId, 'approve', rights) === undefined;
  const validApprovers = countedClick.approval.validApprovers.filter(
    (approverId) => approverId !== userId || canApprove,
  );
  const approval = { ...countedClick.approval, validApprovers };
  const { isApproved, requirements } = approval.progress;
  const { exceeded, admins } = approval.budget;
  if (isApproved && (exceeded.length === 0 || admins.length > 0)) {
    const resumeDecision = {
      event: { type: 'resumed', ...approval },
      extra: { reservation: countedClick.reservation },
    } as const;
    return requireSeenIncidents(context) ?? resumeDecision;
  }
  const isNewApproval = validApprovers.includes(userId) && !countedClick.hasApprovedBefore;
  if (isNewApproval || admins.includes(userId))
    return { event: { type: 'approved', ...approval, isReplacement: approvals !== order.approvals } };
  return {
    refusal: isApproved ? { code: 'over_budget', exceeded } : { code: 'approvals_missing', requirements },
  };
}

/** Runs all checks of a regular approval, except whether the order's requirements are met. */
export function decideEmergencyApproval(context: ApprovalContext): ClickDecision {
  const { click, order, evaluation, budgets, emergency } = context;
  const { userId, agreedExcess, reason } = click;
  const refusal = checkEmergencyApproval(order, userId, emergency?.isAdmin === true, evaluation.requirements);
  if (refusal !== undefined) return { refusal };
  if (reason === undefined || reason.trim() === '') return { refusal: { code: 'reason_missing' } };
  const { exceeded, price } = budgets;
  const { unawareAdmins, reservation } = findExcessConsent(order, budgets, context.admins, [
    { userId, agreedExcess },
  ]);
  if (unawareAdmins.length > 0) return { refusal: { code: 'excess_not_shown', exceeded } };
  const obstacle = findSendingObstacle(context) ?? requireSeenFindings(context);
  if (obstacle !== undefined) return obstacle;
  const requesters = listRequesters(order);
  const { people = [], unreadableGroups = [] } = emergency?.approvers ?? {};
  const approvers = people.filter((id) => id !== userId && !requesters.has(id));
  const { policyVersion } = evaluation;
  const isImpactUnknown = click.impact === 'unknown';
  return {
    event: {
      type: 'emergency_approved',
      ...{ by: userId, agreedExcess, reason, approvers, unreadableGroups, policyVersion },
      ...{ price, isImpactUnknown, exceeded },
    },
    extra: { reservation },
  };
}

export function checkEmergencyApproval(
  order: Order,
  userId: string,
  isAdmin: boolean,
  { outcome, refusedBy, breakGlass }: Requirements,
): Refusal | undefined {
  if (!isAdmin) return { code: 'not_an_admin', action: 'break_glass' };
  if (order.state !== 'PENDING')
    return { code: 'wrong_state', action: 'emergency_approved', state: order.state };
  if (isRequester(order, userId)) return { code: 'emergency_on_own_order' };
  if (outcome === 'refuse') return { code: 'policy_refuses', rules: refusedBy };
  return breakGlass ? undefined : { code: 'break_glass_not_allowed' };
}

function hasApproved(approvals: Order['approvals'], userId: string): boolean {
  return approvals.some((approval) => approval.userId === userId);
}

/** Refuses the click until the person has seen the changed impact and all open incidents. */
function requireSeenFindings(context: ApprovalContext): ClickDecision | undefined {
  const { click, order } = context;
  if (order.state === 'PENDING' && getOrderTask(order.task).risk !== 'none') {
    if (click.impact === undefined) return { needs: 'impact' };
    if (click.impact === 'changed') return { refusal: { code: 'impact_changed' } };
  }
  return requireSeenIncidents(context);
}

function requireSeenIncidents({ click, incidents }: ApprovalContext): ChangeDecision | undefined {
  const informedAt = incidents?.informedSince.get(click.userId);
  if (incidents === undefined || (informedAt !== undefined && informedAt <= click.at)) return undefined;
  return { refusal: { code: 'incident_open', incidents: incidents.incidents } };
}
