import { afterDoubt, EVIDENCE, isFinal, type Order, type OrderEvent, type OrderItem } from './order.ts';
import { change, finishIfSettled, refuse, type Transition } from './steps.ts';

/*
 * What becomes of an order’s items: sent, answered, given up, settled.
 */

function isClaimedBy(order: Order, workerId: string): boolean {
  return order.state === 'EXECUTING' && order.claim?.workerId === workerId;
}

function replaceItem(order: Order, n: number, changes: Partial<OrderItem>): readonly OrderItem[] {
  return order.items.map((item) => (item.n === n ? { ...item, ...changes } : item));
}

/** The request of an item is about to leave. */
export function sending(order: Order, event: OrderEvent & { type: 'sending' }, now: Date): Transition {
  const item = order.items.find((candidate) => candidate.n === event.n);
  if (!isClaimedBy(order, event.workerId) || item?.state !== 'WAITING' || item.sentAt !== undefined) {
    return refuse(order, 'sent');
  }
  return change(
    order,
    now,
    { kind: event.type, detail: { n: item.n, name: item.name, ctid: item.ctid } },
    {
      items: replaceItem(order, event.n, { state: 'SENT', sentAt: now, attempts: item.attempts + 1 }),
    },
  );
}

/** A try that failed before `sentAt` counts all the same, or it could go on for ever. */
function triesWith(item: OrderItem): number {
  return item.state === 'WAITING' ? item.attempts + 1 : item.attempts;
}

/** An item’s request was proven not to have been carried out: it may go again. */
export function heldBack(order: Order, event: OrderEvent & { type: 'held_back' }, now: Date): Transition {
  const item = order.items.find((candidate) => candidate.n === event.n);
  if (
    !isClaimedBy(order, event.workerId) ||
    item === undefined ||
    (item.state !== 'SENT' && item.state !== 'WAITING')
  ) {
    return refuse(order, 'held back');
  }
  return change(
    order,
    now,
    {
      kind: event.type,
      detail: { n: item.n, name: item.name, why: event.why, until: event.notBefore.toISOString() },
    },
    {
      items: replaceItem(order, event.n, {
        state: 'WAITING',
        sentAt: undefined,
        notBefore: event.notBefore,
        attempts: triesWith(item),
        ...(event.doubt === undefined ? {} : { result: { summary: event.doubt, inDoubt: true } }),
      }),
    },
  );
}

/**
 * An answer may also come late, after the item was given up as unknown: it is the best evidence there is. A worker
 * that sent nothing speaks for its own claim alone: by now another one's request may be on its way.
 */
export function answered(order: Order, event: OrderEvent & { type: 'answered' }, now: Date): Transition {
  const item = order.items.find((candidate) => candidate.n === event.n);
  const applies =
    event.givenUpBy === undefined
      ? item?.state === 'SENT' || (item?.state === 'UNKNOWN' && event.outcome !== 'UNKNOWN')
      : event.outcome === (item?.result?.inDoubt === true ? 'UNKNOWN' : 'FAILED') &&
        isClaimedBy(order, event.givenUpBy) &&
        (item?.state === 'WAITING' || item?.state === 'SENT');
  if (isFinal(order.state) || item === undefined || !applies) return refuse(order, 'answered');
  const detail = {
    n: item.n,
    name: item.name,
    ctid: item.ctid,
    outcome: event.outcome,
    result: event.result,
  };
  return finishIfSettled(
    change(
      order,
      now,
      { kind: event.type, detail },
      {
        items: replaceItem(order, event.n, {
          state: event.outcome,
          answeredAt: now,
          result: event.result,
          attempts: triesWith(item),
        }),
      },
    ),
    now,
  );
}

/**
 * What was settled stays as it was settled, for people and later orders rest on it. What the service says is kept
 * beside that, and people are told.
 */
export function answeredLate(
  order: Order,
  event: OrderEvent & { type: 'answered_late' },
  now: Date,
): Transition {
  const item = order.items.find((candidate) => candidate.n === event.n);
  const settled = item?.result;
  if (item === undefined || settled?.settledBy === undefined || settled.late !== undefined) {
    return refuse(order, 'answered');
  }
  const { summary, settledBy } = settled;
  const detail = {
    n: item.n,
    name: item.name,
    ctid: item.ctid,
    outcome: event.outcome,
    settledBy,
    agrees: event.outcome === item.state,
    result: event.result,
  };
  return change(
    order,
    now,
    { kind: event.type, detail },
    {
      items: replaceItem(order, event.n, {
        answeredAt: now,
        result: { ...event.result, summary, settledBy, late: event.outcome },
      }),
    },
  );
}

