import type { Order, OrderEvent } from './order.ts';
import type { CommitOutcome, OrderCommit, OrderStore } from './ports.ts';
import type { Refusal } from './refusal.ts';
import { transition } from './state-machine.ts';

/** What a decision makes of the order as it was read. */
export type Decision =
  | {
      readonly event: OrderEvent;
      readonly extra?: Pick<OrderCommit, 'revealable' | 'answer' | 'leaseMs' | 'reservation'>;
    }
  | { readonly refusal: Refusal };

export type ChangeOutcome =
  | { readonly ok: true; readonly order: Order; readonly before: Order }
  | {
      readonly ok: false;
      readonly refusal: Refusal;
      readonly order: Order | undefined;
    };

/** More concurrent changes of one order than this mean that something is wrong. */
const MAX_ATTEMPTS = 50;

/**
 * Reads an order, decides, and commits by compare-and-swap. When somebody else committed first, it reads and decides
 * again.
 * @param decide pure or asynchronous; called again on every try
 * @param known a snapshot that the caller has just read or committed. Saves one read; a refusal is always decided on a fresh
 * read.
 */
export async function changeOrder(
  deps: { readonly store: OrderStore; readonly now: () => Date },
  orderId: string,
  decide: (order: Order) => Decision | Promise<Decision>,
  known?: Order,
): Promise<ChangeOutcome> {
  for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
    const before = (tries === 0 ? known : undefined) ?? (await deps.store.load(orderId));
    if (before === undefined) return { ok: false, refusal: { code: 'no_such_order' }, order: undefined };
    const decision = await decide(before);
    if ('refusal' in decision) {
      if (before === known) continue;
      return { ok: false, refusal: decision.refusal, order: before };
    }
    const result = transition(before, decision.event, deps.now());
    if (!result.ok) {
      if (before === known) continue;
      return { ok: false, refusal: result.refusal, order: before };
    }
    const committed = await deps.store.commit({
      before,
      after: result.order,
      log: result.log,
      ...decision.extra,
    });
    if (committed.ok) return { ok: true, order: result.order, before };
    const refusal = refusalOfConflict(committed);
    if (refusal !== undefined) return { ok: false, refusal, order: before };
  }
  throw new Error(`changing order ${orderId}: others kept changing it`);
}

/** Why a commit is refused; undefined when somebody else only committed first. */
function refusalOfConflict({
  conflictingOrderId,
  earlier,
}: Extract<CommitOutcome, { readonly ok: false }>): Refusal | undefined {
  if (conflictingOrderId !== undefined) return { code: 'open_already', orderId: conflictingOrderId };
  return earlier === undefined ? undefined : { code: 'earlier_order', finding: earlier };
}
