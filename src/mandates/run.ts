import { randomUUID } from 'node:crypto';
import type { Account } from '../accounts/account.ts';
import { dropMissing, settleEach, throwIfAny } from '../lib/collections.ts';
import { DAY_MS } from '../lib/duration.ts';
import type { OrdersContext } from '../orders/context.ts';
import { buildOrder } from '../orders/decide-request.ts';
import type { Order } from '../orders/order.ts';
import { checkRequest, generateOrderId, type OrderRequest } from '../orders/request-context.ts';
import { requestOrder } from '../orders/request-order.ts';
import { NO_SECRETS } from '../orders/salted-secret.ts';
import { decideRenewal, isRenewalDue, type SendPlan } from './acting.ts';
import type { HoldReason } from './codes.ts';
import { buildRenewal, type LoadedRenewal, loadRenewal, loadReservation, toNameExpiry } from './facts.ts';
import { endIfLogDiffers, endIfPersonLeft, loadStartedMandates, stopUnsentOrders } from './life.ts';
import { type ActiveMandate, findApplicableMandate, isActive, readMandate } from './mandate.ts';
import type { MandateAct, MandateName } from './ports.ts';
import { MAX_NOTICE_DAYS } from './terms.ts';

/**
 * Creates a mandate's order or a regular order for each due name. Idempotent, even across replicas, because only one
 * act is saved per name and expiry date.
 */

/** Names read per query. */
const PAGE_SIZE = 200;
/** The longest time after expiry in which a name may still be renewable. */
const MAX_GRACE_DAYS = 45;
/** Held names processed per run. */
const MAX_HELD_NAMES = 500;

/**
 * Maintains all mandates and renews due names. A failure doesn't affect other mandates and names.
 * @throws {AggregateError} after everything was attempted
 */
export async function runMandates(deps: OrdersContext): Promise<void> {
  const maintenance = await settleEach(await loadStartedMandates(deps.store, 'system'), (order) =>
    maintainMandate(deps, order),
  );
  if (deps.serviceEndpoints.jsonUrl === undefined) return throwIfAny(maintenance.errors);
  const renewalErrors = await renewDueNames(deps, dropMissing(maintenance.results));
  throwIfAny([...maintenance.errors, ...renewalErrors, ...(await requestRegularOrders(deps))]);
}

async function requestRegularOrders(deps: OrdersContext): Promise<readonly unknown[]> {
  const heldActs = await deps.mandates.listDueForRegularOrder(deps.now(), MAX_HELD_NAMES);
  const { errors } = await settleEach(heldActs, async (act) => {
    try {
      await requestRegularOrder(deps, act);
    } catch (err) {
      await deps.mandates.delayRegularOrder(act.id, deps.now());
      throw err;
    }
  });
  const delayedCount = await deps.mandates.countDelayedOrders();
  return delayedCount > errors.length
    ? [...errors, new Error(`regular orders for ${delayedCount} held names couldn't be created yet`)]
    : errors;
}

/**
 * Ends a mandate if its rows differ from its log or a person it depends on has left. Stops an ended mandate's unsent
 * orders.
 * @returns the mandate if it is still active
 */
async function maintainMandate(deps: OrdersContext, order: Order): Promise<ActiveMandate | undefined> {
  const mandate = readMandate(order);
  if (mandate === undefined || (await endIfLogDiffers(deps, order))) return undefined;
  if (isActive(mandate, deps.now()))
    return (await endIfPersonLeft(deps, order)) ? undefined : { order, mandate };
  await stopUnsentOrders(deps, mandate.id);
  return undefined;
}

async function renewDueNames(deps: OrdersContext, activeMandates: readonly ActiveMandate[]) {
  const errors: unknown[] = [];
  if (activeMandates.length === 0) return errors;
  const mandates = activeMandates.map(({ mandate }) => mandate);
  const now = deps.now();
  const from = new Date(now.getTime() - MAX_GRACE_DAYS * DAY_MS);
  const until = new Date(now.getTime() + MAX_NOTICE_DAYS * DAY_MS);
  let lastReadName: MandateName | undefined;
  for (;;) {
    const page: readonly MandateName[] = await deps.mandates.listDueNames(
      from,
      until,
      lastReadName,
      PAGE_SIZE,
    );
    const affectedTags = await deps.loadAffectedTags(page.map(({ name }) => name));
    for (const name of page) {
      const mandate = findApplicableMandate(mandates, name.name, affectedTags.get(name.name) ?? [], now);
      const matchingMandate = activeMandates.find((candidate) => candidate.mandate === mandate);
      if (matchingMandate === undefined || !isRenewalDue(matchingMandate.mandate, toNameExpiry(name), now))
        continue;
      await renewName(deps, matchingMandate, name).catch((err: unknown) => {
        errors.push(err);
        deps.log.error(
          { err, mandateId: matchingMandate.mandate.id, name: name.name },
          'renewing a name under its mandate failed',
        );
      });
    }
    if (page.length < PAGE_SIZE) return errors;
    lastReadName = page.at(-1);
  }
}

