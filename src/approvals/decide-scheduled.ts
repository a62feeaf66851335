import { HOUR_MS } from '../lib/duration.ts';
import { isSameCost } from '../money/prices.ts';
import { computeDeadlines } from '../orders/deadlines.ts';
import { getChosenTime, type OrderEvent } from '../orders/order.ts';
import { type BudgetUse, findExcessConsent } from '../orders/order-budget.ts';
import type { OrderLogEntry } from '../orders/order-events.ts';
import type { ImpactCheck, OpenIncidents } from '../orders/ports.ts';
import type { ReopenReason } from '../orders/summary.ts';
import type { DecisionContext } from './approvers.ts';
import { countApprovals, dropUnwarnedApprovals } from './count-approvals.ts';
import { computeMinimumApprovals } from './requirements.ts';

/** Decides whether a scheduled order is sent when it is due. Pure. */

/** An order that is delayed by more than this needs approval again. */
const MAX_DELAY_MS = HOUR_MS;
/** Delay while Slack can't look up approvers. */
const RECHECK_DELAY_MS = 20_000;

/** The facts that approvers would see now. */
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
  /** Slack can't look up approvers. */
  | { readonly kind: 'unclear'; readonly until: Date }
  | {
      readonly kind: 'changed';
      readonly event: Extract<OrderEvent, { readonly type: 'reopened' | 'stopped' }>;
    };

export function decideRecheck(loaded: RecheckContext): RecheckDecision {
  const { now, budgets, evaluation, firstExpiry } = loaded;
  const { requirements, settings, policyVersion, decidedBy } = evaluation;
  if (requirements.outcome === 'refuse') {
    const summary = { code: 'policy_refuses' as const, rules: [...requirements.refusedBy] };
    return { kind: 'changed', event: { type: 'stopped', summary } };
  }
  const isApproved = checkApprovals(loaded);
  const reasons = [...findChanges(loaded), ...(isApproved === false ? [findApprovalReason(loaded)] : [])];
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

function findChanges(loaded: RecheckContext): ReopenReason[] {
  const { order, now, history, budgets, impact, incidents, warnedAt, admins } = loaded;
  const { approvals } = order;
  const lateMs = now.getTime() - (getChosenTime(order) ?? now).getTime();
  const late: ReopenReason[] = lateMs > MAX_DELAY_MS ? ['late'] : [];
  const { exceeded, price } = budgets;
  const isAgreed =
    exceeded.length === 0 || findExcessConsent(order, budgets, admins, approvals).admins.length > 0;
  const budget: ReopenReason[] = isAgreed ? [] : ['budget'];
  // Without approvals, no one has approved another price or impact.
  if (approvals.length === 0) return [...late, ...budget];
  const last = history.findLast(({ kind }) => kind === 'approved' || kind === 'emergency_approved');
  const approvedPrice = last !== undefined && 'price' in last ? last.price : undefined;
  const isSamePrice =
    approvedPrice === undefined || price === undefined
      ? approvedPrice === price
      : isSameCost(approvedPrice, price);
  const areInformed = (warnings: Pick<RecheckContext, 'incidents' | 'warnedAt'>) =>
    dropUnwarnedApprovals(warnings, approvals).length === approvals.length;
  return [
    ...late,
    ...(isSamePrice ? [] : (['price'] as const)),
    ...budget,
    ...(impact !== 'changed' && areInformed({ incidents: undefined, warnedAt }) ? [] : (['impact'] as const)),
    ...(areInformed({ incidents, warnedAt: undefined }) ? [] : (['incident'] as const)),
  ];
}

/**
 * Whether the order's approvals are still sufficient. An emergency approval stays sufficient unless the rules or the
 * admin's rights have changed.
 */
function checkApprovals(loaded: RecheckContext): boolean | 'unclear' {
  const { order, evaluation, signers, admins, people } = loaded;
  const { emergencyApprovedBy, approvals } = order;
  const { requirements, isStricter } = evaluation;
  if (emergencyApprovedBy !== undefined)
    return requirements.breakGlass && !isStricter && admins.has(emergencyApprovedBy);
  const counted = countApprovals(loaded, approvals, '', signers);
  if ('refusal' in counted) return 'unclear';
  if (counted.progress.isApproved) return true;
  return people.unreadableGroups.length > 0 ? 'unclear' : false;
}

function findApprovalReason({ evaluation, order }: RecheckContext): ReopenReason {
  return evaluation.isStricter || order.approvals.length === 0 ? 'requirements' : 'approvals';
}
