import { checkApprover, loadApproverRights } from '../approvals/approvers.ts';
import { settleEach, throwIfAny } from '../lib/collections.ts';
import { WEEK_MS } from '../lib/duration.ts';
import { type ChangeDecision, type ChangeOutcome, changeOrder } from '../orders/change-order.ts';
import { decideContradiction, loadChangedParts } from '../orders/check-statement.ts';
import type { OrdersContext } from '../orders/context.ts';
import { findLogDifference } from '../orders/log-limits.ts';
import type { Order } from '../orders/order.ts';
import { checkMembers, findParties, type MemberCheck, summarizeMissingAccount } from '../orders/parties.ts';
import type { OrderStore, SystemViewer } from '../orders/ports.ts';
import type { PlainSummary, StatementPart } from '../orders/summary.ts';
import type { MandateEnd } from './codes.ts';
import { type ActiveMandate, isActive, readMandate } from './mandate.ts';
import { computeMandateEnd, mandateTermsSchema } from './terms.ts';

/** Starts and ends mandates. `run.ts` creates the orders of active mandates. */

/** People are notified this long before a mandate ends. */
const ENDING_SOON_MS = WEEK_MS;

/**
 * Starts an approved mandate if its order is unchanged and the people it depends on are still members. Sends nothing.
 * @returns false if Slack can't look up one of these people, so the caller must try again
 */
export async function activateMandate(deps: OrdersContext, orderId: string): Promise<boolean> {
  const outcome = await changeOrder(deps, orderId, async (order) =>
    decideActivation(await loadActivation(deps, order)),
  );
  return outcome.ok || outcome.refusal.code !== 'membership_unknown';
}

interface ActivationContext {
  readonly order: Order;
  readonly changedParts: readonly StatementPart[] | undefined;
  readonly isAccountLinked: boolean;
  readonly members: MemberCheck;
  readonly now: Date;
}

async function loadActivation(deps: OrdersContext, order: Order): Promise<ActivationContext> {
  const { people, isLinked: isAccountLinked } = await findParties(deps.findAccount, order);
  return {
    order,
    isAccountLinked,
    now: deps.now(),
    members: await checkMembers(deps.directory, people),
    changedParts: await loadChangedParts(deps, order),
  };
}

export function decideActivation(context: ActivationContext): ChangeDecision {
  const { order, members, now } = context;
  const stop = (summary: PlainSummary): ChangeDecision => ({ event: { type: 'stopped', summary } });
  if (order.state !== 'APPROVED' || order.task !== 'mandate') return { refusal: { code: 'not_due' } };
  if (context.changedParts !== undefined)
    return stop({ code: 'statement_changed', parts: [...context.changedParts] });
  if (!context.isAccountLinked) return stop(summarizeMissingAccount(order));
  if (members.kind === 'left') return stop(members.summary);
  if (members.kind === 'unknown') return { refusal: { code: 'membership_unknown', userId: members.userId } };
  const expiresAt = computeMandateEnd(mandateTermsSchema.parse(order.input));
  if (expiresAt <= now) return stop({ code: 'mandate_held', holdReason: 'mandate_ended' });
  return {
    event: { type: 'in_force', expiresAt, remindAt: new Date(expiresAt.getTime() - ENDING_SOON_MS) },
  };
}

/** Announces that a mandate ends soon, or ends the mandate, if due. */
export async function advanceMandate(deps: OrdersContext, order: Order): Promise<void> {
  const step = findDueStep(order, deps.now());
  if (step === 'end') await endWithReason(deps, order.id, { cause: 'expired' });
  if (step === 'announce') await changeOrder(deps, order.id, () => ({ event: { type: 'mandate_ending' } }));
}

export function findDueStep(
  { mandateEnd, expiresAt, remindAt }: Order,
  now: Date,
): 'end' | 'announce' | undefined {
  if (mandateEnd !== undefined) return undefined;
  if (expiresAt !== undefined && expiresAt <= now) return 'end';
  return remindAt !== undefined && remindAt <= now ? 'announce' : undefined;
}

