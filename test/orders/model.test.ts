import { describe, expect, it } from 'vitest';
import type { PauseReason } from '../../src/orders/bulk/stored-bulk.ts';
import { isPaused } from '../../src/orders/bulk/waves.ts';
import {
  computeOrderOutcome,
  isFinal,
  ORDER_STATES,
  type Order,
  type OrderEvent,
  type OrderState,
} from '../../src/orders/order.ts';
import { transition } from '../../src/orders/state-machine.ts';
import fc from '../support/properties.ts';
import { hoursLater, newBulk, newOrder, RESUMED_EVENT, START } from './sample.ts';

/* Rules hold for all events of an order, in any sequence, by any person and at any time. */

const worker = fc.constantFrom('worker-1', 'worker-2');
const PEOPLE = ['U0ALICE', 'U0BOB', 'U0CAROL', 'U0ADA'];
const person = fc.constantFrom(...PEOPLE);
const itemNumber = fc.integer({ min: 1, max: 4 });
const EXCESS = { tag: null, period: '2026-03', currency: 'EUR', leftMinor: 0, orderMinor: 1_800 };
const itemOutcome = fc.constantFrom('SUCCEEDED' as const, 'FAILED' as const, 'UNKNOWN' as const);
const settledOutcome = fc.constantFrom('SUCCEEDED' as const, 'FAILED' as const);

const budget = fc.constantFrom(
  { exceeded: [], admins: [] },
  { exceeded: [EXCESS], admins: [] },
  { exceeded: [EXCESS], admins: ['U0BOB'] },
);

