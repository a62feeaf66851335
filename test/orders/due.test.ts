import { describe, expect, test } from 'vitest';
import {
  computeDueTime,
  computeNotificationTime,
  findUnconfirmedItems,
  findUnknownItems,
} from '../../src/orders/due.ts';
import { ORDER_STATES, type Order, type OrderItem, type OrderState } from '../../src/orders/order.ts';
import { hoursLater, newOrder, START } from './sample.ts';

const MINUTE_MS = 60_000;
const addToStart = (ms: number) => new Date(START.getTime() + ms);

function newOrderInState(
  state: OrderState,
  changes: Partial<Order> = {},
  ...items: Partial<OrderItem>[]
): Order {
  const isWaiting = state === 'PENDING' || state === 'DRAFT';
  const sample = newOrder(items.length === 0 ? ['a.rest'] : items.map((_item, n) => `${n}.rest`), {
    state,
    ...(isWaiting ? {} : { expiresAt: undefined, remindAt: undefined }),
    ...changes,
  });
  return { ...sample, items: sample.items.map((item, index) => ({ ...item, ...items[index] })) };
}

describe('due times', () => {
  test.each<[what: string, Order, Date | undefined]>([
    ['a draft is never due', newOrderInState('DRAFT'), undefined],
    ['a pending order is due at its reminder', newOrderInState('PENDING'), hoursLater(4)],
    [
      'a pending order is due at its escalation',
      newOrderInState('PENDING', { remindAt: undefined, escalateAt: hoursLater(24) }),
      hoursLater(24),
    ],
    [
      'a reminded order is due at its expiry',
      newOrderInState('PENDING', { remindAt: undefined }),
      hoursLater(72),
    ],
    [
      'a pending order is due at an early expiry',
      newOrderInState('PENDING', { expiresAt: hoursLater(1) }),
      hoursLater(1),
    ],
    ['an approved order is due at once', newOrderInState('APPROVED'), START],
    [
      'an order whose names all wait is due when the first wait ends',
      newOrderInState('APPROVED', {}, { notBefore: addToStart(9_000) }, { notBefore: addToStart(5_000) }),
      addToStart(5_000),
    ],
    [
      'an order with a ready name is due',
      newOrderInState('APPROVED', {}, { notBefore: addToStart(9_000) }, {}),
      START,
    ],
    [
      'an order with a done and a waiting name is due when the wait ends',
      newOrderInState('APPROVED', {}, { state: 'SUCCEEDED' }, { notBefore: addToStart(5_000) }),
      addToStart(5_000),
    ],
    ['an executing order is due once its lease ends', newOrderInState('EXECUTING'), START],
    ['a failed order is never due', newOrderInState('FAILED', {}, { state: 'FAILED' }), undefined],
    ['a denied order is never due', newOrderInState('DENIED'), undefined],
    ['an expired order is never due', newOrderInState('EXPIRED'), undefined],
    ['a cancelled order is never due', newOrderInState('CANCELLED'), undefined],
  ])('%s', (_what, sampleOrder, expected) => {
    expect(computeDueTime(sampleOrder, START)).toEqual(expected);
  });

  const doneItem = { state: 'SUCCEEDED', sentAt: START, answeredAt: START } as const;

  test.each<[what: string, Order, Date | undefined]>([
    ['a success is due at once', newOrderInState('SUCCEEDED', {}, doneItem), START],
    [
      'a success that was recorded is never due',
      newOrderInState('SUCCEEDED', {}, { ...doneItem, isWatchListUpdated: true }),
      undefined,
    ],
    [
      'a success among failures is due at once',
      newOrderInState('FAILED', {}, { state: 'FAILED' }, { ...doneItem, isWatchListUpdated: false }),
      START,
    ],
    [
      'a success with an unknown name is due at once',
      newOrderInState('UNKNOWN', {}, doneItem, { state: 'UNKNOWN', sentAt: START }),
      START,
    ],
    [
      'a success without a new date is never due',
      newOrderInState('SUCCEEDED', { task: 'authcode' }, doneItem),
      undefined,
    ],
  ])('for the watch list, %s', (_what, sampleOrder, expected) => {
    expect(computeDueTime(sampleOrder, START)).toEqual(expected);
  });

  test.each<[hours: number, minutes: number | undefined]>([
    [0, 5],
    [0.9, 5],
    [1, 60],
    [71, 60],
    [72, 60],
    [72.1, undefined],
  ])('%d hours after its request, an unknown outcome is looked up again in %j minutes', (hours, minutes) => {
    const at = hoursLater(hours);
    const unknown = newOrderInState('UNKNOWN', {}, { state: 'UNKNOWN', sentAt: START });
    expect(computeDueTime(unknown, at)).toEqual(
      minutes === undefined ? undefined : new Date(at.getTime() + minutes * MINUTE_MS),
    );
  });

  test('lookups include only items that public records can show', () => {
    const sent = { sentAt: START };
    const unknown = [
      { ...sent, state: 'UNKNOWN' },
      { state: 'UNKNOWN' },
      { ...sent, state: 'FAILED' },
    ] as const;
    expect(findUnknownItems(newOrderInState('UNKNOWN', {}, ...unknown)).map(({ n }) => n)).toEqual([1]);
    expect(findUnknownItems(newOrderInState('FAILED', {}, ...unknown))).toEqual([]);
    const shownResult = { summary: { code: 'done' }, confirmedByRegistry: true } as const;
    const accepted = [
      doneItem,
      { ...doneItem, state: 'FAILED' },
      { state: 'SUCCEEDED' },
      { ...doneItem, result: shownResult },
    ] as const;
    const restoreTask = { task: 'restore' } as const;
    expect(
      findUnconfirmedItems(newOrderInState('SUCCEEDED', restoreTask, ...accepted)).map(({ n }) => n),
    ).toEqual([1]);
    expect(findUnconfirmedItems(newOrderInState('FAILED', restoreTask, ...accepted))).toEqual([]);
  });

  test('an unknown outcome that no public record can show is never due', () => {
    expect(
      computeDueTime(
        newOrderInState('UNKNOWN', { task: 'user' }, { state: 'UNKNOWN', sentAt: START }),
        START,
      ),
    ).toBeUndefined();
    expect(
      computeDueTime(newOrderInState('UNKNOWN', {}, { state: 'UNKNOWN', sentAt: undefined }), START),
    ).toBeUndefined();
  });

  test('an accepted task is looked up until the registry shows it, for 30 days', () => {
    const result = { summary: { code: 'done' } } as const;
    const accepted = newOrderInState(
      'SUCCEEDED',
      { task: 'restore' },
      { ...doneItem, isWatchListUpdated: true, result },
    );
    expect(computeDueTime(accepted, START)).toEqual(addToStart(5 * MINUTE_MS));
    expect(computeDueTime(accepted, hoursLater(29 * 24))).toEqual(hoursLater(29 * 24 + 1));
    expect(computeDueTime(accepted, hoursLater(30 * 24))).toEqual(hoursLater(30 * 24 + 1));
    expect(computeDueTime(accepted, hoursLater(30 * 24 + 1))).toBeUndefined();
    const confirmed = {
      ...doneItem,
      isWatchListUpdated: true,
      result: { ...result, confirmedByRegistry: true },
    };
    expect(
      computeDueTime(newOrderInState('SUCCEEDED', { task: 'restore' }, confirmed), START),
    ).toBeUndefined();
  });
});

