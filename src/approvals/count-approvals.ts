import type { ChangeDecision } from '../orders/change-order.ts';
import { findChangedParts } from '../orders/check-statement.ts';
import { buildEarlierOrderStopEvent } from '../orders/earlier.ts';
import type { Approval, ApprovalProgress, EvaluatedApproval } from '../orders/order.ts';
import { findExcessConsent } from '../orders/order-budget.ts';
import { summarizeMissingAccount } from '../orders/parties.ts';
import type { Refusal } from '../orders/refusal.ts';
import { verifyStatement } from '../orders/statement.ts';
import { findRuleChange } from '../orders/tasks.ts';
import { dropUnknownRules, findLoggedRules, needsSignatures } from '../policy/policy.ts';
import type { ApprovalContext } from './approval-context.ts';
import { type DecisionContext, evaluateRights, listRequesters } from './approvers.ts';
import { evaluateProgress } from './progress.ts';

interface CountedClick {
  readonly approval: EvaluatedApproval;
  readonly reservation: ReturnType<typeof findExcessConsent>['reservation'];
  readonly hasApprovedBefore: boolean;
}

/**
 * @param approvals earlier approvals that are still valid
 * @param refusal why the person may not approve, unless they agree to the budget excess as an admin
 */
export function countClick(
  context: ApprovalContext,
  approvals: readonly Approval[],
  refusal: Refusal | undefined,
): ChangeDecision | CountedClick {
  const { click, now, order, evaluation, budgets } = context;
  const { userId, agreedExcess, signed } = click;
  if (hasUnloggedRules(context)) return { refusal: { code: 'log_differs' } };
  const otherApprovals = approvals.filter((approval) => approval.userId !== userId);
  const allApprovals = [...otherApprovals, { userId, agreedExcess, at: now, signed }];
  const hasApprovedBefore = otherApprovals.length < approvals.length;
  const { exceeded, price } = budgets;
  const { admins, unawareAdmins, reservation } = findExcessConsent(
    order,
    budgets,
    context.admins,
    allApprovals,
  );
  if (unawareAdmins.includes(userId) && (refusal !== undefined || hasApprovedBefore))
    return { refusal: { code: 'excess_not_shown', exceeded } };
  if (refusal !== undefined && !admins.includes(userId)) return { refusal };
  const countResult = countApprovals(context, allApprovals, userId, collectSigners(context));
  // An unsigned click counts only toward requirements without a signature.
  const isCounted = 'refusal' in countResult || countResult.validApprovers.includes(userId);
  if (signed === undefined && needsSignatures(evaluation.requirements) && !isCounted)
    return { refusal: { code: 'signature_needed' } };
  const obstacle = findSendingObstacle(context);
  if (obstacle !== undefined) return obstacle;
  if ('refusal' in countResult) return countResult;
  const approval = {
    ...countResult,
    by: userId,
    signed,
    agreedExcess,
    price,
    budget: { exceeded, admins },
  };
  return { approval, reservation, hasApprovedBefore };
}

/** Whether the order's row has a rule that neither its log nor the policy has. An approval would log it. */
function hasUnloggedRules({ order, history, evaluation }: ApprovalContext): boolean {
  const { requirements, decidedBy } = evaluation;
  const rules = requirements.list.map(({ rule }) => rule);
  const knownRules = dropUnknownRules(rules, [...findLoggedRules(history), ...decidedBy]);
  return order.state === 'PENDING' && knownRules.length < rules.length;
}

function collectSigners({ click: { userId }, signers, isSigned }: ApprovalContext): ReadonlySet<string> {
  const otherSigners = [...signers].filter((signer) => signer !== userId);
  return new Set(isSigned ? [...otherSigners, userId] : otherSigners);
}

/** Drops approvals that were given before the approver saw a new finding or an open incident. */
export function dropUnwarnedApprovals(
  { warnedAt, incidents }: Pick<ApprovalContext, 'warnedAt' | 'incidents'>,
  approvals: readonly Approval[],
): readonly Approval[] {
  return approvals.filter(({ userId, at }) => {
    const informedAt = incidents?.informedSince.get(userId);
    const isInformed = incidents === undefined || (informedAt !== undefined && at >= informedAt);
    return isInformed && (warnedAt === undefined || at >= warnedAt);
  });
}