const eventOf = {
  confirmed: fc.record({
    type: fc.constant('confirmed' as const),
    needsApproval: fc.boolean(),
    expiresAt: fc.constant(hoursLater(72)),
    remindAt: fc.constant(hoursLater(4)),
  }),
  approved: fc.record({
    type: fc.constant('approved' as const),
    by: person,
    agreedExcess: fc.constantFrom([], [EXCESS]),
    signed: fc.constant(undefined),
    validApprovers: fc.subarray(PEOPLE),
    progress: fc.constant(RESUMED_EVENT.progress),
    unreadableGroups: fc.constant([]),
    price: fc.constant(undefined),
    budget,
  }),
  denied: fc.record({
    type: fc.constant('denied' as const),
    by: person,
    reason: fc.constantFrom(undefined, 'too dear'),
  }),
  cancelled: fc.record({ type: fc.constant('cancelled' as const), by: person }),
  expired: fc.constant({ type: 'expired' as const }),
  reminded: fc.constant({ type: 'reminded' as const }),
  claimed: fc.record({
    type: fc.constant('claimed' as const),
    workerId: worker,
  }),
  sending: fc.record({ type: fc.constant('sending' as const), workerId: worker, n: itemNumber }),
  sending_again: fc.record({
    type: fc.constant('sending' as const),
    workerId: worker,
    n: itemNumber,
    retryReason: fc.constant('session_ended' as const),
  }),
  retry_scheduled: fc.record({
    type: fc.constant('retry_scheduled' as const),
    workerId: worker,
    n: itemNumber,
    notBefore: fc.constant(hoursLater(1)),
    retryReason: fc.constant('busy' as const),
  }),
  answered: fc.record({
    type: fc.constant('answered' as const),
    n: itemNumber,
    outcome: itemOutcome,
    result: fc.constant({ summary: { code: 'done' as const } }),
  }),
  given_up: fc.record({
    type: fc.constant('answered' as const),
    abandonedBy: worker,
    n: itemNumber,
    outcome: itemOutcome,
    result: fc.constant({ summary: { code: 'not_prepared' as const } }),
  }),
  answered_late: fc.record({
    type: fc.constant('answered_late' as const),
    n: itemNumber,
    outcome: itemOutcome,
    result: fc.constant({ summary: { code: 'refused' as const } }),
  }),
  stopped: fc
    .record({
      type: fc.constant('stopped' as const),
      summary: fc.constant({ code: 'account_gone' as const }),
      by: fc.option(person, { nil: undefined }),
      itemNumbers: fc.option(fc.uniqueArray(itemNumber), { nil: undefined }),
    })
    .map(({ by, itemNumbers, ...event }) => ({
      ...event,
      ...(by === undefined ? {} : { by }),
      ...(itemNumbers === undefined ? {} : { itemNumbers }),
    })),
  paused: fc
    .record({
      type: fc.constant('paused' as const),
      reason: fc.constant<PauseReason>({ code: 'refusals', names: ['name0.rest'] }),
      expiresAt: fc.constantFrom(hoursLater(24), hoursLater(72)),
      workerId: fc.option(worker, { nil: undefined }),
    })
    .map(({ workerId, ...event }) => (workerId === undefined ? event : { ...event, workerId })),
  resumed: fc.record({
    type: fc.constant('resumed' as const),
    by: person,
    agreedExcess: fc.constantFrom([], [EXCESS]),
    signed: fc.constant(undefined),
    validApprovers: fc.subarray(PEOPLE),
    progress: fc
      .constantFrom(true, true, false)
      .map((isApproved) => ({ ...RESUMED_EVENT.progress, isApproved })),
    unreadableGroups: fc.constant([]),
    price: fc.constant(undefined),
    budget,
  }),
  hinted: fc.record({
    type: fc.constant('hinted' as const),
    n: itemNumber,
    hint: fc.record({
      seen: fc.constantFrom({ code: 'not_registered' as const }, { code: 'deleted' as const }),
      source: fc.constant('rdap.example'),
      seenAt: fc.constant(START.toISOString()),
    }),
  }),
  invalidated: fc.constant({ type: 'invalidated' as const, summary: { code: 'database_restored' as const } }),
  lost: fc.record({
    type: fc.constant('invalidated' as const),
    summary: fc.constant({ code: 'may_also_be_sent' as const }),
    lostRequest: fc.record({
      n: itemNumber,
      sentAt: fc.constant(START),
      attempts: fc.integer({ min: 1, max: 3 }),
      outcome: itemOutcome,
      result: fc.constant({ summary: { code: 'may_also_be_sent' as const } }),
    }),
  }),
  released: fc.constant({ type: 'released' as const }),
  resolved: fc
    .record({
      type: fc.constant('resolved' as const),
      by: person,
      outcome: settledOutcome,
      reason: fc.constant(undefined),
      n: fc.option(itemNumber, { nil: undefined }),
    })
    .map(({ n, ...event }) => (n === undefined ? event : { ...event, n })),
};

const anyEvent: fc.Arbitrary<OrderEvent> = fc.oneof(...Object.values(eventOf));
/** Mostly events that advance an order, so that both long and short sequences occur. */
const likelyEvent: fc.Arbitrary<OrderEvent> = fc.oneof(
  { weight: 6, arbitrary: eventOf.sending },
  { weight: 3, arbitrary: eventOf.claimed },
  { weight: 1, arbitrary: eventOf.sending_again },
  { weight: 1, arbitrary: eventOf.resolved },
  { weight: 1, arbitrary: eventOf.answered_late },
  { weight: 3, arbitrary: eventOf.approved },
  { weight: 2, arbitrary: eventOf.answered },
  { weight: 1, arbitrary: eventOf.paused },
  { weight: 2, arbitrary: eventOf.resumed },
  { weight: 1, arbitrary: eventOf.confirmed },
  { weight: 3, arbitrary: anyEvent },
);

/** An event, and the hours since the previous one. */
interface TimedEvent {
  readonly event: OrderEvent;
  readonly hours: number;
}
const timedEvents: fc.Arbitrary<readonly TimedEvent[]> = fc.array(
  fc.record({
    event: likelyEvent,
    hours: fc.oneof({ weight: 12, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(80) }),
  }),
  { minLength: 1, maxLength: 40, size: 'max' },
);

