import { afterDoubt, isFinal, type Order, type OrderEvent, type OrderItem } from './order.ts';
import { change, closed, finishIfSettled, refuse, type Transition } from './steps.ts';

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
  const entry = {
    kind: event.type,
    detail: { n: item.n, name: item.name, why: event.why, until: event.notBefore.toISOString() },
  };
  if (item.result?.stoppedBy !== undefined) return notSentAgain(order, item, entry, event.doubt, now);
  return change(order, now, entry, {
    items: replaceItem(order, event.n, {
      state: 'WAITING',
      sentAt: undefined,
      notBefore: event.notBefore,
      attempts: triesWith(item),
      ...(event.doubt === undefined ? {} : { result: { summary: event.doubt, inDoubt: true } }),
    }),
  });
}

/** Somebody stopped the order while this item’s request was out: it would have gone again, and does not. */
function notSentAgain(
  order: Order,
  item: OrderItem,
  entry: Parameters<typeof change>[2],
  doubt: string | undefined,
  now: Date,
): Transition {
  const by = item.result?.stoppedBy;
  const inDoubt = doubt !== undefined || item.result?.inDoubt === true;
  const open = { ...item, result: { summary: STOPPED, inDoubt }, attempts: triesWith(item) };
  const items = replaceItem(
    order,
    item.n,
    stoppedItem(open, { summary: STOPPED, ...(by === undefined ? {} : { by }) }),
  );
  return finishIfSettled(change(order, now, entry, { items }), now);
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

type Stop = OrderEvent & { type: 'stopped' };

/** What is told of an item that a person stopped. */
export const STOPPED = 'It was stopped before it was sent.';
const STOPPED_UNDER_WAY =
  'Its request was on its way when the order was stopped. It is not sent again, whatever becomes of it.';

/** Nothing more is sent of the order, or of some of its items. */
export function stopped(order: Order, event: Stop, now: Date): Transition {
  const { by, only, doneIn } = event;
  const isStopped = (item: OrderItem) =>
    item.state === 'WAITING' && (only === undefined || only.includes(item.n));
  const isUnderWay = order.state === 'APPROVED' || order.state === 'EXECUTING';
  const applies = isUnderWay || (order.state === 'PENDING' && by === undefined);
  const isIdle = (by !== undefined || only !== undefined) && !order.items.some(isStopped);
  if (!applies || isIdle) return refuse(order, 'stopped');
  const entry = {
    kind: event.type,
    detail: {
      summary: event.summary,
      names: order.items.filter(isStopped).map(({ name }) => name),
      ...(doneIn === undefined ? {} : { doneIn }),
    },
    ...(by === undefined ? {} : { actor: by }),
  };
  if (by !== undefined && order.items.every(isUnsent)) {
    return change(order, now, entry, closed('CANCELLED', now));
  }
  const items = order.items.map((item) => {
    if (isStopped(item)) return stoppedItem(item, event);
    // Should it turn out not to have been carried out, it is not sent again either.
    return by !== undefined && item.state === 'SENT'
      ? { ...item, result: { ...(item.result ?? { summary: STOPPED_UNDER_WAY }), stoppedBy: by } }
      : item;
  });
  return finishIfSettled(change(order, now, entry, { items }), now);
}

/** Surely nothing of it was carried out: it was never sent, or the service refused for load. */
function isUnsent(item: OrderItem): boolean {
  return item.state === 'WAITING' && item.result?.inDoubt !== true;
}

/** Of a request that may have been carried out nobody can say that it was not. */
function stoppedItem(item: OrderItem, { summary, by, doneIn }: Omit<Stop, 'type'>): OrderItem {
  const marks = {
    ...(by === undefined ? {} : { stoppedBy: by }),
    ...(doneIn === undefined ? {} : { doneIn }),
  };
  return item.result?.inDoubt === true
    ? { ...item, state: 'UNKNOWN', result: { summary: afterDoubt(summary), ...marks } }
    : { ...item, state: 'FAILED', result: { summary, ...marks } };
}

/** Public records show something of an item that nobody knows of. It is kept for the person who settles. */
export function hinted(order: Order, event: OrderEvent & { type: 'hinted' }, now: Date): Transition {
  const { n, hint } = event;
  const item = order.items.find((candidate) => candidate.n === n);
  const known = item?.result?.hint;
  const isSame = known?.text === hint.text && known.source === hint.source;
  if (isFinal(order.state) || item?.state !== 'UNKNOWN' || isSame) return refuse(order, 'given a hint');
  return change(
    order,
    now,
    {
      kind: event.type,
      detail: { n, name: item.name, ctid: item.ctid, hint: hint.text, source: hint.source },
    },
    { items: replaceItem(order, n, { result: { ...(item.result ?? { summary: NO_ANSWER_KNOWN }), hint } }) },
  );
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
