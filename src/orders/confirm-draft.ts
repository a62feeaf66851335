import { type EvaluatedOrder, evaluateOrder, toEvaluationInput } from '../approvals/requirements.ts';
import { type ChangeDecision, changeOrder } from './change-order.ts';
import type { OrdersContext } from './context.ts';
import { computeDeadlines } from './deadlines.ts';
import { toPolicyDecision } from './decide-request.ts';
import { getChosenSendTime, type Order } from './order.ts';
import { type BudgetUse, computeBudgetUse, computeOrderCost, pickBudgetedItems } from './order-budget.ts';
import type { Refusal } from './refusal.ts';

const DRAFT_GONE: Refusal = { code: 'draft_deleted' };

/** Deletes a draft for its requester. @returns undefined if deleted */
export async function discardDraft(
  { store }: OrdersContext,
  orderId: string,
  userId: string,
): Promise<Refusal | undefined> {
  const order = await store.load(orderId, 'system');
  if (order === undefined) return DRAFT_GONE;
  if (order.requesterId !== userId) return { code: 'not_the_requester', action: 'cancel' };
  if (await store.deleteDraft(orderId)) return undefined;
  const { state } = (await store.load(orderId, 'system')) ?? {};
  return state === undefined ? DRAFT_GONE : { code: 'wrong_state', action: 'cancelled', state };
}

export type ConfirmOutcome =
  | { readonly kind: 'confirmed'; readonly order: Order }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'already_open'; readonly order: Order };

interface ConfirmationContext {
  readonly evaluatedOrder: EvaluatedOrder;
  /** Empty if the order needs an approval. */
  readonly budgets: BudgetUse;
  readonly firstExpiry: Date | undefined;
}

async function loadConfirmationContext(context: OrdersContext, order: Order): Promise<ConfirmationContext> {
  const names = order.items.map(({ name }) => name);
  const [evaluatedOrder, firstExpiry] = await Promise.all([
    evaluateOrder(context, toEvaluationInput(order)),
    context.findFirstExpiry(names),
  ]);
  const cost = evaluatedOrder.requirements.outcome === 'free' ? computeOrderCost(context, order) : undefined;
  const budgets = await computeBudgetUse(context, order, pickBudgetedItems(order), cost);
  return { evaluatedOrder, budgets, firstExpiry };
}

/** Why a person can't confirm an order. */
export function checkConfirmation(order: Order, userId: string, now: Date): Refusal | undefined {
  if (order.state === 'DRAFT' && order.expiresAt !== undefined && order.expiresAt <= now) return DRAFT_GONE;
  if (order.requesterId !== userId) return { code: 'not_the_requester', action: 'confirm' };
  if (order.state !== 'DRAFT') return { code: 'wrong_state', action: 'confirmed', state: order.state };
  const chosenSendTime = getChosenSendTime(order);
  return chosenSendTime !== undefined && chosenSendTime <= now
    ? { code: 'send_at', issue: 'past' }
    : undefined;
}

function decideConfirmation(
  { evaluatedOrder, budgets, firstExpiry }: ConfirmationContext,
  now: Date,
  chosenSendTime: Date | undefined,
): ChangeDecision {
  const { requirements } = evaluatedOrder;
  if (requirements.outcome === 'refuse')
    return { refusal: { code: 'policy_refuses', rules: requirements.refusedBy } };
  const decision = toPolicyDecision(evaluatedOrder);
  const isOverBudget = budgets.exceeded.length > 0;
  return {
    extra: { reservation: budgets.reservation },
    event: {
      type: 'confirmed',
      needsApproval: requirements.outcome !== 'free' || isOverBudget,
      ...computeDeadlines(requirements, now, firstExpiry, chosenSendTime),
      decision: isOverBudget ? { ...decision, approvalsRequired: 0 } : decision,
    },
  };
}

/** Confirms a draft for its requester. Other people can see a confirmed order. */
export async function confirmOrder(
  context: OrdersContext,
  orderId: string,
  userId: string,
): Promise<ConfirmOutcome> {
  const outcome = await changeOrder(context, orderId, async (order) => {
    const refusal = checkConfirmation(order, userId, context.now());
    return refusal === undefined
      ? decideConfirmation(
          await loadConfirmationContext(context, order),
          context.now(),
          getChosenSendTime(order),
        )
      : { refusal };
  });
  if (outcome.ok) return { kind: 'confirmed', order: outcome.order };
  const { refusal } = outcome;
  if (refusal.code === 'no_such_order') return { kind: 'refused', refusal: DRAFT_GONE };
  if (refusal.code !== 'already_open') return { kind: 'refused', refusal };
  const openOrder = await context.store.load(refusal.orderId, 'system');
  return openOrder === undefined
    ? confirmOrder(context, orderId, userId)
    : { kind: 'already_open', order: openOrder };
}
