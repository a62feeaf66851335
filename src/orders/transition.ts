import {
  afterDoubt,
  isFinal,
  type LogEntry,
  type Order,
  type OrderEvent,
  type OrderItem,
  type OrderState,
  outcomeOf,
  stateInWords,
} from './order.ts';

export type Transition =
  | { readonly ok: true; readonly order: Order; readonly log: readonly LogEntry[] }
  /** The event does not apply in this state: nothing changes. */
  | { readonly ok: false; readonly refusal: string };

/**
 * What an event makes of an order. Pure; the store commits the result by compare-and-swap on `version`.
 * @param now the moment of the event
 */
export function transition(order: Order, event: OrderEvent, now: Date): Transition {
  switch (event.type) {
    case 'confirmed':
      if (order.state !== 'DRAFT') return refuse(order, 'confirmed');
      return change(
        order,
        now,
        event.type,
        order.requesterId,
        {},
        {
          state: event.needsApproval ? 'PENDING' : 'APPROVED',
          expiresAt: event.needsApproval ? event.expiresAt : undefined,
          nudgeAt: event.needsApproval ? event.nudgeAt : undefined,
        },
      );
    case 'approved':
      return approve(order, event, now);
    case 'denied':
      if (order.state !== 'PENDING') return refuse(order, 'denied');
      return change(
        order,
        now,
        event.type,
        event.by,
        { reason: event.reason ?? null },
        closed('DENIED', now),
      );
    case 'cancelled':
      if (order.state !== 'PENDING' && order.state !== 'DRAFT') return refuse(order, 'cancelled');
      return change(order, now, event.type, event.by, {}, closed('CANCELLED', now));
    case 'ran_out':
      if (order.state !== 'PENDING' || order.expiresAt === undefined || order.expiresAt > now) {
        return refuse(order, 'expired');
      }
      return change(order, now, event.type, SYSTEM, {}, closed('EXPIRED', now));
    case 'nudged':
      if (order.state !== 'PENDING' || order.nudgeAt === undefined || order.nudgeAt > now) {
        return refuse(order, 'nudged');
      }
      return change(order, now, event.type, SYSTEM, {}, { nudgeAt: undefined });
    case 'claimed':
      if (order.state !== 'APPROVED') return refuse(order, 'carried out');
      return change(
        order,
        now,
        event.type,
        SYSTEM,
        { worker: event.workerId },
        {
          state: 'EXECUTING',
          claim: { workerId: event.workerId, leaseUntil: event.leaseUntil },
        },
      );
    case 'sending':
      return sending(order, event, now);
    case 'held_back':
      return heldBack(order, event, now);
    case 'answered':
      return answered(order, event, now);
    case 'answered_late':
      return answeredLate(order, event, now);
    case 'stopped':
      return stopped(order, event, now);
    case 'doubted':
      return doubted(order, event, now);
    case 'released':
      return released(order, now);
    case 'settled':
      return settled(order, event, now);
  }
}

const SYSTEM = 'system';

