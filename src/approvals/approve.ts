import { type ChangeOutcome, changeOrder, commitDecision } from '../orders/change-order.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { Order } from '../orders/order.ts';
import type { Refusal } from '../orders/refusal.ts';
import { type Click, loadApprovalContext } from './approval-context.ts';
import { checkCanDecide, evaluateRights, loadDecisionContext } from './approvers.ts';
import { checkEmergencyApproval, decideClick } from './decide-approval.ts';
import { isWaitingForPerson, loadEvaluation } from './requirements.ts';
import type { LoggedSignature } from './signing/approval.ts';

type NewClick = Omit<Click, 'at' | 'agreedExcess' | 'impact'>;

export function approveOrder(
  context: OrdersContext,
  orderId: string,
  userId: string,
  reason?: string,
): Promise<ChangeOutcome> {
  return applyClick(context, orderId, { kind: 'approve', userId, reason, signed: undefined });
}

export function approveWithSignature(
  context: OrdersContext,
  orderId: string,
  userId: string,
  signed: LoggedSignature,
): Promise<ChangeOutcome> {
  return applyClick(context, orderId, { kind: 'approve', userId, reason: undefined, signed });
}

export function resumeOrder(
  context: OrdersContext,
  orderId: string,
  userId: string,
  signed?: LoggedSignature,
): Promise<ChangeOutcome> {
  return applyClick(context, orderId, { kind: 'resume', userId, reason: undefined, signed });
}

/** Lets a single admin approve a pending order (break glass). Refused without a reason. */
export function approveInEmergency(
  context: OrdersContext,
  orderId: string,
  userId: string,
  reason: string | undefined,
): Promise<ChangeOutcome> {
  return applyClick(context, orderId, { kind: 'break_glass', userId, reason, signed: undefined });
}

const MAX_ATTEMPTS = 50;

/**
 * Starts over if the order has changed, if the impact must be looked up first, or if some names were stopped
 * because an earlier order had already carried out the task for them.
 */
async function applyClick(
  context: OrdersContext,
  orderId: string,
  newClick: NewClick,
): Promise<ChangeOutcome> {
  let click: Click = { ...newClick, at: context.now(), agreedExcess: undefined, impact: undefined };
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const approvalContext = await loadApprovalContext(context, orderId, click);
    if (approvalContext === undefined)
      return { ok: false, refusal: { code: 'no_such_order' }, order: undefined };
    const decision = decideClick(approvalContext);
    click = { ...approvalContext.click, impact: undefined };
    if ('needs' in decision) {
      click = { ...click, impact: await context.checkImpact(approvalContext.order, click.at) };
      continue;
    }
    if ('refusal' in decision) return refuseClick(context, approvalContext.order, decision.refusal);
    const outcome = await commitDecision(context, approvalContext.order, decision, true);
    if (outcome?.ok === false) return refuseClick(context, approvalContext.order, outcome.refusal);
    if (outcome === undefined || (decision.event.type === 'stopped' && isWaitingForPerson(outcome.order)))
      continue;
    return outcome;
  }
  throw new Error(`approving order ${orderId}: gave up after ${MAX_ATTEMPTS} attempts`);
}

async function refuseClick(context: OrdersContext, order: Order, refusal: Refusal): Promise<ChangeOutcome> {
  // Updates the card, which may not show the reason yet.
  if (REFUSALS_SHOWN_ON_CARD.has(refusal.code))
    await context.store.queueMessageUpdate(order.id, context.now());
  return { ok: false, refusal, order };
}

const REFUSALS_SHOWN_ON_CARD: ReadonlySet<Refusal['code']> = new Set([
  'excess_not_shown',
  'over_budget',
  'incident_open',
]);

/**
 * Records that a person was shown why their click was refused, so that their next click is accepted. The
 * second click of a double click comes too early to be accepted.
 */
export async function recordRefusalShown(
  context: OrdersContext,
  orderId: string,
  userId: string,
  refusal: Refusal,
): Promise<void> {
  if (refusal.code === 'incident_open')
    await context.incidents.recordShown(orderId, userId, refusal.incidents);
  if (refusal.code === 'impact_changed') await context.recordImpactWarning(orderId);
}

/** Call this before opening the form for the comment. */
export async function checkCanApprove(
  context: OrdersContext,
  order: Order,
  userId: string,
): Promise<Refusal | undefined> {
  if (order.state !== 'PENDING') return { code: 'wrong_state', action: 'approved', state: order.state };
  const rights = evaluateRights(await loadDecisionContext(context, order, [userId]), [userId]);
  return checkCanDecide(order, userId, 'approve', rights);
}

/** Call this before opening the form for the reason. */
export async function checkCanBreakGlass(
  context: OrdersContext,
  order: Order,
  userId: string,
): Promise<Refusal | undefined> {
  const isAdmin = await context.isAdmin(userId);
  const { requirements } = await loadEvaluation(context, order);
  return checkEmergencyApproval(order, userId, isAdmin, requirements);
}

export function signOff(context: OrdersContext, orderId: string, userId: string): Promise<ChangeOutcome> {
  return changeOrder(context, orderId, async () =>
    (await context.isAdmin(userId))
      ? { event: { type: 'signed_off', by: userId } }
      : { refusal: { code: 'not_an_admin', action: 'sign_off' } },
  );
}
