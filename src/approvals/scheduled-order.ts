import type { OrdersContext } from '../orders/context.ts';
import type { Order } from '../orders/order.ts';
import { loadBudgetUse } from '../orders/order-budget.ts';
import { getOrderTask } from '../orders/tasks.ts';
import { needsSignatures } from '../policy/policy.ts';
import { loadDecisionContext } from './approvers.ts';
import { decideRecheck, type RecheckDecision } from './decide-scheduled.ts';

export const UNCHANGED: RecheckDecision = { kind: 'unchanged' };

export async function recheckScheduledOrder(context: OrdersContext, order: Order): Promise<RecheckDecision> {
  const { approvals, items, task } = order;
  const userIds = approvals.map(({ userId }) => userId);
  const needsImpactCheck = approvals.length > 0 && getOrderTask(task).risk !== 'none';
  const [decisionContext, history, budgets, incidents, impact, firstExpiry, areAdmins] = await Promise.all([
    loadDecisionContext(context, order, userIds),
    context.store.loadHistory(order.id, 'system'),
    loadBudgetUse(context, order),
    context.incidents.loadOpenIncidents(order),
    needsImpactCheck ? context.checkImpact(order, context.now()) : ('none' as const),
    context.findFirstExpiry(items.map(({ name }) => name)),
    Promise.all(userIds.map((userId) => context.isAdmin(userId))),
  ]);
  const { requirements, policyVersion } = decisionContext.evaluation;
  const [warnedAt, signers] = await Promise.all([
    needsImpactCheck ? context.findLastImpactWarning(order) : undefined,
    needsSignatures(requirements) ? context.signing.loadSigners(order, policyVersion) : new Set<string>(),
  ]);
  const admins = new Set(userIds.filter((_, index) => areAdmins[index]));
  const facts = { history, budgets, incidents, impact, firstExpiry, warnedAt, signers, admins };
  return decideRecheck({ ...decisionContext, ...facts });
}
