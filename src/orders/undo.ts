import { checkApprover, loadApproverRights } from '../approvals/approvers.ts';
import type { OrdersContext } from './context.ts';
import { findUndoDeadline, isRequester, type Order, UNDO_HOURS } from './order.ts';
import type { Refusal } from './refusal.ts';
import { type RequestOutcome, requestOrder } from './request-order.ts';

export type PreviousNameServers =
  | { readonly kind: 'known'; readonly nameServers: readonly string[] }
  | { readonly kind: 'unknown' }
  /** The order set the same nameservers. */
  | { readonly kind: 'same' };

export interface UndoRequest {
  readonly orderId: string;
  readonly userId: string;
  readonly reason: string;
  readonly deliveryId: string;
  readonly findPreviousNameServers: (order: Order) => Promise<PreviousNameServers>;
}

/**
 * Requests a new order with the previous nameservers and the same account, on behalf of the person who clicked. The new
 * order is confirmed and approved like any other.
 */
export async function undoOrder(deps: OrdersContext, request: UndoRequest): Promise<RequestOutcome> {
  const { orderId, userId } = request;
  const refuse = (refusal: Refusal): RequestOutcome => ({ kind: 'refused', refusal });
  const order = await deps.store.load(orderId, 'system');
  if (order === undefined) return refuse({ code: 'no_such_order' });
  if (!isRequester(order, userId)) {
    const refusal = checkApprover(await loadApproverRights(deps, order, [userId]), userId, 'undo');
    if (refusal !== undefined) return refuse(refusal);
  }
  const [item] = order.items;
  const deadline = item && findUndoDeadline(order, item);
  if (item === undefined || deadline === undefined) return refuse({ code: 'nothing_to_undo' });
  if (deadline <= deps.now()) {
    // The card still has the button from before the deadline. An update removes it.
    await deps.store.queueMessageUpdate(order.id, deps.now());
    return refuse({ code: 'undo_expired', hours: UNDO_HOURS });
  }
  const previousNameServers = await request.findPreviousNameServers(order);
  if (previousNameServers.kind === 'same') return refuse({ code: 'nothing_to_undo' });
  if (previousNameServers.kind === 'unknown') return refuse({ code: 'previous_nameservers_unknown' });
  const account = await deps.findAccount(order.account.id);
  if (account === undefined) return refuse({ code: 'retry_account_gone' });
  return requestOrder(deps, {
    task: 'nameservers',
    input: { name: item.name, nameServers: previousNameServers.nameServers },
    secret: undefined,
    reason: request.reason,
    account,
    requesterId: userId,
    channelId: order.channelId,
    threadTs: order.threadTs,
    isPrivate: order.isPrivate,
    deliveryId: request.deliveryId,
  });
}
