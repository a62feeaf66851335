import { currentPolicy, type DecideDeps } from './decide.ts';
import { isRequester, type Order } from './order.ts';
import { refusalToDecide } from './policy.ts';
import type { OrderFilter, OrderStore } from './ports.ts';

/*
 * Who sees an order, and who is to hear of one that waits.
 */

type ReachDeps = Pick<DecideDeps, 'settings' | 'directory'>;

export interface Viewer {
  readonly id: string;
  readonly isAdmin: boolean;
}

/** Approvers and admins see private orders of other people; who cannot be confirmed as one does not. */
async function seesAll(deps: ReachDeps, { id, isAdmin }: Viewer): Promise<boolean> {
  return isAdmin || (await currentPolicy(deps, [id])).approvers.has(id);
}

/** The orders of a filter that a person may see. Whether they are an approver is asked only where that matters. */
export async function visibleOrders(
  deps: ReachDeps & { readonly store: Pick<OrderStore, 'list'> },
  viewer: Viewer,
  filter: Omit<OrderFilter, 'visibleTo'>,
): Promise<readonly Order[]> {
  const all = await deps.store.list(filter);
  const matters = all.some((order) => order.isPrivate && !isRequester(order, viewer.id));
  return !matters || (await seesAll(deps, viewer))
    ? all
    : deps.store.list({ ...filter, visibleTo: viewer.id });
}

/** Whether a person may see an order. */
export async function maySee(deps: ReachDeps, order: Order, viewer: Viewer): Promise<boolean> {
  if (order.state === 'DRAFT') return order.requesterId === viewer.id;
  return !order.isPrivate || isRequester(order, viewer.id) || seesAll(deps, viewer);
}

/** People and the members of groups, each once; a group that Slack does not tell adds nobody. */
export async function peopleAmong(
  { directory }: Pick<ReachDeps, 'directory'>,
  ids: readonly string[],
): Promise<readonly string[]> {
  const people = await Promise.all(
    ids.map(async (id) => (id.startsWith('S') ? ((await directory.membersOf(id)) ?? []) : [id])),
  );
  return [...new Set(people.flat())];
}

/** The people who may approve a waiting order at this moment. */
export async function approversOf(deps: ReachDeps, order: Order): Promise<readonly string[]> {
  const { approvers } = await deps.settings();
  const people = await peopleAmong(deps, approvers);
  const policy = await currentPolicy(deps, people, { allGroups: true });
  return people.filter((userId) => refusalToDecide(order, userId, 'approve', policy) === undefined);
}