const anyStart: fc.Arbitrary<Order> = fc
  .record({
    count: fc.integer({ min: 1, max: 4 }),
    state: fc.constantFrom('DRAFT' as const, 'PENDING' as const, 'APPROVED' as const),
    approvalsRequired: fc.integer({ min: 1, max: 3 }),
    bulk: fc.option(fc.constant(newBulk(2)), { nil: undefined }),
  })
  .map(({ count, ...rest }) =>
    newOrder(
      Array.from({ length: count }, (_, index) => `name${index}.rest`),
      rest.state === 'APPROVED' ? { ...rest, expiresAt: undefined, remindAt: undefined } : rest,
    ),
  );

interface Step {
  readonly before: Order;
  readonly after: Order;
  readonly event: OrderEvent;
  readonly now: Date;
  readonly log: (ReturnType<typeof transition> & { readonly ok: true })['log'];
}

/** Applies the events and reports each accepted step. @returns the final order */
function applyAll(start: Order, sequence: readonly TimedEvent[], onStep: (taken: Step) => void): Order {
  let order = start;
  let hours = 0;
  for (const timed of sequence) {
    hours += timed.hours;
    const now = hoursLater(hours);
    const result = transition(order, timed.event, now);
    if (!result.ok) continue;
    onStep({ before: order, after: result.order, event: timed.event, now, log: result.log });
    order = result.order;
  }
  return order;
}

/** Checks a rule at every step of many sequences. */
function checkEveryStep(rule: (start: Order) => (taken: Step) => void, numRuns = 500): void {
  fc.assert(
    fc.property(anyStart, timedEvents, (start, sequence) => {
      applyAll(start, sequence, rule(start));
    }),
    { numRuns },
  );
}

