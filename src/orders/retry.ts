import { NO_SUCH_ORDER } from './change.ts';
import { currentPolicy, type DecideDeps } from './decide.ts';
import { findEarlier, formatFinding } from './earlier.ts';
import {
  accountOwner,
  formatState,
  isRequester,
  isRetryOver,
  type Order,
  RETRY_DAYS,
  retryableItems,
} from './order.ts';
import { refusalOfNonApprover } from './policy.ts';
import { type OrderRequest, type RequestDeps, type RequestOutcome, requestOrder } from './request.ts';
import { taskNamed } from './tasks.ts';

export type RetryOutcome =
  | RequestOutcome
  | { readonly kind: 'refused'; readonly why: string }
  /** The secret part of the order was not kept: the person has to type it again. */
  | { readonly kind: 'needs_secret'; readonly order: Order };

/** What a person typed again into the form of an order with a secret part. */
export type TypedAgain = Pick<OrderRequest, 'input' | 'secret' | 'reason' | 'account' | 'deliveryId'>;

type RetryDeps = RequestDeps & DecideDeps;

/**
 * A new order of the names that failed, with the same account. Who presses is asking: neither their approval nor that of
 * anybody who asked for it before counts.
 */
export async function retryOrder(
  deps: RetryDeps,
  orderId: string,
  userId: string,
  typed?: TypedAgain,
): Promise<RetryOutcome> {
  const order = await deps.store.load(orderId);
  if (order === undefined) return { kind: 'refused', why: NO_SUCH_ORDER };
  const why = (await refusalOfPerson(deps, order, userId)) ?? (await refusalOfOrder(deps, order));
  if (why !== undefined) return { kind: 'refused', why };
  const names = await namesToRetry(deps, order);
  if ('why' in names) return { kind: 'refused', why: names.why };
  if (order.hasSecretInput && typed === undefined) return { kind: 'needs_secret', order };
  const account = await deps.findAccount(order.account.id);
  if (account === undefined) {
    return {
      kind: 'refused',
      why: 'The account it was asked with is no longer linked. Link it with `/domain link` and ask again.',
    };
  }
  const request = {
    task: order.task,
    requesterId: userId,
    channelId: order.channelId,
    threadTs: order.threadTs,
  };
  if (typed !== undefined && !asksForTheSame(order, typed, names.failed)) {
    return requestOrder(deps, { ...request, ...typed });
  }
  const content = typed ?? {
    input: taskNamed(order.task).onlyFor(order.input, names.failed),
    secret: undefined,
    reason: order.reason,
    account,
  };
  return requestOrder(deps, {
    ...request,
    ...content,
    retries: order,
    // However often it is pressed, one order is retried once; the new one can be retried in its turn.
    deliveryId: `retry:${order.id}`,
  });
}

async function refusalOfPerson(deps: DecideDeps, order: Order, userId: string): Promise<string | undefined> {
  if (!isRequester(order, userId)) {
    const refusal = refusalOfNonApprover(
      await currentPolicy(deps, [userId]),
      userId,
      'Only the person who asked, or an approver, can retry. Ask one of them, or ask for it yourself with `/domain`.',
    );
    if (refusal !== undefined) return refusal;
  }
  const owner = accountOwner(order);
  if (owner === userId) return undefined;
  if (order.hasSecretInput) {
    return `Its secret part was not kept. Only the person who asked first, <@${owner}>, can ask again and type it.`;
  }
  return taskNamed(order.task).secretResult
    ? `Its answer is a secret out of the account of <@${owner}>, so only they can ask for it again. Ask for your own with \`/domain\`.`
    : undefined;
}

async function refusalOfOrder(deps: RetryDeps, order: Order): Promise<string | undefined> {
  if (order.state !== 'FAILED') {
    return `Only an order that failed can be retried; this one is ${formatState(order.state)}. Ask for it anew with \`/domain\`.`;
  }
  if (!isRetryOver(order, deps.now())) return undefined;
  // Its card was shown while there was time: this takes the button off.
  await deps.store.requestTelling(order.id, deps.now());
  return `It ended more than ${RETRY_DAYS} days ago, so it can no longer be retried. Ask for it anew with \`/domain\`.`;
}

/** The names that failed, without those that an earlier order turned out to have done. */
async function namesToRetry(
  deps: Pick<RetryDeps, 'store'>,
  order: Order,
): Promise<{ readonly failed: readonly string[] } | { readonly why: string }> {
  const items = retryableItems(order);
  const findings = await findEarlier(deps.store.load, order, items);
  const open = findings.find(({ found }) => found === 'open');
  if (open !== undefined) return { why: formatFinding(open) };
  const failed = items.map(({ name }) => name).filter((name) => findings.every((each) => each.name !== name));
  return failed.length > 0 ? { failed } : { why: nothingToRetry(order) };
}

/** Why nothing of a failed order is left to ask for again. A request whose answer never came proves nothing. */
function nothingToRetry({ items }: Order): string {
  return items.some(({ result }) => result?.late === 'UNKNOWN')
    ? 'A request of this left and its answer never came, so it may have been carried out and is not asked for again. Look at the domain service; if it was not, ask for it anew with `/domain`.'
    : 'It turned out since that this was carried out, so it is not asked for again. Its thread has the answer.';
}

/** Whether what was typed is the order again, and not another one. */
function asksForTheSame(order: Order, typed: TypedAgain, failed: readonly string[]): boolean {
  const checked = taskNamed(order.task).check(typed.input);
  return (
    checked.ok &&
    typed.account?.id === order.account.id &&
    checked.names.length === failed.length &&
    checked.names.every((name) => failed.includes(name))
  );
}
