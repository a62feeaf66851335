import {
  checkCanDecide,
  findNotifiedPeople,
  isApproverInSettings,
  loadApproverRights,
  loadPendingRequirements,
} from '../approvals/approvers.ts';
import type { OrdersContext } from './context.ts';
import { isRequester, type Order } from './order.ts';
import type { OrderFilter, OrderStore } from './ports.ts';

/** The people who may see an order, and those who are notified about a pending one. */

export interface PersonViewer {
  readonly id: string;
  readonly isAdmin: boolean;
}

/** Whether a person may see other people's private orders in lists, as an admin or an approver in the settings. */
export async function canSeeAllOrders(deps: OrdersContext, { id, isAdmin }: PersonViewer): Promise<boolean> {
  return isAdmin || (await isApproverInSettings(deps, id));
}

/**
 * Lists the orders that match a filter and that a person may see. The person's rights are checked only if other people's
 * private orders match.
 */
export async function listVisibleOrders(
  deps: OrdersContext,
  viewer: PersonViewer,
  filter: Omit<OrderFilter, 'viewer'>,
): Promise<readonly Order[]> {
  const orders = await deps.store.list({ ...filter, viewer: 'system' });
  const hasOthersPrivateOrder = orders.some((order) => order.isPrivate && !isRequester(order, viewer.id));
  return !hasOthersPrivateOrder || (await canSeeAllOrders(deps, viewer))
    ? orders
    : deps.store.list({ ...filter, viewer });
}

export async function canSee(deps: OrdersContext, order: Order, viewer: PersonViewer): Promise<boolean> {
  const { id, isAdmin } = viewer;
  if (order.state === 'DRAFT') return order.requesterId === id;
  if (!order.isPrivate || isAdmin || isRequester(order, id)) return true;
  return (await loadApproverRights(deps, order, [id], 'general')).approvers.has(id);
}

/** @returns undefined if there is no such order, or the person may not see it */
export async function loadVisibleOrder(
  deps: OrdersContext,
  viewer: PersonViewer,
  id: string,
): Promise<Order | undefined> {
  const order = await deps.store.load(id, 'system');
  return order !== undefined && (await canSee(deps, order, viewer)) ? order : undefined;
}

export async function filterVisibleOrderIds(
  deps: OrdersContext,
  viewer: PersonViewer,
  ids: Iterable<string>,
): Promise<ReadonlySet<string>> {
  const loadedOrders = await Promise.all([...new Set(ids)].map((id) => deps.store.load(id, 'system')));
  const orders = loadedOrders.filter((order) => order !== undefined);
  const hasOthersPrivateOrder = orders.some((order) => order.isPrivate && !isRequester(order, viewer.id));
  const areAllVisible = !hasOthersPrivateOrder || (await canSeeAllOrders(deps, viewer));
  const visibilityResults = await Promise.all(
    orders.map((order) => areAllVisible || canSee(deps, order, viewer)),
  );
  return new Set(orders.filter((_, index) => visibilityResults[index]).map(({ id }) => id));
}

/** Returns the ids of private orders, which must not appear in public channels. */
export async function filterPrivateOrderIds(
  { store }: { readonly store: Pick<OrderStore, 'load'> },
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const orders = await Promise.all(ids.map((id) => store.load(id, 'system')));
  return new Set(orders.flatMap((order) => (order?.isPrivate === true ? order.id : [])));
}

/** Returns the people notified about a pending order who may approve it now, including stand-ins. */
export async function findPeopleToNotify(deps: OrdersContext, order: Order): Promise<readonly string[]> {
  const { requirements, standIns } = await loadPendingRequirements(deps, order);
  const { people } = await findNotifiedPeople(deps.directory, requirements.list, standIns);
  const rights = await loadApproverRights(deps, order, people);
  return people.filter((userId) => checkCanDecide(order, userId, 'approve', rights) === undefined);
}
