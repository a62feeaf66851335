import { formatCanonicalJson } from '../lib/canonical-json.ts';
import { MINUTE_MS } from '../lib/duration.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { Order } from '../orders/order.ts';
import type { FinalCheckRows, MandateUse } from '../orders/ports.ts';
import { verifyStatement } from '../orders/statement.ts';
import { needsSignatures } from '../policy/policy.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import { type DueOrderFacts, decideSend, findSendHoldReason, type SendDecision } from './acting.ts';
import type { HoldReason } from './codes.ts';
import { buildRenewal, loadRenewal, loadReservation } from './facts.ts';
import { readMandate } from './mandate.ts';

/**
 * The last checks before a mandate's order is sent: everything that a person's approval would check. Some are repeated
 * in the transaction that marks the order as sent.
 */

/** Whether a mandate's order may be sent now, and the checks to repeat when the order is marked as sent. */
export type SendingClearance =
  | (Extract<SendDecision, { kind: 'clear' }> & { readonly mandateUse: MandateUse })
  | Exclude<SendDecision, { kind: 'clear' }>;

export async function checkClearance(deps: OrdersContext, order: Order): Promise<SendingClearance> {
  const now = deps.now();
  const loadedFacts = await loadDueFacts(deps, order, now);
  if (!('facts' in loadedFacts)) return loadedFacts;
  const { facts, reservation, signedMandate } = loadedFacts;
  const clearance = decideSend(facts, now);
  if (clearance.kind !== 'clear') return clearance;
  if (reservation === undefined) return { kind: 'held', code: 'budget_empty' };
  return {
    kind: 'clear',
    mandateUse: { reservation, signedMandate, check: createFinalCheck(deps, reservation.day) },
  };
}

/** All facts about a due order, or the decision if some can't be loaded. */
async function loadDueFacts(deps: OrdersContext, order: Order, now: Date) {
  const createHold = (code: HoldReason) => ({ kind: 'held', code }) as const;
  const [item] = order.items;
  const [act, mandateOrder] = await Promise.all([
    deps.mandates.findByOrder(order.id),
    order.mandate === undefined ? undefined : deps.store.load(order.mandate.id, 'system'),
  ]);
  if (item === undefined || act === undefined || mandateOrder === undefined)
    return createHold('mandate_ended');
  const name = await deps.mandates.find(item.name);
  if (name === undefined || !isMandateRenewal(mandateOrder, order, item.name)) return createHold('moved_out');
  const renewal = await loadRenewal(deps, mandateOrder, name, order.id);
  if (renewal === undefined)
    return { kind: 'later', until: new Date(now.getTime() + MEMBERSHIP_RETRY_MS) } as const;
  const reservation = await loadReservation(deps, item.name, renewal, getUtcDay(now), order.id);
  const facts: DueOrderFacts = {
    ...renewal.facts,
    mandate: readMandate(mandateOrder),
    isMandateUnchanged: verifyStatement(mandateOrder, deps.serviceEndpoints) !== undefined,
    name: item.name,
    affectedTags: (await deps.loadAffectedTags([item.name])).get(item.name) ?? [],
    plannedExpiry: act.expiresAt,
    expiresAt: name.expiresAt,
    isLapsing: name.isLapsing,
    announcedAt: act.announcedAt,
    usedAmounts: await deps.mandates.loadUsedAmounts(mandateOrder.id, order.id),
    fitsBudgets: reservation !== undefined,
    createdAt: act.at,
    lastLookupAt: name.lastLookupAt,
  };
  const signedMandate = needsSignatures(renewal.evaluatedOrder.requirements) ? mandateOrder : undefined;
  return { facts, reservation, signedMandate };
}

/**
 * Whether an order is exactly the renewal that its mandate creates for a name. The mandate's approvals don't apply to
 * any other order.
 */
export function isMandateRenewal(mandate: Order, order: Order, name: string): boolean {
  const { task, input, requesterId } = buildRenewal(mandate, name);
  return (
    order.task === task &&
    order.items.length === 1 &&
    order.requesterId === requesterId &&
    order.account.id === mandate.account.id &&
    formatCanonicalJson(order.input) === formatCanonicalJson(input)
  );
}

/** How soon an order is checked again if Slack couldn't look up people. */
const MEMBERSHIP_RETRY_MS = 5 * MINUTE_MS;

/** @param day the day (UTC) whose amounts were reserved. On another day, the order must be checked again */
function createFinalCheck({ serviceEndpoints, now }: OrdersContext, day: string): MandateUse['check'] {
  return (mandateOrder: Order | undefined, rows: FinalCheckRows) => {
    const mandate = mandateOrder && readMandate(mandateOrder);
    const isMandateUnchanged =
      mandateOrder !== undefined && verifyStatement(mandateOrder, serviceEndpoints) !== undefined;
    const checkedAt = now();
    return (
      findSendHoldReason({ ...rows, mandate, isMandateUnchanged }, checkedAt) ??
      (getUtcDay(checkedAt) === day ? undefined : 'day_full')
    );
  };
}
