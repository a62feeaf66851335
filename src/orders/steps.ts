import { formatState, type Order, type OrderLogEntry, type OrderState, outcomeOf } from './order.ts';

/*
 * What the transitions of an order are made of.
 */

/** The order after an event, and what the audit log says of it. */
export interface Changed {
  readonly ok: true;
  readonly order: Order;
  readonly log: readonly OrderLogEntry[];
}

export type Transition =
  | Changed
  /** The event does not apply in this state: nothing changes. */
  | { readonly ok: false; readonly refusal: string };

const SYSTEM = 'system';

/** What closes an order. */
export function closedOrder(state: OrderState, now: Date): Partial<Order> {
  return { state, closedAt: now, expiresAt: undefined, remindAt: undefined, claim: undefined };
}

/** What a person who was refused does next, by the state that the order is in. */
const NEXT: Readonly<Record<OrderState, string>> = {
  DRAFT: 'The person who asked has to confirm it first.',
  PENDING: 'An approver decides about it.',
  APPROVED: 'Its thread will say how it ends.',
  EXECUTING: 'Its thread will say how it ends.',
  SUCCEEDED: 'Its thread says how it went.',
  FAILED: 'Its thread says why; Retry asks again.',
  UNKNOWN: 'An approver has to settle it first.',
  DENIED: 'Ask again if it is still wanted.',
  EXPIRED: 'Ask again if it is still wanted.',
  CANCELLED: 'Ask again if it is still wanted.',
};

/** The event does not apply in the order’s state. */
export function refuse(order: Order, wanted: string): Transition {
  return {
    ok: false,
    refusal: `It cannot be ${wanted}: the order is ${formatState(order.state)}. ${NEXT[order.state]}`,
  };
}

/** The order with what has changed, and the line that says so in the audit log. */
export function changedOrder(
  order: Order,
  now: Date,
  entry: {
    readonly kind: OrderLogEntry['kind'];
    /** The bot itself when left out. */
    readonly actor?: string;
    readonly detail?: OrderLogEntry['detail'];
  },
  changes: Partial<Order>,
): Changed {
  const next: Order = { ...order, ...changes, version: order.version + 1 };
  const { kind, actor = SYSTEM, detail = {} } = entry;
  return {
    ok: true,
    order: next,
    log: [{ kind, actor, detail, at: now, state: next.state, version: next.version }],
  };
}

/** Appends the line that says how the whole order ended, once no item is left to send. */
export function finishIfComplete(result: Changed, now: Date): Changed {
  const outcome = outcomeOf(result.order.items);
  if (outcome === undefined || outcome === result.order.state) return result;
  const order: Order = {
    ...result.order,
    ...closedOrder(outcome, now),
    closedAt: outcome === 'UNKNOWN' ? undefined : now,
  };
  const log = result.log.map((entry) => ({ ...entry, state: outcome }));
  return {
    ok: true,
    order,
    log: [
      ...log,
      {
        kind: 'finished',
        actor: SYSTEM,
        detail: { through: log[0]?.kind ?? null },
        at: now,
        state: outcome,
        version: order.version,
      },
    ],
  };
}
