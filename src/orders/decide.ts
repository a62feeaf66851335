import type { TeamSettings } from '../config.ts';
import { isAsPlanned } from './bulk.ts';
import { type ChangeOutcome, changeOrder, type Decision } from './change.ts';
import { findEarlier, stopForEarlier } from './earlier.ts';
import { inputOfItem, type Order, type OrderItem, pricedInputs, waitingItems } from './order.ts';
import { checkMembers, type FindAccount, partiesOf } from './parties.ts';
import { type ApprovalPolicy, refusalToDecide, validApprovers } from './policy.ts';
import type { Directory, OrderStore, PriceOf } from './ports.ts';
import type { Refusal } from './refusal.ts';
import type { PlainSummary } from './summary.ts';
import { taskNamed } from './tasks.ts';

export interface DecideDeps {
  readonly store: OrderStore;
  readonly settings: () => Promise<TeamSettings>;
  readonly directory: Directory;
  readonly now: () => Date;
  readonly priceOf?: PriceOf;
  /** The account an order is bound to, or undefined when it is no longer linked. */
  readonly findAccount: FindAccount;
}

/**
 * Which of some people may approve at this moment: those who are listed, and the members of the groups listed. Slack
 * allows few questions about groups, so it is asked only about people who are not listed themselves.
 * @param options.allGroups ask about the groups in any case, to know which cannot be read
 */
export async function currentPolicy(
  deps: Pick<DecideDeps, 'settings' | 'directory'>,
  userIds: readonly string[],
  { allGroups = false } = {},
): Promise<ApprovalPolicy> {
  const { directory } = deps;
  const settings = await deps.settings();
  const listed = new Set(settings.approvers.filter((id) => !id.startsWith('S')));
  const needsGroups = allGroups || userIds.some((userId) => !listed.has(userId));
  const groups = needsGroups ? settings.approvers.filter((id) => id.startsWith('S')) : [];
  const members = await Promise.all(groups.map((group) => directory.membersOf(group)));
  for (const member of members.flat()) if (member !== undefined) listed.add(member);
  const entitled = userIds.filter((userId) => listed.has(userId));
  const memberships = await Promise.all(entitled.map((userId) => directory.membership(userId)));
  return {
    approvers: new Set(entitled.filter((_, index) => memberships[index] === 'member')),
    unconfirmed: new Set(entitled.filter((_, index) => memberships[index] === 'unknown')),
    unreadableGroups: groups.filter((_, index) => members[index] === undefined),
    allowSelfApproval: settings.allowSelfApproval,
  };
}

/**
 * An approver says yes. The last approval needed lets the order go, or stops it if its ground has gone. Names of a retry
 * that turned out to have been done are stopped; the approval is for the others.
 */
export async function approveOrder(
  deps: DecideDeps,
  orderId: string,
  userId: string,
): Promise<ChangeOutcome> {
  let isPart = false;
  const outcome = await changeOrder(deps, orderId, async (order) => {
    isPart = false;
    const earlier = order.approvals.map((approval) => approval.userId);
    const givers = [...earlier, userId];
    const policy = await currentPolicy(deps, givers);
    const refusal = refusalToDecide(order, userId, 'approve', policy);
    if (refusal !== undefined) return { refusal };
    if (order.state === 'PENDING') {
      const unmet = await unmetPrecondition(deps, order);
      if (unmet !== undefined) return unmet;
      const findings = await findEarlier(deps.store.load, order);
      const open = findings.find(({ found }) => found === 'open');
      if (open !== undefined) return { refusal: { code: 'earlier_order', finding: open } };
      const stop = stopForEarlier(order, findings);
      if (stop !== undefined) {
        isPart = true;
        return { event: stop };
      }
    }
    const valid = validApprovers(order, givers, policy);
    // Nobody’s approval is dropped, and none counts, because Slack is silent about who gave it.
    const doubtful = earlier.find((giver) => policy.unconfirmed.has(giver));
    if (doubtful !== undefined && valid.length < order.approvalsRequired)
      return { refusal: { code: 'membership_unknown', userId: doubtful } };
    const { unreadableGroups } = policy;
    const names = order.items.map(({ name }) => name);
    const price = await deps.priceOf?.({ task: order.task, names, ...pricedInputs(order) });
    return { event: { type: 'approved', by: userId, validApprovers: valid, unreadableGroups, price } };
  });
  return isPart && outcome.ok && outcome.order.state === 'PENDING'
    ? approveOrder(deps, orderId, userId)
    : outcome;
}

/** An approver says no. */
export async function denyOrder(
  deps: DecideDeps,
  orderId: string,
  userId: string,
  reason: string | undefined,
): Promise<ChangeOutcome> {
  const policy = await currentPolicy(deps, [userId]);
  return changeOrder(deps, orderId, (order) => {
    const refusal = refusalToDecide(order, userId, 'deny', policy);
    return refusal === undefined ? { event: { type: 'denied', by: userId, reason } } : { refusal };
  });
}

/** Why a person may not deny at this moment, asked before the form for the reason opens. */
export async function refusalToDeny(
  deps: DecideDeps,
  order: Order,
  userId: string,
): Promise<Refusal | undefined> {
  return refusalToDecide(order, userId, 'deny', await currentPolicy(deps, [userId]));
}

/** The requester takes a waiting order back. */
export function cancelOrder(
  deps: Pick<DecideDeps, 'store' | 'now'>,
  orderId: string,
  userId: string,
): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, (order) =>
    order.requesterId === userId
      ? { event: { type: 'cancelled', by: userId } }
      : { refusal: { code: 'not_the_requester', wanted: 'cancel' } },
  );
}

/** A waiting order has run out of time. Harmless when it has not, or is decided already. */
export function expireOrder(
  deps: Pick<DecideDeps, 'store' | 'now'>,
  orderId: string,
): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, () => ({ event: { type: 'expired' } }));
}

/** Approvers are to be reminded, once. Harmless when it is not time, or they were. */
export function remindApprovers(
  deps: Pick<DecideDeps, 'store' | 'now'>,
  orderId: string,
): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, () => ({ event: { type: 'reminded' } }));
}

/**
 * What becomes of an order that no longer has what it needs: its account, the zone’s leave, and the people it rests on
 * as members of the workspace. Undefined when all is there.
 */
async function unmetPrecondition(
  deps: Pick<DecideDeps, 'findAccount' | 'directory'>,
  order: Order,
): Promise<Decision | undefined> {
  const { people, isLinked } = await partiesOf(deps.findAccount, order);
  const check = await checkMembers(deps.directory, people);
  const noLongerAllowed = isLinked ? rulesChanged(order) : ({ code: 'account_gone' } as const);
  const summary = check.kind === 'left' ? check.summary : noLongerAllowed;
  if (summary !== undefined) return { event: { type: 'stopped', summary } };
  return check.kind === 'unknown'
    ? { refusal: { code: 'membership_unknown', userId: check.userId } }
    : undefined;
}

/**
 * Why what was asked for is no longer allowed, or not what is kept any more; undefined when all is well.
 * @param items those to check of an order made from a file; those that wait when left out
 */
export function rulesChanged(
  order: Order,
  items: readonly OrderItem[] = waitingItems(order),
): PlainSummary | undefined {
  if (!isAsPlanned(order)) return { code: 'plan_changed' };
  const task = taskNamed(order.task);
  const inputs = order.bulk === undefined ? [order.input] : items.map((item) => inputOfItem(order, item));
  const issues = inputs.map((input) => task.check(input)).find(({ ok }) => !ok);
  return issues?.ok === false ? { code: 'rules_changed', issues: [...issues.issues] } : undefined;
}