/** Ends a mandate immediately for its requester or an approver, and stops the mandate's unsent orders. */
export async function endMandate(
  deps: OrdersContext,
  orderId: string,
  userId: string,
): Promise<ChangeOutcome> {
  const order = await deps.store.load(orderId, 'system');
  if (order !== undefined && order.requesterId !== userId) {
    const rights = await loadApproverRights(deps, order, [userId], 'general');
    const refusal = checkApprover(rights, userId, 'end_mandate');
    if (refusal !== undefined) return { ok: false, refusal, order };
  }
  return endWithReason(deps, orderId, { cause: 'person', by: userId });
}

/** Ends a mandate if a person it depends on has left. @returns whether one has left */
export async function endIfPersonLeft(deps: OrdersContext, order: Order): Promise<boolean> {
  const { people } = await findParties(deps.findAccount, order);
  const [requester, owner] = people;
  const parties: { readonly userId: string; readonly cause: MandateEnd['cause'] }[] = [
    ...(requester === undefined ? [] : [{ ...requester, cause: 'requester_left' as const }]),
    ...(owner === undefined ? [] : [{ ...owner, cause: 'owner_left' as const }]),
    ...order.approvals.map(({ userId }) => ({ userId, cause: 'approver_left' as const })),
  ];
  for (const { userId, cause } of parties) {
    if ((await deps.directory.findMembership(userId)) !== 'left') continue;
    await endWithReason(deps, order.id, { cause, by: userId });
    return true;
  }
  return false;
}

/** Ends all active mandates, because the restored database may lack some of their spending. */
export async function endMandatesAfterRestore(deps: OrdersContext): Promise<void> {
  for (const { id, mandateEnd } of await loadStartedMandates(deps.store, 'system'))
    if (mandateEnd === undefined)
      await changeOrder(deps, id, () => ({ event: { type: 'mandate_ended', cause: 'database_restored' } }));
}

/** Ends a mandate whose rows differ from its log. @returns whether rows and log differ */
export async function endIfLogDiffers(deps: OrdersContext, order: Order): Promise<boolean> {
  const history = await deps.store.loadHistory(order.id, 'system');
  if (findLogDifference(order, history, deps.store.isSignedByBot) === undefined) return false;
  await changeOrder(deps, order.id, (current) => decideContradiction(deps, current));
  await stopUnsentOrders(deps, order.id);
  return true;
}

const MAX_MANDATES = 500;

/** The orders of all mandates that have started, newest first. */
export function loadStartedMandates(store: OrderStore, viewer: SystemViewer): Promise<readonly Order[]> {
  return store.list({ viewer, tasks: ['mandate'], states: ['SUCCEEDED'], limit: MAX_MANDATES });
}

/** Sorted oldest first. */
export async function loadActiveMandates(
  { store, now }: { readonly store: OrderStore; readonly now: () => Date },
  viewer: SystemViewer,
): Promise<readonly ActiveMandate[]> {
  const at = now();
  return (await loadStartedMandates(store, viewer)).toReversed().flatMap((order) => {
    const mandate = readMandate(order);
    return mandate !== undefined && isActive(mandate, at) ? [{ order, mandate }] : [];
  });
}

async function endWithReason(
  deps: OrdersContext,
  orderId: string,
  reason: Omit<MandateEnd, 'at'>,
): Promise<ChangeOutcome> {
  const outcome = await changeOrder(deps, orderId, (order) =>
    order.mandateEnd === undefined && order.task === 'mandate' && order.state === 'SUCCEEDED'
      ? { event: { type: 'mandate_ended', ...reason } }
      : { refusal: { code: 'not_in_force' } },
  );
  if (outcome.ok) await stopUnsentOrders(deps, orderId);
  return outcome;
}

/** Stops an ended mandate's unsent orders. None would be sent anyway, but this notifies people immediately. */
export async function stopUnsentOrders(deps: OrdersContext, mandateId: string): Promise<void> {
  const results = await settleEach(await deps.mandates.listInProgressOrderIds(mandateId), (orderId) =>
    changeOrder(deps, orderId, () => ({
      event: { type: 'stopped', summary: { code: 'mandate_held', holdReason: 'mandate_ended' } },
    })),
  );
  throwIfAny(results.errors);
}