/** The registry shows that what the service had accepted has happened: said once an item. */
export function shown(order: Order, event: OrderEvent & { type: 'shown' }, now: Date): Transition {
  const item = order.items.find((candidate) => candidate.n === event.n);
  if (item?.state !== 'SUCCEEDED') return refuse(order, 'confirmed by the registry');
  const detail = { n: item.n, name: item.name };
  return change(order, now, { kind: event.type, actor: EVIDENCE, detail }, {});
}

/** What the order needs has gone: nothing more of it is sent. */
export function stopped(order: Order, event: OrderEvent & { type: 'stopped' }, now: Date): Transition {
  if (order.state !== 'PENDING' && order.state !== 'APPROVED' && order.state !== 'EXECUTING') {
    return refuse(order, 'stopped');
  }
  return finishIfSettled(
    change(
      order,
      now,
      { kind: event.type, detail: { summary: event.summary } },
      {
        items: order.items.map((item) =>
          item.state === 'WAITING' ? stoppedItem(item, event.summary) : item,
        ),
      },
    ),
    now,
  );
}

/** Of a request that may have been carried out nobody can say that it was not. */
function stoppedItem(item: OrderItem, why: string): OrderItem {
  return item.result?.inDoubt === true
    ? { ...item, state: 'UNKNOWN', result: { summary: afterDoubt(why) } }
    : { ...item, state: 'FAILED', result: { summary: why } };
}

/** Nobody knows any more what of the order was sent. */
export function doubted(order: Order, event: OrderEvent & { type: 'doubted' }, now: Date): Transition {
  if (order.state !== 'APPROVED' && order.state !== 'EXECUTING') return refuse(order, 'doubted');
  const { summary } = event;
  return finishIfSettled(
    change(
      order,
      now,
      { kind: event.type, detail: { summary } },
      {
        items: order.items.map((item) =>
          item.state === 'WAITING' || item.state === 'SENT'
            ? { ...item, state: 'UNKNOWN', result: { ...item.result, summary } }
            : item,
        ),
      },
    ),
    now,
  );
}

/** What was sent and has no answer is unknown; what was not sent goes on in another claim. */
export function released(order: Order, now: Date): Transition {
  if (order.state !== 'EXECUTING') return refuse(order, 'released');
  const lost = order.items.filter((item) => item.state === 'SENT');
  return finishIfSettled(
    change(
      order,
      now,
      { kind: 'released', detail: { lost: lost.map((item) => item.ctid) } },
      {
        state: 'APPROVED',
        claim: undefined,
        items: order.items.map((item) =>
          item.state === 'SENT' ? { ...item, state: 'UNKNOWN', result: { summary: NO_ANSWER_KNOWN } } : item,
        ),
      },
    ),
    now,
  );
}

const NO_ANSWER_KNOWN =
  'The request may have reached the service, but the bot stopped before it could read an answer.';

/** A person, or public records, say what became of items that nobody knew of. */
export function settled(order: Order, event: OrderEvent & { type: 'settled' }, now: Date): Transition {
  const unknown = order.items.filter(
    (item) => item.state === 'UNKNOWN' && (event.n === undefined || item.n === event.n),
  );
  if (unknown.length === 0 || isFinal(order.state)) return refuse(order, 'settled');
  const summary = event.outcome === 'SUCCEEDED' ? 'Settled as done.' : 'Settled as not done.';
  const detail = {
    outcome: event.outcome,
    reason: event.reason ?? null,
    ctids: unknown.map((item) => item.ctid),
  };
  return finishIfSettled(
    change(
      order,
      now,
      { kind: event.type, actor: event.by, detail },
      {
        items: order.items.map((item) =>
          unknown.includes(item)
            ? { ...item, state: event.outcome, result: { ...item.result, summary, settledBy: event.by } }
            : item,
        ),
      },
    ),
    now,
  );
}