describe('in any sequence of an order’s events', () => {
  it('every state and every event can occur', () => {
    const states = new Set<OrderState>();
    const events = new Set<OrderEvent['type']>();
    fc.assert(
      fc.property(anyStart, timedEvents, (start, sequence) => {
        states.add(start.state);
        applyAll(start, sequence, ({ after, event }) => {
          states.add(after.state);
          events.add(event.type);
        });
      }),
      { numRuns: 2_000, seed: 1 },
    );
    expect([...states].sort()).toEqual([...ORDER_STATES].sort());
    const types = Object.keys(eventOf).filter(
      (name) => !['given_up', 'sending_again', 'lost'].includes(name),
    );
    expect([...events].sort(), 'events that applied at least once').toEqual(types.sort());
  });

  it('an item is sent a second time only with proof that it wasn’t carried out', () => {
    checkEveryStep(() => {
      const sent = new Set<number>();
      return ({ event }) => {
        if (event.type === 'retry_scheduled') sent.delete(event.n);
        if (event.type !== 'sending') return;
        const isProven = event.retryReason !== undefined;
        expect(sent.has(event.n), `item ${event.n} was already sent`).toBe(isProven);
        sent.add(event.n);
      };
    }, 1_000);
  });

  it('nothing is sent after a person stops the order', () => {
    checkEveryStep(() => {
      let isStopped = false;
      return ({ event, after }) => {
        if (event.type === 'stopped' && event.by !== undefined && event.itemNumbers === undefined) {
          isStopped = true;
          if (after.state === 'CANCELLED') return;
          expect(
            after.items.map(({ state }) => state),
            'items after the stop',
          ).not.toContain('WAITING');
        }
        if (isStopped) expect(event.type, 'event after the stop').not.toBe('sending');
      };
    }, 1_000);
  });

  it('a paused order isn’t claimed or sent until a person resumes it', () => {
    checkEveryStep(
      () =>
        ({ before, event, after, now }) => {
          if (before.bulk?.pause === undefined) return;
          expect(['claimed', 'sending'], 'event while paused').not.toContain(event.type);
          if (after.bulk?.pause !== undefined) return;
          if (event.type !== 'resumed') throw new Error(`resumed by ${event.type}`);
          expect(event.progress.isApproved, 'is approved').toBe(true);
          expect(event.budget.exceeded.length === 0 || event.budget.admins.length > 0).toBe(true);
          expect(before.expiresAt === undefined || before.expiresAt > now, 'is in time').toBe(true);
        },
      1_000,
    );
  });

  it('an expired pause stops waiting items and keeps ended ones', () => {
    checkEveryStep(
      () =>
        ({ before, event, after }) => {
          if (event.type !== 'expired' || !isPaused(before)) return;
          if (after.state !== 'CANCELLED') {
            expect(after.items.map(({ state }) => state)).not.toContain('WAITING');
            return;
          }
          expect(
            before.items.every(({ state }) => state === 'WAITING'),
            'no item was sent',
          ).toBe(true);
        },
      1_000,
    );
  });

  it('sentAt is set once an item is sent, and the attempt is counted', () => {
    checkEveryStep(() => ({ before, after, event, now }) => {
      for (const [index, itemBefore] of before.items.entries()) {
        const itemAfter = after.items[index];
        if (itemAfter === undefined) throw new Error(`${event.type} lost item ${itemBefore.n}`);
        expect(itemAfter.attempts, 'attempts').toBeGreaterThanOrEqual(itemBefore.attempts);
        if (
          itemAfter.state === 'SENT' &&
          (itemBefore.state === 'WAITING' || (event.type === 'sending' && event.n === itemAfter.n))
        ) {
          expect(itemAfter.sentAt).toEqual(now);
          expect(itemAfter.attempts).toBe(itemBefore.attempts + 1);
        }
        if (itemAfter.state === 'SENT') expect(itemAfter.sentAt).toBeInstanceOf(Date);
        if (itemAfter.state === 'UNKNOWN' && itemBefore.state !== 'UNKNOWN' && event.type !== 'invalidated') {
          expect(itemAfter.sentAt).toBeInstanceOf(Date);
        }
        if (itemAfter.state === 'WAITING') expect(itemAfter.sentAt).toBeUndefined();
      }
    });
  });

  it('only the worker with the claim sends, reschedules or gives up, and only in EXECUTING', () => {
    checkEveryStep(() => ({ before, event }) => {
      const workerId =
        event.type === 'sending' || event.type === 'retry_scheduled'
          ? event.workerId
          : event.type === 'answered'
            ? event.abandonedBy
            : undefined;
      if (workerId === undefined) return;
      expect(before.state).toBe('EXECUTING');
      expect(before.claim?.workerId, `${event.type} by another worker`).toBe(workerId);
    });
  });

  it('a pending order is never claimed without the needed valid approvals', () => {
    fc.assert(
      fc.property(timedEvents, fc.integer({ min: 1, max: 3 }), (sequence, approvalsRequired) => {
        let validCount = 0;
        applyAll(newOrder(['cafe.rest'], { approvalsRequired }), sequence, ({ after, event }) => {
          if (event.type === 'approved') {
            validCount = after.approvals.filter(({ userId }) => event.validApprovers.includes(userId)).length;
          }
          if (event.type === 'claimed') {
            expect(validCount, 'valid approvals').toBeGreaterThanOrEqual(approvalsRequired);
          }
        });
      }),
      { numRuns: 1_000 },
    );
  });

  it('no approval counts twice, comes after the deadline or is lost', () => {
    checkEveryStep(() => ({ before, after, event, now }) => {
      const approverIds = after.approvals.map(({ userId }) => userId);
      expect(new Set(approverIds).size).toBe(approverIds.length);
      expect(after.approvals.slice(0, before.approvals.length).map(({ userId, at }) => [userId, at])).toEqual(
        before.approvals.map(({ userId, at }) => [userId, at]),
      );
      if (event.type !== 'approved' && event.type !== 'resumed')
        expect(after.approvals).toBe(before.approvals);
      else expect(before.expiresAt === undefined || before.expiresAt > now, 'is in time').toBe(true);
    });
  });

  it('final states stay, and only a response or a person ends UNKNOWN', () => {
    checkEveryStep(() => ({ before, after, event }) => {
      if (event.type === 'answered_late') {
        expect(after.state, 'state after a late response').toBe(before.state);
        const states = (order: Order) => order.items.map(({ state }) => state);
        expect(states(after)).toEqual(states(before));
        return;
      }
      expect(isFinal(before.state), `${event.type} changed a ${before.state} order`).toBe(false);
      if (before.state === 'UNKNOWN' && after.state !== 'UNKNOWN') {
        expect(['answered', 'resolved']).toContain(event.type);
      }
      for (const [index, was] of before.items.entries()) {
        if (was.state === 'SUCCEEDED' || was.state === 'FAILED') expect(after.items[index]).toBe(was);
      }
    });
  });

  it('the version increases by one, and each log entry has the resulting state', () => {
    checkEveryStep(() => ({ before, after, event, now, log }) => {
      expect(after.version).toBe(before.version + 1);
      expect(log[0]?.kind).toBe(event.type);
      for (const entry of log) {
        expect(entry).toMatchObject({ state: after.state, version: after.version, at: now });
      }
      const finishedCount = log.filter(({ kind }) => kind === 'finished').length;
      const hasEnded =
        ['SUCCEEDED', 'FAILED', 'UNKNOWN'].includes(after.state) && after.state !== before.state;
      expect(finishedCount, 'finished entries').toBe(hasEnded ? 1 : 0);
    });
  });

  it('the order’s state follows from its items once all have ended', () => {
    checkEveryStep(
      () =>
        ({ after }) => {
          const states = after.items.map(({ state }) => state);
          const outcome = states.some((state) => state === 'WAITING' || state === 'SENT')
            ? undefined
            : states.includes('UNKNOWN')
              ? 'UNKNOWN'
              : states.includes('FAILED')
                ? 'FAILED'
                : 'SUCCEEDED';
          expect(computeOrderOutcome(after.items)).toBe(outcome);
          if (states.includes('SENT')) expect(after.state).toBe('EXECUTING');
          if (outcome !== undefined) expect(after.state).toBe(outcome);
          if (['SUCCEEDED', 'FAILED', 'UNKNOWN'].includes(after.state)) expect(after.state).toBe(outcome);
        },
      2_000,
    );
  });

  it('an order has a claim while executing, a deadline while pending and a closing time once ended', () => {
    checkEveryStep(() => ({ before, after, event, now }) => {
      expect(after.claim !== undefined, `a claim in ${after.state}`).toBe(after.state === 'EXECUTING');
      const closedAt = event.type === 'answered_late' ? before.closedAt : now;
      expect(after.closedAt).toEqual(isFinal(after.state) ? closedAt : undefined);
      const hasDeadline = after.state === 'DRAFT' || after.state === 'PENDING' || isPaused(after);
      expect(after.expiresAt !== undefined, `an expiry in ${after.state}`).toBe(hasDeadline);
      if (after.state !== 'PENDING' && after.state !== 'DRAFT')
        expect(after.remindAt, `a reminder in ${after.state}`).toBeUndefined();
    });
  });

  it('the input, account and requester never change', () => {
    checkEveryStep((start) => ({ after }) => {
      const { id, task, requesterId, account, input, channelId, deliveryId, createdAt } = after;
      expect({ id, task, requesterId, account, input, channelId, deliveryId, createdAt }).toEqual({
        id: start.id,
        task: start.task,
        requesterId: start.requesterId,
        account: start.account,
        input: start.input,
        channelId: start.channelId,
        deliveryId: start.deliveryId,
        createdAt: start.createdAt,
      });
      expect(after.items.map(({ n, name, ctid }) => ({ n, name, ctid }))).toEqual(
        start.items.map(({ n, name, ctid }) => ({ n, name, ctid })),
      );
    });
  });

  it('applying an event doesn’t change the given order', () => {
    fc.assert(
      fc.property(anyStart, anyEvent, (start, event) => {
        const before = structuredClone(start);
        transition(start, event, START);
        expect(start).toEqual(before);
      }),
    );
  });
});
