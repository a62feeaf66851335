import type { Account } from '../accounts/account.ts';
import { type Vault, VaultError } from '../accounts/vault.ts';
import type { Secret } from '../client/secret.ts';
import { type ChangeOutcome, changeOrder, NO_SUCH_ORDER } from './change.ts';
import { currentPolicy, type DecideDeps } from './decide.ts';
import { FOLLOWED_TASKS, type Order, retryableItems, stateInWords } from './order.ts';
import type { OrderJob, OrderStore } from './ports.ts';
import { type RequestDeps, type RequestOutcome, requestOrder, resultOwner } from './request.ts';
import { taskNamed } from './tasks.ts';

/** Why a person may not settle an unknown outcome, or undefined when they may. */
export async function refusalToSettle(
  deps: DecideDeps,
  order: Order,
  userId: string,
): Promise<string | undefined> {
  const policy = await currentPolicy(deps);
  if (!policy.approvers.has(userId))
    return 'Only approvers can settle an order whose outcome is not known. Ask one of them to look at the domain service.';
  return order.state === 'UNKNOWN'
    ? undefined
    : 'Its outcome is known by now; there is nothing to settle. Its thread says how it went.';
}

/** An approver says what became of an order whose outcome nobody knew. */
export function settleOrder(
  deps: DecideDeps,
  orderId: string,
  userId: string,
  outcome: 'SUCCEEDED' | 'FAILED',
  reason: string | undefined,
): Promise<ChangeOutcome> {
  return changeOrder(deps, orderId, async (order) => {
    const refusal = await refusalToSettle(deps, order, userId);
    if (refusal !== undefined) return { refusal };
    return {
      event: { type: 'settled', by: userId, outcome, reason },
      jobs: jobsAfterSettling(
        order,
        outcome,
        order.items.filter((item) => item.state === 'UNKNOWN').map(({ n }) => n),
      ),
    };
  });
}

/** @param settled numbers of the items whose outcome is known now */
export function jobsAfterSettling(
  order: Order,
  outcome: 'SUCCEEDED' | 'FAILED',
  settled: readonly number[],
): OrderJob[] {
  const orderId = order.id;
  const followed = outcome === 'SUCCEEDED' && FOLLOWED_TASKS.includes(order.task) ? settled : [];
  return [
    { queue: 'order.show', data: { orderId } },
    ...followed.map((n) => ({ queue: 'expiry.follow', data: { orderId, n } }) as const),
  ];
}

export type RetryOutcome =
  | RequestOutcome
  | { readonly kind: 'refused'; readonly why: string }
  /** The secret part of the order was not kept: it has to be typed again. */
  | { readonly kind: 'needs_secret'; readonly order: Order };

/** A new order of the names that failed, for the same person and with the same account. */
export async function retryOrder(
  deps: RequestDeps & DecideDeps & { readonly findAccount: (id: string) => Promise<Account | undefined> },
  orderId: string,
  userId: string,
): Promise<RetryOutcome> {
  const order = await deps.store.load(orderId);
  if (order === undefined) return { kind: 'refused', why: NO_SUCH_ORDER };
  if (order.requesterId !== userId && !(await currentPolicy(deps)).approvers.has(userId)) {
    return {
      kind: 'refused',
      why: 'Only the person who asked, or an approver, can retry. Ask one of them, or ask for it yourself with `/domain`.',
    };
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

export type RevealOutcome =
  | {
      readonly kind: 'revealed';
      readonly secret: Secret;
      readonly order: Order;
      /** It could not be shown: it can be asked for again until its hour is over. */
      readonly giveBack: () => Promise<void>;
    }
  | {
      readonly kind: 'refused';
      readonly why: string;
      /** For the log: it is there and does not open. */
      readonly err?: VaultError;
    };

/** Shows the secret result of an order to its requester, once. */
export async function revealSecret(
  deps: { readonly store: OrderStore; readonly vault: Vault; readonly now: () => Date },
  orderId: string,
  userId: string,
): Promise<RevealOutcome> {
  const order = await deps.store.load(orderId);
  if (order === undefined) return { kind: 'refused', why: NO_SUCH_ORDER };
  if (order.requesterId !== userId) {
    return {
      kind: 'refused',
      why: 'Only the person who asked can see this. Ask for your own with `/domain`.',
    };
  }
  const item = order.items.find((candidate) => candidate.result?.hasSecret === true);
  const sealed =
    item === undefined ? undefined : await deps.store.takeRevealable(orderId, item.n, deps.now());
  if (item === undefined || sealed === undefined) {
    return { kind: 'refused', why: 'This order has nothing to show. Ask for it again with `/domain`.' };
  }
  if (sealed === 'gone') {
    return {
      kind: 'refused',
      why: 'It was shown already, or its hour is over, and it is gone. Ask for it again.',
    };
  }
  const giveBack = () => deps.store.returnRevealable(orderId, item.n, sealed);
  try {
    return {
      kind: 'revealed',
      secret: deps.vault.open(sealed, resultOwner(order, item.n)),
      order,
      giveBack,
    };
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    // Whoever runs the bot may bring the key back within the hour.
    await giveBack();
    return {
      kind: 'refused',
      err: error,
      why: 'This cannot be opened: its key is missing, or it was changed. Whoever runs me can bring the key back within the hour; else ask for it again.',
    };
  }
}
