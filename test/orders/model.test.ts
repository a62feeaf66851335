import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ctidOf,
  isFinal,
  isOpen,
  ORDER_STATES,
  type Order,
  type OrderEvent,
  outcomeOf,
  transition,
} from '../../src/orders/order.ts';

const START = new Date('2026-03-01T09:00:00Z');
const HOUR_MS = 3_600_000;

function newOrder(names: readonly string[], overrides: Partial<Order> = {}): Order {
  return {
    id: '7k2m9qx4h1ab',
    task: 'renew',
    state: 'PENDING',
    version: 1,
    requesterId: 'U0ALICE',
    account: { id: 'account', login: 'alice', method: 'password', context: 4 },
    items: names.map((name, index) => ({
      n: index + 1,
      name,
      ctid: ctidOf('7k2m9qx4h1ab', index + 1, names.length),
      state: 'WAITING',
      attempts: 0,
      notBefore: undefined,
      sentAt: undefined,
      answeredAt: undefined,
      result: undefined,
    })),
    input: { names, period: 1 },
    hasSecretInput: false,
    reason: undefined,
    channelId: 'C0DOMAINS',
    threadTs: undefined,
    approvals: [],
    approvalsRequired: 1,
    expiresAt: new Date(START.getTime() + 72 * HOUR_MS),
    nudgeAt: new Date(START.getTime() + 4 * HOUR_MS),
    claim: undefined,
    retryOf: undefined,
    deliveryId: 'command:1',
    createdAt: START,
    closedAt: undefined,
    ...overrides,
  };
}

const worker = fc.constantFrom('worker-1', 'worker-2');
const person = fc.constantFrom('U0ALICE', 'U0BOB', 'U0CAROL', 'U0ADA');
const item = fc.integer({ min: 1, max: 4 });
const ending = fc.constantFrom('SUCCEEDED' as const, 'FAILED' as const, 'UNKNOWN' as const);
const settled = fc.constantFrom('SUCCEEDED' as const, 'FAILED' as const);

/** Everything that can happen to an order, sensible or not. */
const anyEvent: fc.Arbitrary<OrderEvent> = fc.oneof(
  fc.record({
    type: fc.constant('confirmed' as const),
    needsApproval: fc.boolean(),
    expiresAt: fc.constant(new Date(START.getTime() + 72 * HOUR_MS)),
    nudgeAt: fc.constant(new Date(START.getTime() + 4 * HOUR_MS)),
  }),
  fc.record({ type: fc.constant('approved' as const), by: person, standing: fc.uniqueArray(person) }),
  fc.record({ type: fc.constant('denied' as const), by: person, reason: fc.constant(undefined) }),
  fc.record({ type: fc.constant('cancelled' as const), by: person }),
  fc.constant({ type: 'ran_out' as const }),
  fc.constant({ type: 'nudged' as const }),
  fc.record({
    type: fc.constant('claimed' as const),
    workerId: worker,
    leaseUntil: fc.constant(new Date(START.getTime() + 20_000)),
  }),
  fc.record({ type: fc.constant('sending' as const), workerId: worker, n: item }),
  fc.record({
    type: fc.constant('held_back' as const),
    workerId: worker,
    n: item,
    notBefore: fc.constant(START),
    why: fc.constant('busy'),
  }),
  fc.record({
    type: fc.constant('answered' as const),
    n: item,
    outcome: ending,
    result: fc.constant({ summary: 'answered' }),
  }),
  fc.record({ type: fc.constant('stopped' as const), summary: fc.constant('the account is gone') }),
  fc.constant({ type: 'released' as const }),
  fc.record({
    type: fc.constant('settled' as const),
    by: person,
    outcome: settled,
    reason: fc.constant(undefined),
  }),
);

/** Follows a sequence of events and tells each step that was taken. */
function follow(
  start: Order,
  events: readonly OrderEvent[],
  step: (before: Order, after: Order, event: OrderEvent) => void,
): Order {
  return events.reduce((before, event) => {
    const result = transition(before, event, START);
    if (!result.ok) return before;
    step(before, result.order, event);
    return result.order;
  }, start);
}

const anyStart = fc
  .record({
    names: fc.integer({ min: 1, max: 4 }),
    state: fc.constantFrom('DRAFT' as const, 'PENDING' as const, 'APPROVED' as const),
    approvalsRequired: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ names, ...rest }) =>
    newOrder(
      Array.from({ length: names }, (_, index) => `name${index}.rest`),
      rest,
    ),
  );
/** Mostly what moves an order on, so that long lives are met as well as early ends. */
const likelyEvent: fc.Arbitrary<OrderEvent> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('sending' as const), workerId: worker, n: item }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('claimed' as const),
      workerId: worker,
      leaseUntil: fc.constant(new Date(START.getTime() + 20_000)),
    }),
  },
  {
    weight: 3,
    arbitrary: person.chain((by) =>
      fc.record({
        type: fc.constant('approved' as const),
        by: fc.constant(by),
        standing: fc.uniqueArray(person),
      }),
    ),
  },
  { weight: 4, arbitrary: anyEvent },
);
const anyEvents = fc.array(likelyEvent, { minLength: 1, maxLength: 60, size: 'max' });

