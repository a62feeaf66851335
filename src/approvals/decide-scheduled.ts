import { HOUR_MS } from '../lib/duration.ts';
import { isSameCost } from '../money/prices.ts';
import { computeDeadlines } from '../orders/deadlines.ts';
import { getChosenSendTime, type OrderEvent } from '../orders/order.ts';
import { type BudgetUse, findExcessConsent } from '../orders/order-budget.ts';
import type { OrderLogEntry } from '../orders/order-events.ts';
import type { ImpactCheck, OpenIncidents } from '../orders/ports.ts';
import type { ReopenReason } from '../orders/summary.ts';
import type { DecisionContext } from './approvers.ts';
import { countApprovals, dropUnwarnedApprovals } from './count-approvals.ts';
import { computeMinimumApprovals } from './requirements.ts';

/** An order that is delayed by more than this needs approval again. */
const MAX_LATENESS_MS = HOUR_MS;
/** How long to wait if Slack can't look up approvers. */
const RECHECK_DELAY_MS = 20_000;

/** Current facts, to compare with the facts when the order was approved. */
export interface RecheckContext extends DecisionContext {
  readonly history: readonly OrderLogEntry[];
  readonly signers: ReadonlySet<string>;
  readonly budgets: BudgetUse;
  /** The admins among the approvers. */
  readonly admins: ReadonlySet<string>;
  readonly warnedAt: Date | undefined;
  readonly incidents: OpenIncidents | undefined;
  readonly impact: ImpactCheck;
  readonly firstExpiry: Date | undefined;
}

export type RecheckDecision =
  | { readonly kind: 'unchanged' }
  /** Slack can't look up some approvers. `until` is the time of the next check. */
  | { readonly kind: 'unclear'; readonly until: Date }
  | {
      readonly kind: 'changed';
      readonly event: Extract<OrderEvent, { readonly type: 'reopened' | 'stopped' }>;
    };

export function decideRecheck(context: RecheckContext): RecheckDecision {
  const { now, budgets, evaluation, firstExpiry } = context;
  const { requirements, settings, policyVersion, decidedBy } = evaluation;
  if (requirements.outcome === 'refuse') {
    const summary = { code: 'policy_refuses' as const, rules: [...requirements.refusedBy] };
    return { kind: 'changed', event: { type: 'stopped', summary } };
  }
  const isApproved = hasSufficientApprovals(context);
  const reasons = [
    ...findReopenReasons(context),
    ...(isApproved === false ? [toApprovalReason(context)] : []),
  ];
  if (reasons.length === 0)
    return isApproved === 'unclear'
      ? { kind: 'unclear', until: new Date(now.getTime() + RECHECK_DELAY_MS) }
      : { kind: 'unchanged' };
  const approvalsRequired = budgets.exceeded.length > 0 ? 0 : computeMinimumApprovals(requirements, settings);
  return {
    kind: 'changed',
    event: {
      type: 'reopened',
      reasons,
      price: budgets.price,
      decision: { policyVersion, requirements, decidedBy, approvalsRequired },
      ...computeDeadlines(requirements, now, firstExpiry),
    },
  };
}

function findReopenReasons(context: RecheckContext): ReopenReason[] {
  const { order, now, history, budgets, impact, incidents, warnedAt, admins } = context;
  const { approvals } = order;
  const latenessMs = now.getTime() - (getChosenSendTime(order) ?? now).getTime();
  const lateReasons: ReopenReason[] = latenessMs > MAX_LATENESS_MS ? ['late'] : [];
  const { exceeded, price } = budgets;
  const isExcessAgreed =
    exceeded.length === 0 || findExcessConsent(order, budgets, admins, approvals).admins.length > 0;
  const budgetReasons: ReopenReason[] = isExcessAgreed ? [] : ['budget'];
  // Without approvals, no price or impact was approved.
  if (approvals.length === 0) return [...lateReasons, ...budgetReasons];
  const lastApproval = history.findLast(({ kind }) => kind === 'approved' || kind === 'emergency_approved');
  const approvedPrice =
    lastApproval !== undefined && 'price' in lastApproval ? lastApproval.price : undefined;
  const isSamePrice =
    approvedPrice === undefined || price === undefined
      ? approvedPrice === price
      : isSameCost(approvedPrice, price);
  const wereApproversInformed = (warnings: Pick<RecheckContext, 'incidents' | 'warnedAt'>) =>
    dropUnwarnedApprovals(warnings, approvals).length === approvals.length;
  return [
    ...lateReasons,
    ...(isSamePrice ? [] : (['price'] as const)),
    ...budgetReasons,
    ...(impact !== 'changed' && wereApproversInformed({ incidents: undefined, warnedAt })
      ? []
      : (['impact'] as const)),
    ...(wereApproversInformed({ incidents, warnedAt: undefined }) ? [] : (['incident'] as const)),
  ];
}

/** An emergency approval stays sufficient unless the rules or the admin's rights have changed. */
function hasSufficientApprovals(context: RecheckContext): boolean | 'unclear' {
  const { order, evaluation, signers, admins, people } = context;
  const { emergencyApprovedBy, approvals } = order;
  const { requirements, isStricter } = evaluation;
  if (emergencyApprovedBy !== undefined)
    return requirements.breakGlass && !isStricter && admins.has(emergencyApprovedBy);
  const countResult = countApprovals(context, approvals, '', signers);
  if ('refusal' in countResult) return 'unclear';
  if (countResult.progress.isApproved) return true;
  return people.unreadableGroups.length > 0 ? 'unclear' : false;
}

function toApprovalReason({ evaluation, order }: RecheckContext): ReopenReason {
  return evaluation.isStricter || order.approvals.length === 0 ? 'requirements' : 'approvals';
}
