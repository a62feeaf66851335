import { checkApprover, findApprovers } from '../approvals/approvers.ts';
import type { BulkRow } from './bulk/read-csv.ts';
import type { OrdersContext } from './context.ts';
import { loadEarlierFindings } from './earlier.ts';
import {
  findRetryableItems,
  getAccountOwner,
  getItemInput,
  hasRowSecrets,
  hasSecretInput,
  isRequester,
  isRetryExpired,
  type Order,
  RETRY_DAYS,
} from './order.ts';
import type { EarlierFinding, Refusal } from './refusal.ts';
import type { OrderRequest } from './request-context.ts';
import { type RequestOutcome, requestOrder } from './request-order.ts';
import { findTask } from './tasks.ts';

export type RetryOutcome =
  | RequestOutcome
  /** The secret part of the order wasn't kept: the person must type it again. */
  | { readonly kind: 'needs_secret'; readonly order: Order }
  /** The order was made from a file: these rows need a new plan. */
  | { readonly kind: 'needs_plan'; readonly order: Order; readonly rows: readonly BulkRow[] };

/** The re-entered secret, or the plan of failed rows. */
export type RetryInput = Pick<
  OrderRequest,
  'input' | 'secret' | 'reason' | 'ownership' | 'account' | 'deliveryId' | 'bulk' | 'sendAt'
>;

/**
 * Makes a new order for the names that failed, with the same account. The person who retries becomes the requester.
 * Neither they nor an earlier requester can approve it.
 */
export async function retryOrder(
  deps: OrdersContext,
  orderId: string,
  userId: string,
  retryInput?: RetryInput,
): Promise<RetryOutcome> {
  const order = await deps.store.load(orderId, 'system');
  if (order === undefined) return { kind: 'refused', refusal: { code: 'no_such_order' } };
  const refusal = (await checkPerson(deps, order, userId)) ?? (await checkRetryable(deps, order));
  if (refusal !== undefined) return { kind: 'refused', refusal };
  const earlier = await loadEarlierFindings(deps.store.load, order, findRetryableItems(order));
  const decision = decideNamesToRetry(order, earlier);
  if ('refusal' in decision) return { kind: 'refused', refusal: decision.refusal };
  const { failed } = decision;
  if (retryInput === undefined) {
    if (order.bulk !== undefined) return { kind: 'needs_plan', order, rows: findRows(order, failed) };
    if (hasSecretInput(order)) return { kind: 'needs_secret', order };
  }
  const account = await deps.findAccount(order.account.id);
  if (account === undefined) return { kind: 'refused', refusal: { code: 'retry_account_gone' } };
  const request = {
    task: order.task,
    requesterId: userId,
    channelId: order.channelId,
    threadTs: order.threadTs,
    isPrivate: order.isPrivate,
  };
  if (retryInput !== undefined && order.bulk === undefined && !isSameInput(order, retryInput, failed)) {
    return requestOrder(deps, { ...request, ...retryInput });
  }
  const content = retryInput ?? {
    input: findTask(order.task).restrictInput(order.input, failed),
    secret: undefined,
    reason: order.reason,
    ownership: order.ownership,
  };
  // An order is retried only once, however often the button is clicked. The new order can be retried as well.
  return requestOrder(deps, {
    ...request,
    ...content,
    account,
    retriedOrder: order,
    deliveryId: `retry:${order.id}`,
  });
}

async function checkPerson(deps: OrdersContext, order: Order, userId: string): Promise<Refusal | undefined> {
  if (!isRequester(order, userId)) {
    const refusal = checkApprover(await findApprovers(deps, order, [userId]), userId, 'retry');
    if (refusal !== undefined) return refusal;
  }
  const owner = getAccountOwner(order);
  if (owner === userId) return undefined;
  if (hasSecretInput(order)) return { code: 'secret_input_of', ownerId: owner };
  return findTask(order.task).hasSecretResult ? { code: 'secret_answer_of', ownerId: owner } : undefined;
}

async function checkRetryable(deps: OrdersContext, order: Order): Promise<Refusal | undefined> {
  if (hasRowSecrets(order)) return { code: 'retry_bulk' };
  if (order.state !== 'FAILED') return { code: 'not_failed', state: order.state };
  if (!isRetryExpired(order, deps.now())) return undefined;
  // The card was rendered before the time limit; an update removes its button.
  await deps.store.requestNotification(order.id, deps.now());
  return { code: 'retry_over', days: RETRY_DAYS };
}

/** The names that failed, except those that an earlier order turned out to have carried out. */
export function decideNamesToRetry(
  order: Order,
  findings: readonly EarlierFinding[],
): { readonly failed: readonly string[] } | { readonly refusal: Refusal } {
  const open = findings.find(({ outcome }) => outcome === 'open');
  if (open !== undefined) return { refusal: { code: 'earlier_order', finding: open } };
  const done = new Set(findings.map(({ name }) => name));
  const failed = findRetryableItems(order).flatMap(({ name }) => (done.has(name) ? [] : [name]));
  return failed.length > 0 ? { failed } : { refusal: explainNothingToRetry(order) };
}

/** Why no name of a failed order can be retried. A request without an answer proves nothing. */
function explainNothingToRetry({ items }: Order): Refusal {
  const isUnanswered = items.some(({ result }) => result?.lateOutcome === 'UNKNOWN');
  return { code: isUnanswered ? 'retry_unanswered' : 'retry_done_since' };
}

function findRows(order: Order, names: readonly string[]): BulkRow[] {
  const wanted = new Set(names);
  return order.items
    .filter(({ name }) => wanted.has(name))
    .map((item) => ({ line: item.n, name: item.name, input: getItemInput(order, item), secret: undefined }));
}

/** Whether the entered input requests the same as the order. */
export function isSameInput(order: Order, retryInput: RetryInput, failed: readonly string[]): boolean {
  const checked = findTask(order.task).check(retryInput.input);
  return (
    checked.ok &&
    retryInput.account?.id === order.account.id &&
    checked.names.length === failed.length &&
    checked.names.every((name) => failed.includes(name))
  );
}