describe('whatever happens to an order', () => {
  it('no path leads from sentAt to a second send, except proof that nothing was carried out', () => {
    fc.assert(
      fc.property(anyStart, anyEvents, (start, events) => {
        const sent = new Set<number>();
        follow(start, events, (_before, _after, event) => {
          if (event.type === 'held_back') sent.delete(event.n);
          if (event.type !== 'sending') return;
          expect(sent.has(event.n), `item ${event.n} was sent a second time`).toBe(false);
          sent.add(event.n);
        });
      }),
      { numRuns: 2_000 },
    );
  });

  it('only the worker that holds the claim sends, and only out of EXECUTING', () => {
    fc.assert(
      fc.property(anyStart, anyEvents, (start, events) => {
        follow(start, events, (before, _after, event) => {
          if (event.type !== 'sending') return;
          expect(before.state).toBe('EXECUTING');
          expect(before.claim?.workerId).toBe(event.workerId);
        });
      }),
      { numRuns: 1_000 },
    );
  });

  it('an order that waited is never sent without as many standing approvals as it needs', () => {
    fc.assert(
      fc.property(anyEvents, fc.integer({ min: 1, max: 3 }), (events, approvalsRequired) => {
        let standing = 0;
        follow(newOrder(['cafe.rest'], { approvalsRequired }), events, (_before, after, event) => {
          if (event.type === 'approved') {
            standing = after.approvals.filter(({ userId }) => event.standing.includes(userId)).length;
          }
          if (event.type === 'sending') {
            expect(standing, 'it was sent with too few approvals').toBeGreaterThanOrEqual(approvalsRequired);
          }
        });
      }),
      { numRuns: 2_000 },
    );
  });

  it('counts nobody’s approval twice', () => {
    fc.assert(
      fc.property(anyStart, anyEvents, (start, events) => {
        const order = follow(start, events, () => undefined);
        const givers = order.approvals.map(({ userId }) => userId);
        expect(new Set(givers).size).toBe(givers.length);
      }),
    );
  });

  it('leaves final states as they are, and UNKNOWN only by an answer or a person', () => {
    fc.assert(
      fc.property(anyStart, anyEvents, (start, events) => {
        follow(start, events, (before, after, event) => {
          expect(isFinal(before.state), `${event.type} changed a ${before.state} order`).toBe(false);
          if (before.state === 'UNKNOWN' && after.state !== 'UNKNOWN') {
            expect(['answered', 'settled']).toContain(event.type);
          }
        });
      }),
      { numRuns: 1_000 },
    );
  });

  it('grows the version by one, and the log tells the state that came of it', () => {
    fc.assert(
      fc.property(anyStart, anyEvents, (start, events) => {
        for (let order = start, rest = events; rest.length > 0; rest = rest.slice(1)) {
          const [event] = rest;
          const result = event === undefined ? undefined : transition(order, event, START);
          if (result?.ok !== true) continue;
          expect(result.order.version).toBe(order.version + 1);
          expect(result.log.length).toBeGreaterThan(0);
          for (const entry of result.log) {
            expect(entry.state).toBe(result.order.state);
            expect(entry.version).toBe(result.order.version);
          }
          order = result.order;
        }
      }),
    );
  });

  it('is in the state that its items add up to once all are settled', () => {
    fc.assert(
      fc.property(anyStart, anyEvents, (start, events) => {
        follow(start, events, (_before, after) => {
          const outcome = outcomeOf(after.items);
          if (after.items.some(({ state }) => state === 'SENT')) {
            expect(['EXECUTING']).toContain(after.state);
          }
          if (outcome !== undefined) expect(after.state).toBe(outcome);
          if (['SUCCEEDED', 'FAILED', 'UNKNOWN'].includes(after.state)) expect(outcome).toBe(after.state);
        });
      }),
      { numRuns: 2_000 },
    );
  });

  it('never changes the order it was given', () => {
    fc.assert(
      fc.property(anyStart, anyEvent, (start, event) => {
        const before = structuredClone(start);
        transition(start, event, START);
        expect(start).toEqual(before);
      }),
    );
  });
});

