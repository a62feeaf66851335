import { expect, test } from 'vitest';
import type { Order, OrderItem } from '../../src/orders/order.ts';
import { buildErrorOutcome, buildOutcomeEvent } from '../../src/orders/outcome-event.ts';
import { getOrderTask } from '../../src/orders/tasks.ts';
import { ServiceError, type ServiceErrorKind } from '../../src/service/errors.ts';
import { hoursLater, newOrder, START } from './sample.ts';

const order = newOrder(['a.rest'], { state: 'EXECUTING', claim: { workerId: 'w' } });
const [waitingItem] = order.items as readonly [OrderItem];
const sentItem: OrderItem = { ...waitingItem, state: 'SENT', sentAt: START, attempts: 2 };
const summary = { code: 'refused' } as const;
const failedEvent = { type: 'answered', n: 1, outcome: 'FAILED', result: { summary } } as const;
const unsentEvent = { ...failedEvent, result: { summary, errorKind: 'not_sent' } } as const;
const retryEvent = {
  type: 'retry_scheduled',
  workerId: 'w',
  n: 1,
  notBefore: hoursLater(1),
  retryReason: 'busy',
} as const;
const retryInDoubtEvent = { ...retryEvent, doubt: { code: 'sent_again' } } as const;

test.each<
  [
    what: string,
    item: Partial<OrderItem>,
    event: typeof failedEvent | typeof unsentEvent | typeof retryEvent,
    type: string,
    Partial<Order>?,
  ]
>([
  ['a response', sentItem, failedEvent, 'answered'],
  ['a response after its worker was given up', { ...sentItem, state: 'UNKNOWN' }, failedEvent, 'answered'],
  ['a response after a settlement', { ...sentItem, state: 'FAILED' }, failedEvent, 'answered_late'],
  [
    'a response after a settlement as done',
    { ...sentItem, state: 'SUCCEEDED' },
    failedEvent,
    'answered_late',
  ],
  [
    'a response after its order has ended',
    { ...sentItem, state: 'UNKNOWN' },
    failedEvent,
    'answered_late',
    { state: 'FAILED' },
  ],
  ['a response to a lost request', waitingItem, failedEvent, 'invalidated'],
  ['a failure before sending', sentItem, unsentEvent, 'answered'],
  ['a failure before sending a stopped item', { ...sentItem, state: 'FAILED' }, unsentEvent, 'answered'],
  [
    'a failure before sending a settled item',
    { ...sentItem, state: 'FAILED', result: { summary, resolvedBy: 'U0BOB' } },
    unsentEvent,
    'answered_late',
  ],
  ['a retry', sentItem, retryEvent, 'retry_scheduled'],
  ['a retry that is already scheduled', { ...waitingItem, attempts: 2 }, retryEvent, 'retry_scheduled'],
  [
    'a retry that was sent meanwhile',
    { ...waitingItem, attempts: 3, sentAt: START },
    retryEvent,
    'retry_scheduled',
  ],
  ['a retry of a lost request', { ...waitingItem, attempts: 1 }, retryEvent, 'invalidated'],
  [
    'a retry that contradicts its row',
    { ...waitingItem, attempts: 2, sentAt: START },
    retryEvent,
    'invalidated',
  ],
  [
    'a recorded doubt',
    { ...waitingItem, attempts: 2, result: { summary, inDoubt: true } },
    retryInDoubtEvent,
    'retry_scheduled',
  ],
  ['a lost doubt', { ...waitingItem, attempts: 2 }, retryInDoubtEvent, 'invalidated'],
  ['a retry after a settlement', { ...sentItem, state: 'FAILED' }, retryEvent, 'answered_late'],
])('the expected event is built for %s', (_what, item, event, type, changes) => {
  const current = { ...order, ...changes, items: [{ ...waitingItem, ...item }] };
  expect(buildOutcomeEvent(current, { event, sentItem, finalAnswer: failedEvent }).type).toBe(type);
  expect(buildOutcomeEvent(current, { event, sentItem: undefined, finalAnswer: failedEvent })).toBe(event);
});

test('the event for a lost request includes its result', () => {
  const done = { ...failedEvent, outcome: 'SUCCEEDED' } as const;
  const buildLostEvent = (event: typeof failedEvent | typeof done) =>
    buildOutcomeEvent(order, { event, sentItem }) as { readonly lostRequest?: { readonly result: unknown } };
  expect(buildLostEvent(done).lostRequest?.result).toMatchObject({
    summary: { since: { code: 'answered_done' } },
  });
  expect(buildLostEvent(failedEvent).lostRequest?.result).toMatchObject({ summary: { since: summary } });
});

test.each<
  [
    kind: ServiceErrorKind,
    attempts: number | undefined,
    mayBeDone: boolean,
    doubted: boolean,
    expected: object,
  ]
>([
  ['not_sent', undefined, false, false, { event: { retryReason: 'not_reached' } }],
  [
    'not_sent',
    3,
    false,
    false,
    { event: { retryReason: 'not_reached' }, finalAnswer: { outcome: 'FAILED' } },
  ],
  ['not_sent', 4, false, false, { event: { type: 'answered', outcome: 'FAILED' } }],
  [
    'not_sent',
    3,
    false,
    true,
    { event: { doubt: { code: 'sent_again' } }, finalAnswer: { outcome: 'UNKNOWN' } },
  ],
  ['unknown_outcome', 1, true, false, { event: { type: 'answered', outcome: 'UNKNOWN' } }],
  ['refused', 1, false, false, { event: { outcome: 'FAILED', result: { errorKind: 'refused' } } }],
  [
    'refused',
    1,
    false,
    true,
    { event: { outcome: 'UNKNOWN', result: { summary: { code: 'earlier_unanswered' } } } },
  ],
])(
  'the expected outcome is built for %s at attempt %j (may be done: %s, in doubt: %s)',
  (kind, attempts, mayBeDone, isInDoubt, expected) => {
    const item: OrderItem = {
      ...waitingItem,
      attempts: 2,
      ...(isInDoubt && { result: { summary, inDoubt: true } }),
    };
    const progress = {
      ...{ task: getOrderTask('renew'), account: order.account, item, workerId: 'w', mayBeDone },
      sentItem: attempts === undefined ? undefined : { ...sentItem, attempts },
    };
    const outcome = buildErrorOutcome(new ServiceError(kind, kind, { task: 'renew' }), progress, START);
    expect(outcome).toMatchObject(expected);
    expect('finalAnswer' in outcome).toBe('finalAnswer' in expected);
    // Without a sent request, the current attempt is one more than the item's.
    const fourthAttempt = buildErrorOutcome(
      new ServiceError('not_sent', kind, { task: 'renew' }),
      { ...progress, sentItem: undefined, item: { ...item, attempts: 3 } },
      START,
    );
    expect(fourthAttempt.event.type).toBe('answered');
  },
);
