import { isDeepStrictEqual } from 'node:util';
import {
  afterDoubt,
  EVIDENCE,
  type ItemResult,
  isFinal,
  type Order,
  type OrderEvent,
  type OrderItem,
} from './order.ts';
import { change, closed, finishIfSettled, refuse, type Transition } from './steps.ts';

/*
 * What becomes of an order’s items: sent, answered, given up, settled.
 */

/** What people are told where the database says that nothing was sent, and a worker knows better. */
export const LOST_SENDING = 'This was sent, and the bot’s database has lost that it was.';

function isClaimedBy(order: Order, workerId: string): boolean {
  return order.state === 'EXECUTING' && order.claim?.workerId === workerId;
}

function replaceItem(order: Order, n: number, changes: Partial<OrderItem>): readonly OrderItem[] {
  return order.items.map((item) => (item.n === n ? { ...item, ...changes } : item));
}

/** The request of an item is about to leave. Of one that is out already only what proves that it may go again. */
export function sending(order: Order, event: OrderEvent & { type: 'sending' }, now: Date): Transition {
  const item = order.items.find((candidate) => candidate.n === event.n);
  const applies =
    event.again === undefined
      ? item?.state === 'WAITING' && item.sentAt === undefined
      : // Somebody may have stopped the order while the request whose session had ended was out.
        item?.state === 'SENT' && item.result?.stoppedBy === undefined && !order.items.some(wasStopped);
  if (!isClaimedBy(order, event.workerId) || item === undefined || !applies) return refuse(order, 'sent');
  const why = event.again === undefined ? {} : { why: event.again };
  return change(
    order,
    now,
    { kind: event.type, detail: { n: item.n, name: item.name, ctid: item.ctid, ...why } },
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
  const isOpen = (unknown: OrderItem) =>
    unknown.answeredAt === undefined || (event.outcome !== 'UNKNOWN' && !isKept(unknown, event.result));
  const applies =
    event.givenUpBy === undefined
      ? item?.state === 'SENT' || (item?.state === 'UNKNOWN' && isOpen(item))
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

/** Whether an item keeps this very answer already: the commit of it may have gone unconfirmed. */
function isKept(item: OrderItem, result: ItemResult): boolean {
  const kept = wordsOf(item.result);
  const isAnswer = item.answeredAt !== undefined && Object.values(kept).some((word) => word !== undefined);
  return isAnswer && isDeepStrictEqual(kept, wordsOf(result));
}

/** What came from the service; the bot's own sentence changes when an item is doubted or settled. */
function wordsOf(result: ItemResult | undefined) {
  const { code, text, stid, httpStatus, messages, errorKind } = result ?? {};
  return { code, text, stid, httpStatus, messages, errorKind };
}

/**
 * What has ended stays as it ended, for people and later orders rest on it. What became of the request is kept beside
 * that, and people are told.
 */
export function answeredLate(
  order: Order,
  event: OrderEvent & { type: 'answered_late' },
  now: Date,
): Transition {
  const item = order.items.find((candidate) => candidate.n === event.n);
  const hasEnded = isFinal(order.state) || item?.state === 'SUCCEEDED' || item?.state === 'FAILED';
  if (item === undefined || !hasEnded) return refuse(order, 'answered');
  const { summary, settledBy, late } = item.result ?? {};
  // That the outcome is not known was known when it was settled.
  const saysNothing = event.outcome === 'UNKNOWN' && settledBy !== undefined;
  const wasLost = item.sentAt === undefined && settledBy === undefined;
  const isRepeated = late === 'SUCCEEDED' || (late === 'UNKNOWN' && event.outcome === 'UNKNOWN');
  if (saysNothing || isRepeated || isKept(item, event.result)) return refuse(order, 'answered');
  const detail = {
    n: item.n,
    name: item.name,
    ctid: item.ctid,
    outcome: event.outcome,
    ...(settledBy === undefined ? {} : { settledBy }),
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
        result: {
          ...event.result,
          summary: wasLost || summary === undefined ? LOST_SENDING : summary,
          ...(settledBy === undefined ? {} : { settledBy }),
          late: event.outcome,
        },
      }),
    },
  );
}

/** The registry shows that what the service had accepted has happened: said once an item. */
export function shown(order: Order, event: OrderEvent & { type: 'shown' }, now: Date): Transition {
  const item = order.items.find((candidate) => candidate.n === event.n);
  const isConfirmed = item?.result?.confirmedByRegistry === true;
  if (item?.state !== 'SUCCEEDED' || item.result === undefined || isConfirmed)
    return refuse(order, 'confirmed by the registry');
  const detail = { n: item.n, name: item.name };
  const result = { ...item.result, confirmedByRegistry: true };
  return change(
    order,
    now,
    { kind: event.type, actor: EVIDENCE, detail },
    { items: replaceItem(order, item.n, { result }) },
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

/** It has failed without an answer, and nobody has settled it. */
function wasStopped({ state, answeredAt, result }: OrderItem): boolean {
  return state === 'FAILED' && answeredAt === undefined && result?.settledBy === undefined;
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

/**
 * Nobody knows any more what of the order was sent. Without a request that is known to have left this concerns what
 * was to be sent; such a request stops whatever has not ended, an order that waits for its approval too.
 */
export function invalidated(order: Order, event: OrderEvent & { type: 'doubted' }, now: Date): Transition {
  const { summary, known } = event;
  const item = order.items.find(({ n }) => n === known?.n);
  const applies =
    known === undefined
      ? order.state === 'APPROVED' || order.state === 'EXECUTING'
      : !isFinal(order.state) && item !== undefined && !hasOutcome(item);
  if (!applies) return refuse(order, 'doubted');
  const sent =
    known === undefined || item === undefined
      ? {}
      : { n: item.n, name: item.name, ctid: item.ctid, outcome: known.outcome, result: known.result };
  return finishIfSettled(
    change(
      order,
      now,
      { kind: event.type, detail: { summary, ...sent } },
      {
        items: order.items.map((each): OrderItem => {
          if (hasOutcome(each)) return each;
          if (each.n !== known?.n) return unknownItem(each, summary);
          const attempts = Math.max(each.attempts, known.attempts);
          const { sentAt, result } = known;
          return { ...each, state: 'UNKNOWN', sentAt, attempts, answeredAt: now, result };
        }),
      },
    ),
    now,
  );
}

function hasOutcome({ state }: OrderItem): boolean {
  return state === 'SUCCEEDED' || state === 'FAILED';
}

function unknownItem(item: OrderItem, summary: string): OrderItem {
  return item.state === 'UNKNOWN' ? item : { ...item, state: 'UNKNOWN', result: { ...item.result, summary } };
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
