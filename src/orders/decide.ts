import type { TeamSettings } from '../config.ts';
import { type ChangeOutcome, changeOrder } from './change.ts';
import { findEarlier, findingInWords, stopForEarlier } from './earlier.ts';
import type { Order } from './order.ts';
import { type ApprovalPolicy, refusalToDecide, standingApprovers } from './policy.ts';
import type { Directory, OrderStore } from './ports.ts';
import { taskNamed } from './tasks.ts';

export interface DecideDeps {
  readonly store: OrderStore;
  readonly settings: () => Promise<TeamSettings>;
  readonly directory: Directory;
  readonly now: () => Date;
  /** Whether the account an order is bound to is still linked. */
  readonly accountExists: (accountId: string) => Promise<boolean>;
}

/** Who may approve at this moment: the people listed, and the members of the groups listed. */
export async function currentPolicy(
  deps: Pick<DecideDeps, 'settings' | 'directory'>,
): Promise<ApprovalPolicy> {
  const settings = await deps.settings();
  const groups = settings.approvers.filter((id) => id.startsWith('S'));
  const members = await Promise.all(groups.map((group) => deps.directory.membersOf(group)));
  return {
    approvers: new Set([...settings.approvers.filter((id) => !id.startsWith('S')), ...members.flat()]),
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
  const policy = await currentPolicy(deps);
  let isPart = false;
  const outcome = await changeOrder(deps, orderId, async (order) => {
    isPart = false;
    const refusal = refusalToDecide(order, userId, 'approve', policy);
    if (refusal !== undefined) return { refusal };
    if (order.state === 'PENDING') {
      const gone = await groundGone(deps, order);
      if (gone !== undefined) return { event: { type: 'stopped', summary: gone } };
      const findings = await findEarlier(deps.store.load, order);
      const open = findings.find(({ found }) => found === 'open');
      if (open !== undefined) return { refusal: findingInWords(open) };
      const stop = stopForEarlier(order, findings);
      if (stop !== undefined) {
        isPart = true;
        return { event: stop, jobs: [{ queue: 'order.show', data: { orderId } }] };
      }
    }
    const givers = [...order.approvals.map((approval) => approval.userId), userId];
    return { event: { type: 'approved', by: userId, standing: standingApprovers(order, givers, policy) } };
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
  const policy = await currentPolicy(deps);
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
): Promise<string | undefined> {
  return refusalToDecide(order, userId, 'deny', await currentPolicy(deps));
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
      : { refusal: 'Only the person who asked can cancel. An approver can deny it.' },
  );
}

/** A waiting order has run out of time. Harmless when it has not, or is decided already. */
export function expireOrder(
  deps: Pick<DecideDeps, 'store' | 'now'>,
  orderId: string,
): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, () => ({ event: { type: 'ran_out' } }));
}

/** Approvers are to be reminded, once. Harmless when it is not time, or they were. */
export function nudgeApprovers(
  deps: Pick<DecideDeps, 'store' | 'now'>,
  orderId: string,
): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, () => ({ event: { type: 'nudged' } }));
}

/** Said of an order whose account has gone. */
export const ACCOUNT_GONE =
  'The account it was asked with is no longer linked, so nothing was sent. Link it again with `/domain link` and ask again.';

/** What an order needs and no longer has: its account, or the zone's leave. Undefined when all is there. */
async function groundGone(
  deps: Pick<DecideDeps, 'accountExists'>,
  order: Order,
): Promise<string | undefined> {
  return (await deps.accountExists(order.account.id)) ? rulesChanged(order) : ACCOUNT_GONE;
}

/** Why what was asked for is no longer allowed; undefined when it is. */
export function rulesChanged(order: Order): string | undefined {
  const checked = taskNamed(order.task).check(order.input);
  if (!checked.ok) {
    const problems = checked.problems.map(({ problem }) => problem).join(' ');
    return `The rules have changed since it was asked for, so nothing was sent. ${problems}`;
  }
  return undefined;
}