/** Drops the person's earlier approval if its signature is no longer valid, so that they can sign again. */
export function dropStaleApproval(
  { click, evaluation, signers }: ApprovalContext,
  approvals: readonly Approval[],
): readonly Approval[] {
  const { userId, signed } = click;
  const previous = approvals.find((approval) => approval.userId === userId);
  // An unsigned click doesn't replace an unsigned approval.
  if (previous === undefined || (previous.signed === undefined && signed === undefined)) return approvals;
  if (!needsSignatures(evaluation.requirements) || signers.has(userId)) return approvals;
  return approvals.filter((approval) => approval !== previous);
}

interface CountedApprovals {
  readonly validApprovers: readonly string[];
  readonly progress: ApprovalProgress;
  readonly unreadableGroups: readonly string[];
}

/** @param userId the person who clicked */
export function countApprovals(
  context: DecisionContext,
  approvals: readonly Omit<Approval, 'signed'>[],
  userId: string,
  signers: ReadonlySet<string>,
): CountedApprovals | { readonly refusal: Refusal } {
  const { requirements, policyVersion, isStricter } = context.evaluation;
  if (requirements.outcome === 'refuse')
    return { refusal: { code: 'policy_refuses', rules: requirements.refusedBy } };
  const approverIds = approvals.map((approval) => approval.userId);
  const { unconfirmedIds, unreadableGroups, allowSelfApproval } = evaluateRights(context, approverIds);
  const { isApproved, requirements: progress } = evaluateProgress(requirements, {
    requesters: listRequesters(context.order),
    approvedByIds: approverIds,
    signers,
    people: context.people.people,
    allowSelfApproval,
    now: context.now,
  });
  // If Slack can't look up an earlier approver, the click is refused.
  const unconfirmedId = approverIds.find((id) => id !== userId && unconfirmedIds.has(id));
  if (unconfirmedId !== undefined && !isApproved)
    return { refusal: { code: 'membership_unknown', userId: unconfirmedId } };
  const slotUserIds = progress.flatMap(({ slots }) => slots.map((slot) => slot.userId));
  const requirementProgress = progress.map(({ requirement: { rule, needed, approvers }, slots }) => ({
    rule,
    needed,
    approvers,
    slots,
  }));
  return {
    // Without requirements, the order waits only for consent to exceed a budget.
    validApprovers: requirements.outcome === 'free' ? approverIds : [...new Set(slotUserIds)],
    progress: { isApproved, policyVersion, isStricter, requirements: requirementProgress },
    unreadableGroups,
  };
}

/**
 * Returns why an order can't be sent: it differs from its request, its account is gone, the zone's rules forbid
 * it, a person has left, or an earlier order has already carried out part of it. Checks only pending and paused
 * orders.
 */
export function findSendingObstacle(context: ApprovalContext): ChangeDecision | undefined {
  const { order, history, preconditions } = context;
  if (preconditions === undefined) return undefined;
  const { serviceEndpoints, isAccountLinked, members, earlierFindings } = preconditions;
  if (verifyStatement(order, serviceEndpoints) === undefined) {
    const parts = [...findChangedParts(order, history, serviceEndpoints)];
    return { event: { type: 'stopped', summary: { code: 'statement_changed', parts } } };
  }
  const obstacle = isAccountLinked ? findRuleChange(order) : summarizeMissingAccount(order);
  const summary = members.kind === 'left' ? members.summary : obstacle;
  if (summary !== undefined) return { event: { type: 'stopped', summary } };
  if (members.kind === 'unknown') return { refusal: { code: 'membership_unknown', userId: members.userId } };
  const finding = earlierFindings.find(({ outcome }) => outcome === 'open');
  if (finding !== undefined) return { refusal: { code: 'earlier_order', finding } };
  const event = buildEarlierOrderStopEvent(order, earlierFindings);
  return event && { event };
}
