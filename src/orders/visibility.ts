import { refusalToDecide } from './approval-rights.ts';
import { type ApproverDeps, approversOf, peopleAmong, waitingDecision, waitingFor } from './approvers.ts';
import type { DemandDeps } from './demand.ts';
import { isRequester, type Order } from './order.ts';
import type { OrderFilter, OrderStore } from './ports.ts';

/*
 * Who sees an order, and who is to hear of one that waits.
 */

export interface Viewer {
  readonly id: string;
  readonly isAdmin: boolean;
}

/**
 * Whether somebody sees private orders of other people in lists: admins do, and approvers of the settings. Who cannot be
 * confirmed as an approver does not.
 */
export async function seesAll(deps: ApproverDeps, { id, isAdmin }: Viewer): Promise<boolean> {
  return isAdmin || (await waitingFor(deps, id, [])).isApprover;
}

/**
 * The orders that match a filter and that a person may see. It is checked only where it matters whether they are an
 * approver.
 */
export async function visibleOrders(
  deps: ApproverDeps & { readonly store: Pick<OrderStore, 'list'> },
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
export async function maySee(deps: ApproverDeps, order: Order, { id, isAdmin }: Viewer): Promise<boolean> {
  if (order.state === 'DRAFT') return order.requesterId === id;
  if (!order.isPrivate || isAdmin || isRequester(order, id)) return true;
  return (await approversOf(deps, order, [id], 'general')).approvers.has(id);
}

/** The people who may approve a waiting order at this moment, including stand-ins. */
export async function peopleWhoMayApprove(
  deps: ApproverDeps & DemandDeps,
  order: Order,
): Promise<readonly string[]> {
  const { demand, standIns } = await waitingDecision(deps, order);
  const { people } = await peopleAmong(deps.directory, [
    ...demand.requirements.flatMap(({ approvers }) => approvers),
    ...[...standIns.values()].map(({ userId }) => userId),
  ]);
  const policy = await approversOf(deps, order, people);
  return people.filter((userId) => refusalToDecide(order, userId, 'approve', policy) === undefined);
}
