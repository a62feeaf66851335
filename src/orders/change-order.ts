import { compareAndSwap } from '../lib/compare-and-swap.ts';
import type { OrdersContext } from './context.ts';
import type { Order, OrderEvent } from './order.ts';
import type { CommitOutcome, OrderCommit, SendingGuard } from './ports.ts';
import type { Refusal } from './refusal.ts';
import { transition } from './state-machine.ts';

export type UnguardedEvent = Exclude<OrderEvent, SendingEvent>;
type SendingEvent = Extract<OrderEvent, { readonly type: 'sending' }>;
type CommitExtra = Pick<
  OrderCommit,
  'revealableSecret' | 'answer' | 'leaseMs' | 'reservation' | 'mandateUse'
>;

export type ChangeContext = Pick<OrdersContext, 'store' | 'advance' | 'now'>;

export type ChangeDecision = EventDecision | { readonly refusal: Refusal };

export type EventDecision =
  | {
      readonly event: UnguardedEvent;
      readonly extra?: CommitExtra;
    }
  | {
      readonly event: SendingEvent;
      /** Preconditions of sending the request. */
      readonly guard: SendingGuard;
      readonly extra?: CommitExtra;
    };

export type ChangeOutcome =
  | { readonly ok: true; readonly order: Order; readonly previousOrder: Order }
  | {
      readonly ok: false;
      readonly refusal: Refusal;
      readonly order: Order | undefined;
    };

/**
 * Reads an order, calls `decide`, commits its event by compare-and-swap, and advances the order. Starts over after a
 * conflict.
 * @param decide called on every attempt
 * @param snapshot the order, if the caller has just read or committed it. Saves a read, except before a refusal
 */
export async function changeOrder(
  context: ChangeContext,
  orderId: string,
  decide: (order: Order) => ChangeDecision | Promise<ChangeDecision>,
  snapshot?: Order,
): Promise<ChangeOutcome> {
  return compareAndSwap<Order | undefined, ChangeOutcome>(
    `changing order ${orderId}`,
    async (tries) => (tries === 0 ? snapshot : undefined) ?? context.store.load(orderId, 'system'),
    async (before) => {
      if (before === undefined) return { ok: false, refusal: { code: 'no_such_order' }, order: undefined };
      const decision = await decide(before);
      if ('refusal' in decision)
        return before === snapshot ? undefined : { ok: false, refusal: decision.refusal, order: before };
      return commitDecision(context, before, decision, before !== snapshot);
    },
  );
}

/**
 * Commits a decision about an order by compare-and-swap.
 * @param isFresh whether the order was just read; otherwise a refusal based on its state may be outdated
 * @returns undefined after a conflict: the caller must read the order and decide again
 */
export async function commitDecision(
  context: ChangeContext,
  previousOrder: Order,
  decision: EventDecision,
  isFresh: boolean,
): Promise<ChangeOutcome | undefined> {
  const result = transition(previousOrder, decision.event, context.now());
  if (!result.ok) return isFresh ? { ok: false, refusal: result.refusal, order: previousOrder } : undefined;
  const { order: after, log } = result;
  const commitOutcome = await context.store.commit({
    ...{ before: previousOrder, after, log },
    guard: 'guard' in decision ? decision.guard : undefined,
    ...decision.extra,
  });
  if (commitOutcome.ok) {
    context.advance(after);
    return { ok: true, order: after, previousOrder };
  }
  const refusal = toConflictRefusal(commitOutcome);
  return refusal && { ok: false, refusal, order: previousOrder };
}

/** @returns undefined if the only conflict is that the order has changed since it was read */
function toConflictRefusal({
  conflictingOrderId,
  logDifference,
  earlierFinding,
  holdReason,
  sendingDifferences,
}: Extract<CommitOutcome, { readonly ok: false }>): Refusal | undefined {
  if (conflictingOrderId !== undefined) return { code: 'already_open', orderId: conflictingOrderId };
  if (holdReason !== undefined) return { code: 'mandate_held', holdReason };
  if (logDifference !== undefined) return { code: 'log_differs' };
  if (sendingDifferences !== undefined) return { code: 'not_signed', differences: sendingDifferences };
  return earlierFinding === undefined ? undefined : { code: 'earlier_order', finding: earlierFinding };
}
