import { type EarlierFinding, formatFinding } from './earlier.ts';
import type { Order, OrderEvent } from './order.ts';
import type { OrderCommit, OrderStore } from './ports.ts';
import { transition } from './state-machine.ts';

/** What a decision makes of the order as it is now. */
export type Decision =
  | {
      readonly event: OrderEvent;
      readonly extra?: Pick<OrderCommit, 'revealable' | 'answer' | 'leaseMs'>;
    }
  | { readonly refusal: string };

export type ChangeOutcome =
  | { readonly ok: true; readonly order: Order; readonly before: Order }
  | {
      readonly ok: false;
      readonly refusal: string;
      readonly order: Order | undefined;
      /** Another open order has the same task and name: a draft cannot be confirmed. */
      readonly openOrderId?: string;
      /** The order retries one that was done, or may be: what was about to be sent must not be. */
      readonly earlier?: EarlierFinding;
    };

/** Said of an id that no order has: a draft that was forgotten, or a slip. */
export const NO_SUCH_ORDER = 'There is no such order. `/domain orders` lists the latest.';

/** More than this many others changing one order at once means that something is wrong. */
const MAX_ATTEMPTS = 50;

/**
 * Reads an order, decides, and commits by compare-and-swap; when somebody else was faster, reads and decides
 * again on what is there then.
 * @param decide pure or asynchronous; called again on every try
 * @param known the order as the caller's last change left it. Saves a read; a refusal is always decided on a fresh one.
 */
export async function changeOrder(
  deps: { readonly store: OrderStore; readonly now: () => Date },
  orderId: string,
  decide: (order: Order) => Decision | Promise<Decision>,
  known?: Order,
): Promise<ChangeOutcome> {
  for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
    const before = (tries === 0 ? known : undefined) ?? (await deps.store.load(orderId));
    if (before === undefined) return { ok: false, refusal: NO_SUCH_ORDER, order: undefined };
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
    if (committed.conflictingOrderId !== undefined) {
      const openOrderId = committed.conflictingOrderId;
      return { ok: false, refusal: 'Another order for this is open.', order: before, openOrderId };
    }
    if (committed.earlier !== undefined) {
      const { earlier } = committed;
      return { ok: false, refusal: formatFinding(earlier), order: before, earlier };
    }
  }
  throw new Error(`changing order ${orderId}: others kept changing it`);
}
