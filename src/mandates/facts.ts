import { isTeamAccount } from '../accounts/account.ts';
import { listRequesters, loadPeople } from '../approvals/approvers.ts';
import { evaluateProgress, type StandIn } from '../approvals/progress.ts';
import { type EvaluatedOrder, evaluateOrder } from '../approvals/requirements.ts';
import { DAY_MS } from '../lib/duration.ts';
import type { Reservation } from '../money/budget.ts';
import type { OrderCost } from '../money/prices.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { Order } from '../orders/order.ts';
import { needsSignatures } from '../policy/policy.ts';
import { findZoneProfile } from '../zones/rules.ts';
import { computeEarliestSendTime, type NameExpiry, type RenewalFacts } from './acting.ts';
import type { MandateName } from './ports.ts';

/** Loads the current facts that a mandate's renewal depends on: everything that an approval would check. */

export function toNameExpiry({ name, expiresAt }: MandateName): NameExpiry {
  const graceDays = findZoneProfile(name).lifecycle?.autoRenewGraceDays ?? 0;
  return { name, expiresAt, renewableUntil: new Date(expiresAt.getTime() + graceDays * DAY_MS) };
}

/** The renewal of one name for one year, as input for the policy and the price list. */
export function buildRenewal({ requesterId, account }: Order, name: string) {
  const input = { names: [name], period: 1 };
  const usesTeamAccount = account.isTeamAccount ?? false;
  return { task: 'renew', names: [name], requesterId, input, usesTeamAccount } as const;
}

/** Current facts about a name, with the policy's requirements and the price. */
export interface LoadedRenewal {
  readonly facts: RenewalFacts;
  readonly evaluatedOrder: EvaluatedOrder;
  readonly cost: OrderCost | undefined;
  /** Whether another renewal of the name is already open. */
  readonly hasOpenOrder: boolean;
}

/**
 * @param orderId the renewal's own order, if already created; not counted as another open renewal
 * @returns undefined if Slack can't look up a person on whom the renewal depends
 */
export async function loadRenewal(
  deps: OrdersContext,
  mandateOrder: Order,
  name: MandateName,
  orderId?: string,
): Promise<LoadedRenewal | undefined> {
  const renewal = buildRenewal(mandateOrder, name.name);
  const sendAfter = orderId === undefined ? computeEarliestSendTime(name.name, deps.now()) : undefined;
  const [evaluatedOrder, cost, account, lastAccountId, hasIncident, membership, openOrders] =
    await Promise.all([
      evaluateOrder(deps, renewal),
      deps.priceOrder({ ...renewal, sendAfter }),
      deps.findAccount(mandateOrder.account.id),
      deps.mandates.findLatestAccountId(name.name),
      deps.hasOpenIncident(name.name),
      name.owner === undefined ? 'member' : deps.directory.findMembership(name.owner),
      deps.store.findOpenOrders('renew', [name.name]),
    ]);
  const policy = await checkPolicy(deps, mandateOrder, evaluatedOrder);
  if (policy === 'unknown' || membership === 'unknown') return undefined;
  const openOrderId = openOrders.get(name.name);
  const otherOrder =
    openOrderId === undefined || openOrderId === orderId
      ? undefined
      : await deps.store.load(openOrderId, 'system');
  return {
    evaluatedOrder,
    cost,
    hasOpenOrder: otherOrder !== undefined && otherOrder.state !== 'UNKNOWN',
    facts: {
      expiry: toNameExpiry(name),
      isDateCertain: name.isDateCertain && name.deletedAt === undefined,
      hasOwnerLeft: membership === 'left',
      hasOpenIncident: hasIncident,
      isAccountLinked: account !== undefined && isTeamAccount(account) === renewal.usesTeamAccount,
      isInOtherAccount: lastAccountId !== undefined && lastAccountId !== mandateOrder.account.id,
      hasUnknownRenewal: otherOrder?.state === 'UNKNOWN',
      policy,
      amount: cost?.names[0]?.quote?.amount,
    },
  };
}

/**
 * Whether a mandate's approvals still meet the requirements of a name's renewal, given the current approvers and
 * groups. Approvals by people who have left no longer count.
 */
async function checkPolicy(
  deps: OrdersContext,
  mandateOrder: Order,
  { requirements, policyVersion }: EvaluatedOrder,
): Promise<RenewalFacts['policy'] | 'unknown'> {
  if (requirements.outcome === 'refuse') return 'refuses';
  if (requirements.outcome === 'free') return 'satisfied';
  const now = deps.now();
  const approverIds = mandateOrder.approvals.map(({ userId }) => userId);
  const standIns = await loadApprovalStandIns(deps, mandateOrder);
  const loadedPeople = await loadPeople({ ...deps, standIns }, requirements.list, approverIds);
  const { isApproved } = evaluateProgress(requirements, {
    requesters: listRequesters(mandateOrder),
    approvedByIds: approverIds,
    signers: needsSignatures(requirements)
      ? await deps.signing.loadSigners(mandateOrder, policyVersion)
      : new Set(),
    people: loadedPeople.people,
    allowSelfApproval: false,
    now,
  });
  if (isApproved) return 'satisfied';
  return loadedPeople.unreadableGroups.length > 0 || loadedPeople.unconfirmedIds.size > 0
    ? 'unknown'
    : 'needs_more_approvals';
}

/** The stand-ins in effect when the mandate was approved. They stay valid for the mandate's renewals. */
async function loadApprovalStandIns(
  deps: OrdersContext,
  mandateOrder: Order,
): Promise<ReadonlyMap<string, StandIn>> {
  const requirements = (await deps.store.loadHistory(mandateOrder.id, 'system')).flatMap((entry) =>
    entry.kind === 'approved' ? (entry.progress?.requirements ?? []) : [],
  );
  const until = new Date(deps.now().getTime() + DAY_MS);
  return new Map(
    requirements
      .flatMap(({ slots }) => slots)
      .flatMap(({ userId, standsInFor }) =>
        standsInFor === undefined ? [] : [[standsInFor, { userId, until }] as const],
      ),
  );
}

/**
 * The amounts that a renewal reserves in the budgets of a day; undefined if a budget is exceeded.
 * @param orderId the renewal's own order, if already created, whose reservation is replaced
 */
export async function loadReservation(
  deps: OrdersContext,
  name: string,
  { cost }: LoadedRenewal,
  day: string,
  orderId?: string,
): Promise<Reservation | undefined> {
  const comparison = await deps.compareBudgetsOn(day)(
    { items: [{ n: 1, name }], replacedOrderId: orderId },
    cost,
  );
  return comparison === undefined || comparison.exceeded.length > 0 ? undefined : comparison.reservation;
}
