import {
  approversOf,
  peopleAmong,
  refusalToDecide,
  waitingDecision,
  waitingFor,
} from '../approvals/approvers.ts';
import type { OrdersContext } from './context.ts';
import { isRequester, type Order } from './order.ts';
import type { OrderFilter, OrderStore } from './ports.ts';

/*
 * Who sees an order, and who is to hear of one that waits.
 */

/** A person whom something is shown to. */
export interface PersonViewer {
  readonly id: string;
  readonly isAdmin: boolean;
}

/**
 * Whether somebody sees private orders of other people in lists: admins do, and approvers of the settings. Who cannot be
 * confirmed as an approver does not.
 */
export async function seesAll(deps: OrdersContext, { id, isAdmin }: PersonViewer): Promise<boolean> {
  return isAdmin || (await waitingFor(deps, id, [])).isApprover;
}

/**
 * The orders that match a filter and that a person may see. It is checked only where it matters whether they are an
 * approver.
 */
export async function visibleOrders(
  deps: OrdersContext,
  viewer: PersonViewer,
  filter: Omit<OrderFilter, 'viewer'>,
): Promise<readonly Order[]> {
  const all = await deps.store.list({ ...filter, viewer: 'system' });
  const matters = all.some((order) => order.isPrivate && !isRequester(order, viewer.id));
  return !matters || (await seesAll(deps, viewer)) ? all : deps.store.list({ ...filter, viewer });
}

/** Whether a person may see an order. */
export async function maySee(deps: OrdersContext, order: Order, viewer: PersonViewer): Promise<boolean> {
  const { id, isAdmin } = viewer;
  if (order.state === 'DRAFT') return order.requesterId === id;
  if (!order.isPrivate || isAdmin || isRequester(order, id)) return true;
  return (await approversOf(deps, order, [id], 'general')).approvers.has(id);
}

/** An order for a person; undefined when there is none, or they may not see it. */
export async function loadVisible(
  deps: OrdersContext,
  viewer: PersonViewer,
  id: string,
): Promise<Order | undefined> {
  const order = await deps.store.load(id, 'system');
  return order !== undefined && (await maySee(deps, order, viewer)) ? order : undefined;
}

/** Those of some orders that a person may see. Of the others nothing is shown to them but that they are. */
export async function visibleIds(
  deps: OrdersContext,
  viewer: PersonViewer,
  ids: Iterable<string>,
): Promise<ReadonlySet<string>> {
  const loaded = await Promise.all([...new Set(ids)].map((id) => deps.store.load(id, 'system')));
  const orders = loaded.filter((order) => order !== undefined);
  const matters = orders.some((order) => order.isPrivate && !isRequester(order, viewer.id));
  const seesThem = !matters || (await seesAll(deps, viewer));
  const seen = await Promise.all(orders.map((order) => seesThem || maySee(deps, order, viewer)));
  return new Set(orders.filter((_, index) => seen[index]).map(({ id }) => id));
}

/** Those of some orders that are private, for what stands in a channel, where everybody reads it. */
export async function privateIds(
  { store }: { readonly store: Pick<OrderStore, 'load'> },
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const orders = await Promise.all(ids.map((id) => store.load(id, 'system')));
  return new Set(orders.flatMap((order) => (order?.isPrivate === true ? order.id : [])));
}

/** The people who may approve a waiting order at this moment, including stand-ins. */
export async function peopleWhoMayApprove(deps: OrdersContext, order: Order): Promise<readonly string[]> {
  const { demand, standIns } = await waitingDecision(deps, order);
  const { people } = await peopleAmong(deps.directory, [
    ...demand.requirements.flatMap(({ approvers }) => approvers),
    ...[...standIns.values()].map(({ userId }) => userId),
  ]);
  const policy = await approversOf(deps, order, people);
  return people.filter((userId) => refusalToDecide(order, userId, 'approve', policy) === undefined);
}
