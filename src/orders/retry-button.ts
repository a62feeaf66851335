import { checkApprover, loadApproverRights } from '../approvals/approvers.ts';
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
import { getOrderTask } from './tasks.ts';

export type RetryOutcome =
  | RequestOutcome
  /** The order's secret was deleted, so the person must enter it again. */
  | { readonly kind: 'needs_secret'; readonly order: Order }
  /** The rows of a bulk order need a new plan. */
  | { readonly kind: 'needs_plan'; readonly order: Order; readonly rows: readonly BulkRow[] };

/** The re-entered secret, or the plan of failed rows. */
export type RetryInput = Pick<
  OrderRequest,
  'input' | 'secret' | 'reason' | 'ownership' | 'account' | 'deliveryId' | 'bulk' | 'sendAt'
>;

/**
 * Requests a new order for the failed names, with the same account. The person who retries becomes the requester. The
 * requesters of both orders can't approve the new one.
 */
export async function retryOrder(
  deps: OrdersContext,
  orderId: string,
  userId: string,
  retryInput?: RetryInput,
): Promise<RetryOutcome> {
  const order = await deps.store.load(orderId, 'system');
  if (order === undefined) return { kind: 'refused', refusal: { code: 'no_such_order' } };
  const refusal = (await checkRights(deps, order, userId)) ?? (await checkRetryable(deps, order));
  if (refusal !== undefined) return { kind: 'refused', refusal };
  const findings = await loadEarlierFindings(deps.store.load, order, findRetryableItems(order));
  const decision = decideNamesToRetry(order, findings);
  if ('refusal' in decision) return { kind: 'refused', refusal: decision.refusal };
  const { failedNames } = decision;
  if (retryInput === undefined) {
    if (order.bulk !== undefined)
      return { kind: 'needs_plan', order, rows: buildBulkRows(order, failedNames) };
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
  if (
    retryInput !== undefined &&
    order.bulk === undefined &&
    !isForFailedNames(order, retryInput, failedNames)
  ) {
    return requestOrder(deps, { ...request, ...retryInput });
  }
  const content = retryInput ?? {
    input: getOrderTask(order.task).restrictInput(order.input, failedNames),
    secret: undefined,
    reason: order.reason,
    ownership: order.ownership,
  };
  // The delivery id ensures that an order is retried only once. The new order can be retried in turn.
  return requestOrder(deps, {
    ...request,
    ...content,
    account,
    retriedOrder: order,
    deliveryId: `retry:${order.id}`,
  });
}

async function checkRights(deps: OrdersContext, order: Order, userId: string): Promise<Refusal | undefined> {
  if (!isRequester(order, userId)) {
    const refusal = checkApprover(await loadApproverRights(deps, order, [userId]), userId, 'retry');
    if (refusal !== undefined) return refusal;
  }
  const owner = getAccountOwner(order);
  if (owner === userId) return undefined;
  if (hasSecretInput(order)) return { code: 'secret_input_of', ownerId: owner };
  return getOrderTask(order.task).hasSecretResult ? { code: 'secret_answer_of', ownerId: owner } : undefined;
}

async function checkRetryable(deps: OrdersContext, order: Order): Promise<Refusal | undefined> {
  if (hasRowSecrets(order)) return { code: 'retry_bulk' };
  if (order.state !== 'FAILED') return { code: 'not_failed', state: order.state };
  if (!isRetryExpired(order, deps.now())) return undefined;
  // The card still has the button from before the deadline. An update removes it.
  await deps.store.queueMessageUpdate(order.id, deps.now());
  return { code: 'retry_expired', days: RETRY_DAYS };
}

/** Selects the failed names, except those that an earlier order has carried out after all. */
export function decideNamesToRetry(
  order: Order,
  findings: readonly EarlierFinding[],
): { readonly failedNames: readonly string[] } | { readonly refusal: Refusal } {
  const openFinding = findings.find(({ outcome }) => outcome === 'open');
  if (openFinding !== undefined) return { refusal: { code: 'earlier_order', finding: openFinding } };
  const doneNames = new Set(findings.map(({ name }) => name));
  const failedNames = findRetryableItems(order).flatMap(({ name }) => (doneNames.has(name) ? [] : [name]));
  return failedNames.length > 0 ? { failedNames } : { refusal: explainNothingToRetry(order) };
}

function explainNothingToRetry({ items }: Order): Refusal {
  const isUnanswered = items.some(({ result }) => result?.lateOutcome === 'UNKNOWN');
  return { code: isUnanswered ? 'retry_outcome_unknown' : 'retry_already_done' };
}

function buildBulkRows(order: Order, names: readonly string[]): BulkRow[] {
  const selectedNames = new Set(names);
  return order.items
    .filter(({ name }) => selectedNames.has(name))
    .map((item) => ({ line: item.n, name: item.name, input: getItemInput(order, item), secret: undefined }));
}

/** Whether the entered input is for the failed names and the order's account. */
export function isForFailedNames(
  order: Order,
  retryInput: RetryInput,
  failedNames: readonly string[],
): boolean {
  const checkedInput = getOrderTask(order.task).check(retryInput.input);
  return (
    checkedInput.ok &&
    retryInput.account?.id === order.account.id &&
    checkedInput.names.length === failedNames.length &&
    checkedInput.names.every((name) => failedNames.includes(name))
  );
}