async function renewName(
  deps: OrdersContext,
  { order, mandate }: ActiveMandate,
  name: MandateName,
): Promise<void> {
  const renewal = await loadRenewal(deps, order, name);
  // Decide in a later run if another order is open or Slack can't look up people.
  if (renewal === undefined || renewal.hasOpenOrder) return;
  const now = deps.now();
  const usedAmounts = await deps.mandates.loadUsedAmounts(mandate.id);
  const plan = decideRenewal(mandate, renewal.facts, usedAmounts, now);
  // Another mandate may cover the name later, so no act is saved.
  if (plan === 'mandate_ended') return;
  const act = {
    name: name.name,
    expiresAt: name.expiresAt,
    mandateId: mandate.id,
    at: now,
    amount: renewal.facts.amount,
  };
  const holdReason =
    typeof plan === 'string' ? plan : await createRenewalOrder(deps, { order, name, renewal, plan });
  if (holdReason !== undefined) await deps.mandates.saveHold(act, holdReason);
}

interface PlannedRenewal {
  readonly order: Order;
  readonly name: MandateName;
  readonly renewal: LoadedRenewal;
  readonly plan: SendPlan;
}

async function createRenewalOrder(
  deps: OrdersContext,
  planned: PlannedRenewal,
): Promise<HoldReason | undefined> {
  const { order: mandate, name, renewal, plan } = planned;
  const reservation = await loadReservation(deps, name.name, renewal, plan.day);
  if (reservation === undefined) return 'budget_empty';
  const account = await deps.findAccount(mandate.account.id);
  if (account === undefined) return 'account_gone';
  const request: OrderRequest & { account: Account } = {
    ...(await buildRenewalRequest(deps, mandate, name.name)),
    account,
    mandateOrder: { id: mandate.id },
    sendAfter: plan.sendAfter,
    // Random, because an act's order can be stopped and created again.
    deliveryId: `mandate:${randomUUID()}`,
  };
  const checkedRequest = checkRequest(deps.listInterfaces(account), request);
  if (checkedRequest.kind !== 'checked') return 'account_gone';
  const now = deps.now();
  const creation = buildOrder(
    {
      ...{ now, id: generateOrderId(), request, account, checked: checkedRequest, schedule: undefined },
      evaluated: renewal.evaluatedOrder,
      price: renewal.cost,
      firstExpiry: name.expiresAt,
      budgets: { price: renewal.cost, exceeded: [], reservation },
      secrets: NO_SECRETS,
      serviceEndpoints: deps.serviceEndpoints,
    },
    { state: 'APPROVED', deadlines: { expiresAt: toNameExpiry(name).renewableUntil } },
  );
  if ('issue' in creation) return 'account_gone';
  const act = {
    name: name.name,
    expiresAt: name.expiresAt,
    mandateId: mandate.id,
    at: now,
    amount: plan.amount,
  };
  await deps.mandates.saveOrder(act, { order: creation.order, log: [creation.logEntry], reservation });
  // If a limit was exceeded, or another order was saved first, the next run decides again.
  return undefined;
}

/**
 * Builds a renewal request on behalf of the mandate's requester. Notifications go to the reminders channel or, if
 * there is none, to the channel where the mandate was requested.
 */
async function buildRenewalRequest({ loadSettings }: OrdersContext, mandate: Order, name: string) {
  const { task, input, requesterId } = buildRenewal(mandate, name);
  const channelId = (await loadSettings()).reminderChannel ?? mandate.channelId;
  return { task, input, requesterId, channelId, secret: undefined, reason: undefined, threadTs: undefined };
}

/** Requests a regular order for a held name. */
async function requestRegularOrder(deps: OrdersContext, act: MandateAct): Promise<void> {
  const mandateOrder = await deps.store.load(act.mandateId, 'system');
  if (mandateOrder === undefined) return;
  const account =
    (await deps.findAccount(mandateOrder.account.id)) ??
    (await deps.findDefaultAccount(mandateOrder.requesterId));
  const outcome = await requestOrder(deps, {
    ...(await buildRenewalRequest(deps, mandateOrder, act.name)),
    account,
    isHeldByMandate: true,
    deliveryId: `mandate-held:${act.id}`,
  });
  const hasOrder = outcome.kind === 'accepted' || outcome.kind === 'already_open';
  // The mandate's own order is still open, and will be stopped soon.
  if (outcome.kind === 'already_open' && outcome.order.mandate !== undefined) return;
  await deps.mandates.recordRegularOrder(act.id, hasOrder ? outcome.order.id : undefined, deps.now());
}