test('changed nameservers are checked for 48 hours, the last time at the end', () => {
  const answered = { state: 'SUCCEEDED', sentAt: START, answeredAt: START } as const;
  const changedOrder = newOrderInState('SUCCEEDED', { task: 'nameservers' }, answered);
  expect(computeDueTime(changedOrder, START)).toEqual(addToStart(5 * MINUTE_MS));
  expect(computeDueTime(changedOrder, hoursLater(5))).toEqual(hoursLater(6));
  expect(computeDueTime(changedOrder, hoursLater(47.5))).toEqual(hoursLater(48));
  expect(computeDueTime(changedOrder, hoursLater(48))).toBeUndefined();
});

describe('notifications are due', () => {
  test.each(ORDER_STATES.filter((state) => state !== 'DRAFT' && state !== 'EXECUTING'))(
    'at once for %s',
    (state) => {
      expect(computeNotificationTime(newOrderInState(state), START)).toEqual(START);
    },
  );

  test('never for a draft', () => {
    expect(computeNotificationTime(newOrderInState('DRAFT'), START)).toBeUndefined();
  });

  test('seconds later for an order that was just approved or is executing', () => {
    const approvals = [{ userId: 'U0BOB', at: START, agreedExcess: [] }];
    expect(computeNotificationTime(newOrderInState('APPROVED', { approvals }), START)).toEqual(
      addToStart(3_000),
    );
    expect(computeNotificationTime(newOrderInState('EXECUTING'), START)).toEqual(addToStart(1_000));
    expect(
      computeNotificationTime(newOrderInState('APPROVED', { approvals, sendAfter: START }), START),
    ).toEqual(addToStart(3_000));
    expect(
      computeNotificationTime(newOrderInState('APPROVED', { approvals, sendAfter: addToStart(1) }), START),
    ).toEqual(START);
    expect(computeNotificationTime(newOrderInState('SUCCEEDED', { approvals }), START)).toEqual(START);
    const retriedOrder = newOrderInState(
      'APPROVED',
      { approvals },
      { attempts: 1, notBefore: addToStart(9_000) },
    );
    expect(computeNotificationTime(retriedOrder, START), 'while waiting for a busy service').toEqual(START);
  });
});
