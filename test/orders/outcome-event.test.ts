import { expect, test } from 'vitest';
import type { Order, OrderItem } from '../../src/orders/order.ts';
import { buildErrorOutcome, buildOutcomeEvent } from '../../src/orders/outcome-event.ts';
import { findTask } from '../../src/orders/tasks.ts';
import { ServiceError, type ServiceErrorKind } from '../../src/service/errors.ts';
import { hoursLater, newOrder, START } from './sample.ts';

const order = newOrder(['a.rest'], { state: 'EXECUTING', claim: { workerId: 'w' } });
const [waiting] = order.items as readonly [OrderItem];
const sentItem: OrderItem = { ...waiting, state: 'SENT', sentAt: START, attempts: 2 };
const summary = { code: 'refused' } as const;
const answer = { type: 'answered', n: 1, outcome: 'FAILED', result: { summary } } as const;
const unsent = { ...answer, result: { summary, errorKind: 'not_sent' } } as const;
const retry = {
  type: 'retry_scheduled',
  workerId: 'w',
  n: 1,
  notBefore: hoursLater(1),
  retryReason: 'busy',
} as const;
const inDoubt = { ...retry, doubt: { code: 'sent_again' } } as const;

test.each<
  [
    what: string,
    item: Partial<OrderItem>,
    event: typeof answer | typeof unsent | typeof retry,
    type: string,
    Partial<Order>?,
  ]
>([
  ['a response', sentItem, answer, 'answered'],
  ['a response after its worker was given up', { ...sentItem, state: 'UNKNOWN' }, answer, 'answered'],
  ['a response after a settlement', { ...sentItem, state: 'FAILED' }, answer, 'answered_late'],
  ['a response after a settlement as done', { ...sentItem, state: 'SUCCEEDED' }, answer, 'answered_late'],
  [
    'a response after its order has ended',
    { ...sentItem, state: 'UNKNOWN' },
    answer,
    'answered_late',
    { state: 'FAILED' },
  ],
  ['a response to a lost request', waiting, answer, 'invalidated'],
  ['a failure before sending', sentItem, unsent, 'answered'],
  ['a failure before sending a stopped item', { ...sentItem, state: 'FAILED' }, unsent, 'answered'],
  [
    'a failure before sending a settled item',
    { ...sentItem, state: 'FAILED', result: { summary, resolvedBy: 'U0BOB' } },
    unsent,
    'answered_late',
  ],
  ['a retry', sentItem, retry, 'retry_scheduled'],
  ['a retry that is already scheduled', { ...waiting, attempts: 2 }, retry, 'retry_scheduled'],
  ['a retry that was sent meanwhile', { ...waiting, attempts: 3, sentAt: START }, retry, 'retry_scheduled'],
  ['a retry of a lost request', { ...waiting, attempts: 1 }, retry, 'invalidated'],
  ['a retry that contradicts its row', { ...waiting, attempts: 2, sentAt: START }, retry, 'invalidated'],
  [
    'a recorded doubt',
    { ...waiting, attempts: 2, result: { summary, inDoubt: true } },
    inDoubt,
    'retry_scheduled',
  ],
  ['a lost doubt', { ...waiting, attempts: 2 }, inDoubt, 'invalidated'],
  ['a retry after a settlement', { ...sentItem, state: 'FAILED' }, retry, 'answered_late'],
])('the expected event is built for %s', (_what, item, event, type, changes) => {
  const current = { ...order, ...changes, items: [{ ...waiting, ...item }] };
  expect(buildOutcomeEvent(current, { event, sentItem, finalAnswer: answer }).type).toBe(type);
  expect(buildOutcomeEvent(current, { event, sentItem: undefined, finalAnswer: answer })).toBe(event);
});

test('the event for a lost success says that it was done', () => {
  const done = { ...answer, outcome: 'SUCCEEDED' } as const;
  const lost = (event: typeof answer | typeof done) =>
    buildOutcomeEvent(order, { event, sentItem }) as { readonly lostRequest?: { readonly result: unknown } };
  expect(lost(done).lostRequest?.result).toMatchObject({ summary: { since: { code: 'answered_done' } } });
  expect(lost(answer).lostRequest?.result).toMatchObject({ summary: { since: summary } });
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
])('%s at attempt %j, sent: %s, in doubt: %s', (kind, attempts, mayBeDone, doubted, expected) => {
  const item: OrderItem = {
    ...waiting,
    attempts: 2,
    ...(doubted && { result: { summary, inDoubt: true } }),
  };
  const progress = {
    ...{ task: findTask('renew'), account: order.account, item, workerId: 'w', mayBeDone },
    sentItem: attempts === undefined ? undefined : { ...sentItem, attempts },
  };
  const outcome = buildErrorOutcome(new ServiceError(kind, kind, { task: 'renew' }), progress, START);
  expect(outcome).toMatchObject(expected);
  expect('finalAnswer' in outcome).toBe('finalAnswer' in expected);
  // Without a sent request, the current attempt is one more than the item's.
  const third = buildErrorOutcome(
    new ServiceError('not_sent', kind, { task: 'renew' }),
    { ...progress, sentItem: undefined, item: { ...item, attempts: 3 } },
    START,
  );
  expect(third.event.type).toBe('answered');
});
