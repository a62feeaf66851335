import { type ApproverDeps, approversOf, generalApprovers, waitingDecision } from './approvers.ts';
import type { DecideDeps } from './decide.ts';
import { isRequester, type Order } from './order.ts';
import { refusalToDecide } from './policy.ts';
import type { OrderFilter } from './ports.ts';

/*
 * Who sees an order, and who is to hear of one that waits.
 */

export interface Viewer {
  readonly id: string;
  readonly isAdmin: boolean;
}

/** What a list for a person leaves out: private orders of others, unless an admin or an approver of the settings looks. */
export async function visibleTo(
  deps: ApproverDeps,
  { id, isAdmin }: Viewer,
): Promise<Pick<OrderFilter, 'visibleTo'>> {
  // Who cannot be confirmed as an approver sees no more than others.
  return isAdmin || (await generalApprovers(deps, [id])).approvers.has(id) ? {} : { visibleTo: id };
}

/** Whether a person may see an order. */
export async function maySee(deps: ApproverDeps, order: Order, { id, isAdmin }: Viewer): Promise<boolean> {
  if (order.state === 'DRAFT') return order.requesterId === id;
  if (!order.isPrivate || isAdmin || isRequester(order, id)) return true;
  return (await approversOf(deps, order, [id], 'general')).approvers.has(id);
}

/** People and the members of groups, each once; a group that Slack does not tell adds nobody. */
export async function peopleAmong(
  { directory }: Pick<DecideDeps, 'directory'>,
  ids: readonly string[],
): Promise<readonly string[]> {
  const people = await Promise.all(
    ids.map(async (id) => (id.startsWith('S') ? ((await directory.membersOf(id)) ?? []) : [id])),
  );
  return [...new Set(people.flat())];
}

/** The people who may approve a waiting order at this moment, those who stand in for others among them. */
export async function peopleWhoMayApprove(deps: DecideDeps, order: Order): Promise<readonly string[]> {
  const { demand, standIns } = await waitingDecision(deps, order);
  const listed = await peopleAmong(
    deps,
    demand.requirements.flatMap(({ approvers }) => approvers),
  );
  const people = [...new Set([...listed, ...[...standIns.values()].map(({ userId }) => userId)])];
  const policy = await approversOf(deps, order, people);
  return people.filter((userId) => refusalToDecide(order, userId, 'approve', policy) === undefined);
}
