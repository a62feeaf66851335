import { NO_SUCH_ORDER } from './change.ts';
import { currentPolicy, type DecideDeps } from './decide.ts';
import { type Order, retryableItems, stateInWords } from './order.ts';
import { refusalOfNonApprover } from './policy.ts';
import { type RequestDeps, type RequestOutcome, requestOrder } from './request.ts';
import { taskNamed } from './tasks.ts';

export type RetryOutcome =
  | RequestOutcome
  | { readonly kind: 'refused'; readonly why: string }
  /** The secret part of the order was not kept: it has to be typed again. */
  | { readonly kind: 'needs_secret'; readonly order: Order };

/** A new order of the names that failed, for the same person and with the same account. */
export async function retryOrder(
  deps: RequestDeps & DecideDeps,
  orderId: string,
  userId: string,
): Promise<RetryOutcome> {
  const order = await deps.store.load(orderId);
  if (order === undefined) return { kind: 'refused', why: NO_SUCH_ORDER };
  if (order.requesterId !== userId) {
    const why = refusalOfNonApprover(
      await currentPolicy(deps, [userId]),
      userId,
      'Only the person who asked, or an approver, can retry. Ask one of them, or ask for it yourself with `/domain`.',
    );
    if (why !== undefined) return { kind: 'refused', why };
  }
  if (order.state !== 'FAILED')
    return {
      kind: 'refused',
      why: `Only an order that failed can be retried; this one is ${stateInWords(order.state)}. Ask for it anew with \`/domain\`.`,
    };
  const failed = retryableItems(order).map((item) => item.name);
  if (failed.length === 0)
    return {
      kind: 'refused',
      why: 'The service has said since that this was carried out, so it is not asked for again. Its thread has the answer.',
    };
  if (order.hasSecretInput) return { kind: 'needs_secret', order };
  const account = await deps.findAccount(order.account.id);
  if (account === undefined) {
    return {
      kind: 'refused',
      why: 'The account it was asked with is no longer linked. Link it with `/domain link` and ask again.',
    };
  }
  return requestOrder(deps, {
    task: order.task,
    input: taskNamed(order.task).onlyFor(order.input, failed),
    secret: undefined,
    reason: order.reason,
    requesterId: order.requesterId,
    askedBy: userId,
    account,
    channelId: order.channelId,
    threadTs: order.threadTs,
    retryOf: order.id,
    // However often it is pressed, one order is retried once; the new one can be retried in its turn.
    deliveryId: `retry:${order.id}`,
  });
}