describe('which event applies in which state', () => {
  /** An order in each state, by the shortest way there. */
  const inState: Readonly<Record<(typeof ORDER_STATES)[number], Order>> = (() => {
    const go = (start: Order, ...events: OrderEvent[]) => follow(start, events, () => undefined);
    const pending = newOrder(['cafe.rest']);
    const draft = newOrder(['cafe.rest'], { state: 'DRAFT', expiresAt: new Date(START.getTime() + HOUR_MS) });
    const approved = go(pending, { type: 'approved', by: 'U0BOB', standing: ['U0BOB'] });
    const leaseUntil = new Date(START.getTime() + 20_000);
    const executing = go(approved, { type: 'claimed', workerId: 'worker-1', leaseUntil });
    const sent = go(executing, { type: 'sending', workerId: 'worker-1', n: 1 });
    const answered = (outcome: 'SUCCEEDED' | 'FAILED' | 'UNKNOWN') =>
      go(sent, { type: 'answered', n: 1, outcome, result: { summary: '' } });
    return {
      DRAFT: draft,
      PENDING: pending,
      APPROVED: approved,
      EXECUTING: executing,
      SUCCEEDED: answered('SUCCEEDED'),
      FAILED: answered('FAILED'),
      UNKNOWN: answered('UNKNOWN'),
      DENIED: go(pending, { type: 'denied', by: 'U0BOB', reason: undefined }),
      EXPIRED: { ...pending, state: 'EXPIRED', closedAt: START },
      CANCELLED: go(pending, { type: 'cancelled', by: 'U0ALICE' }),
    };
  })();

  const late = new Date(START.getTime() + 100 * HOUR_MS);
  const events: readonly (readonly [
    OrderEvent,
    Readonly<Partial<Record<(typeof ORDER_STATES)[number], string>>>,
  ])[] = [
    [{ type: 'confirmed', needsApproval: true, expiresAt: late, nudgeAt: late }, { DRAFT: 'PENDING' }],
    [{ type: 'approved', by: 'U0CAROL', standing: ['U0CAROL'] }, {}],
    [{ type: 'denied', by: 'U0BOB', reason: 'too dear' }, { PENDING: 'DENIED' }],
    [
      { type: 'cancelled', by: 'U0ALICE' },
      { PENDING: 'CANCELLED', DRAFT: 'CANCELLED' },
    ],
    [{ type: 'ran_out' }, { PENDING: 'EXPIRED' }],
    [{ type: 'nudged' }, { PENDING: 'PENDING' }],
    [{ type: 'claimed', workerId: 'worker-2', leaseUntil: late }, { APPROVED: 'EXECUTING' }],
    [{ type: 'sending', workerId: 'worker-1', n: 1 }, { EXECUTING: 'EXECUTING' }],
    [{ type: 'sending', workerId: 'worker-2', n: 1 }, {}],
    [{ type: 'held_back', workerId: 'worker-1', n: 1, notBefore: late, why: '' }, { EXECUTING: 'EXECUTING' }],
    [{ type: 'answered', n: 1, outcome: 'SUCCEEDED', result: { summary: '' } }, { UNKNOWN: 'SUCCEEDED' }],
    [
      { type: 'stopped', summary: 'gone' },
      { PENDING: 'FAILED', APPROVED: 'FAILED', EXECUTING: 'FAILED' },
    ],
    [{ type: 'released' }, { EXECUTING: 'APPROVED' }],
    [{ type: 'settled', by: 'U0BOB', outcome: 'FAILED', reason: undefined }, { UNKNOWN: 'FAILED' }],
  ];

  for (const [event, expected] of events) {
    for (const state of ORDER_STATES) {
      const to = expected[state];
      it(`${JSON.stringify(event.type)} ${to === undefined ? 'is refused in' : `makes ${to} of`} ${state}`, () => {
        // Approvals are too late by then, and everything with a time is due.
        const result = transition(inState[state], event, late);
        expect(result.ok ? result.order.state : undefined, result.ok ? '' : result.refusal).toBe(to);
        if (!result.ok) expect(result.refusal).toMatch(/\.$/);
      });
    }
  }

  it('an approval lets go when it is in time', () => {
    const result = transition(
      inState.PENDING,
      { type: 'approved', by: 'U0CAROL', standing: ['U0CAROL'] },
      START,
    );
    expect(result.ok && result.order.state).toBe('APPROVED');
  });

  it('knows which states are open and which are final', () => {
    expect(ORDER_STATES.filter(isOpen)).toEqual(['PENDING', 'APPROVED', 'EXECUTING', 'UNKNOWN']);
    expect(ORDER_STATES.filter(isFinal)).toEqual(['SUCCEEDED', 'FAILED', 'DENIED', 'EXPIRED', 'CANCELLED']);
  });
});

describe('items', () => {
  it('carry the order’s id as ctid when alone, and their number when not', () => {
    expect(ctidOf('7k2m', 1, 1)).toBe('7k2m');
    expect(ctidOf('7k2m', 3, 3)).toBe('7k2m.3');
  });

  it('that were sent when the worker fell silent are unknown; the others go on', () => {
    const leaseUntil = new Date(START.getTime() + 20_000);
    const order = follow(
      newOrder(['a.rest', 'b.rest'], { state: 'APPROVED' }),
      [
        { type: 'claimed', workerId: 'worker-1', leaseUntil },
        { type: 'sending', workerId: 'worker-1', n: 1 },
        { type: 'released' },
      ],
      () => undefined,
    );
    expect(order.items.map(({ state }) => state)).toEqual(['UNKNOWN', 'WAITING']);
    expect(order.state).toBe('APPROVED');
    expect(order.claim).toBeUndefined();
  });
});