function closed(state: OrderState, now: Date): Partial<Order> {
  return { state, closedAt: now, expiresAt: undefined, nudgeAt: undefined, claim: undefined };
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

function refuse(order: Order, wanted: string): Transition {
  return {
    ok: false,
    refusal: `It cannot be ${wanted}: the order is ${stateInWords(order.state)}. ${NEXT[order.state]}`,
  };
}

function change(
  order: Order,
  now: Date,
  kind: LogEntry['kind'],
  actor: string,
  detail: LogEntry['detail'],
  changes: Partial<Order>,
): Transition & { ok: true } {
  const next: Order = { ...order, ...changes, version: order.version + 1 };
  return {
    ok: true,
    order: next,
    log: [{ kind, actor, detail, at: now, state: next.state, version: next.version }],
  };
}

function isClaimedBy(order: Order, workerId: string): boolean {
  return order.state === 'EXECUTING' && order.claim?.workerId === workerId;
}

function approve(order: Order, event: OrderEvent & { type: 'approved' }, now: Date): Transition {
  if (order.state !== 'PENDING') return refuse(order, 'approved');
  if (order.expiresAt !== undefined && order.expiresAt <= now) {
    return {
      ok: false,
      refusal: 'Its time is over, so it cannot be approved. Ask again if it is still wanted.',
    };
  }
  // Who approved before may press again: somebody whose approval had lapsed may be an approver once more.
  const isRepeated = order.approvals.some((approval) => approval.userId === event.by);
  const approvals = isRepeated ? order.approvals : [...order.approvals, { userId: event.by, at: now }];
  const lapsed = approvals.map(({ userId }) => userId).filter((userId) => !event.standing.includes(userId));
  const standing = approvals.length - lapsed.length;
  const enough = standing >= order.approvalsRequired;
  if (isRepeated && !enough) {
    return { ok: false, refusal: 'You have approved this already. It needs somebody else’s approval too.' };
  }
  return change(
    order,
    now,
    event.type,
    event.by,
    { standing, lapsed, required: order.approvalsRequired },
    enough ? { approvals, state: 'APPROVED', expiresAt: undefined, nudgeAt: undefined } : { approvals },
  );
}

function replaceItem(order: Order, n: number, changes: Partial<OrderItem>): readonly OrderItem[] {
  return order.items.map((item) => (item.n === n ? { ...item, ...changes } : item));
}

/** Appends the line that says how the whole order ended, once no item is left to send. */
function finishIfSettled(result: Transition & { ok: true }, now: Date): Transition & { ok: true } {
  const outcome = outcomeOf(result.order.items);
  if (outcome === undefined || outcome === result.order.state) return result;
  const order: Order = {
    ...result.order,
    ...closed(outcome, now),
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

function sending(order: Order, event: OrderEvent & { type: 'sending' }, now: Date): Transition {
  const item = order.items.find((candidate) => candidate.n === event.n);
  if (!isClaimedBy(order, event.workerId) || item?.state !== 'WAITING' || item.sentAt !== undefined) {
    return refuse(order, 'sent');
  }
  return change(
    order,
    now,
    event.type,
    SYSTEM,
    { n: item.n, name: item.name, ctid: item.ctid },
    {
      items: replaceItem(order, event.n, { state: 'SENT', sentAt: now, attempts: item.attempts + 1 }),
    },
  );
}

/** A try that failed before `sentAt` counts all the same, or it could go on for ever. */
function triesWith(item: OrderItem): number {
  return item.state === 'WAITING' ? item.attempts + 1 : item.attempts;
}

function heldBack(order: Order, event: OrderEvent & { type: 'held_back' }, now: Date): Transition {
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
    event.type,
    SYSTEM,
    { n: item.n, name: item.name, why: event.why, until: event.notBefore.toISOString() },
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
function answered(order: Order, event: OrderEvent & { type: 'answered' }, now: Date): Transition {
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
    change(order, now, event.type, SYSTEM, detail, {
      items: replaceItem(order, event.n, {
        state: event.outcome,
        answeredAt: now,
        result: event.result,
        attempts: triesWith(item),
      }),
    }),
    now,
  );
}

/**
 * What was settled stays as it was settled, for people and later orders rest on it. What the service says is kept
 * beside that, and people are told.
 */
function answeredLate(order: Order, event: OrderEvent & { type: 'answered_late' }, now: Date): Transition {
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
  return change(order, now, event.type, SYSTEM, detail, {
    items: replaceItem(order, event.n, {
      answeredAt: now,
      result: { ...event.result, summary, settledBy, late: event.outcome },
    }),
  });
}

function stopped(order: Order, event: OrderEvent & { type: 'stopped' }, now: Date): Transition {
  if (order.state !== 'PENDING' && order.state !== 'APPROVED' && order.state !== 'EXECUTING') {
    return refuse(order, 'stopped');
  }
  return finishIfSettled(
    change(
      order,
      now,
      event.type,
      SYSTEM,
      { summary: event.summary },
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

function doubted(order: Order, event: OrderEvent & { type: 'doubted' }, now: Date): Transition {
  if (order.state !== 'APPROVED' && order.state !== 'EXECUTING') return refuse(order, 'doubted');
  const { summary } = event;
  return finishIfSettled(
    change(
      order,
      now,
      event.type,
      SYSTEM,
      { summary },
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
function released(order: Order, now: Date): Transition {
  if (order.state !== 'EXECUTING') return refuse(order, 'released');
  const lost = order.items.filter((item) => item.state === 'SENT');
  return finishIfSettled(
    change(
      order,
      now,
      'released',
      SYSTEM,
      { lost: lost.map((item) => item.ctid) },
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

function settled(order: Order, event: OrderEvent & { type: 'settled' }, now: Date): Transition {
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
    change(order, now, event.type, event.by, detail, {
      items: order.items.map((item) =>
        unknown.includes(item)
          ? { ...item, state: event.outcome, result: { ...item.result, summary, settledBy: event.by } }
          : item,
      ),
    }),
    now,
  );
}
