import { describe, expect, test } from 'vitest';
import {
  computeDueTime,
  computeNotificationTime,
  findUnconfirmedItems,
  findUnknownItems,
} from '../../src/orders/due.ts';
import { ORDER_STATES, type Order, type OrderItem, type OrderState } from '../../src/orders/order.ts';
import { hoursLater, newOrder, START } from './sample.ts';

/* The next due time, by an order's row. */

const MINUTE_MS = 60_000;
const later = (ms: number) => new Date(START.getTime() + ms);

/** A renewal in a state, with changes of its items. */
function order(state: OrderState, changes: Partial<Order> = {}, ...items: Partial<OrderItem>[]): Order {
  const isWaiting = state === 'PENDING' || state === 'DRAFT';
  const sample = newOrder(items.length === 0 ? ['a.rest'] : items.map((_item, n) => `${n}.rest`), {
    state,
    ...(isWaiting ? {} : { expiresAt: undefined, remindAt: undefined }),
    ...changes,
  });
  return { ...sample, items: sample.items.map((item, index) => ({ ...item, ...items[index] })) };
}

describe('an order is due', () => {
  test.each<[what: string, Order, Date | undefined]>([
    ['a draft: never, it is only forgotten', order('DRAFT'), undefined],
    ['one that waits: time until the reminder', order('PENDING'), hoursLater(4)],
    [
      'one that is called about before: then',
      order('PENDING', { remindAt: undefined, escalateAt: hoursLater(24) }),
      hoursLater(24),
    ],
    ['with a reminder given: when it expires', order('PENDING', { remindAt: undefined }), hoursLater(72)],
    ['one that expires before that: then', order('PENDING', { expiresAt: hoursLater(1) }), hoursLater(1)],
    ['an approved one: at once', order('APPROVED'), START],
    [
      'one whose names all wait for a busy service: when the first has waited',
      order('APPROVED', {}, { notBefore: later(9_000) }, { notBefore: later(5_000) }),
      later(5_000),
    ],
    ['with a name that needn’t wait: at once', order('APPROVED', {}, { notBefore: later(9_000) }, {}), START],
    [
      'one whose waiting name follows one that is done: when that has waited',
      order('APPROVED', {}, { state: 'SUCCEEDED' }, { notBefore: later(5_000) }),
      later(5_000),
    ],
    ['one that is carried out: at once, should its lease run out', order('EXECUTING'), START],
    ['one that failed: never', order('FAILED', {}, { state: 'FAILED' }), undefined],
    ['one that was denied: never', order('DENIED'), undefined],
    ['one that expired: never', order('EXPIRED'), undefined],
    ['one that was cancelled: never', order('CANCELLED'), undefined],
  ])('%s', (_what, given, expected) => {
    expect(computeDueTime(given, START)).toEqual(expected);
  });

  const done = { state: 'SUCCEEDED', sentAt: START, answeredAt: START } as const;

  test.each<[what: string, Order, Date | undefined]>([
    ['a success: at once', order('SUCCEEDED', {}, done), START],
    ['one that it knows: never', order('SUCCEEDED', {}, { ...done, isWatchListUpdated: true }), undefined],
    [
      'one among failures: at once',
      order('FAILED', {}, { state: 'FAILED' }, { ...done, isWatchListUpdated: false }),
      START,
    ],
    [
      'one beside what nobody knows: at once',
      order('UNKNOWN', {}, done, { state: 'UNKNOWN', sentAt: START }),
      START,
    ],
    ['what changes no date: never', order('SUCCEEDED', { task: 'authcode' }, done), undefined],
  ])('for the watch list, %s', (_what, given, expected) => {
    expect(computeDueTime(given, START)).toEqual(expected);
  });

  test.each<[hours: number, minutes: number | undefined]>([
    [0, 5],
    [0.9, 5],
    [1, 60],
    [71, 60],
    [72, 60],
    [72.1, undefined],
  ])('an unknown outcome: %d hours after its request, %j minutes later', (hours, minutes) => {
    const at = hoursLater(hours);
    const unknown = order('UNKNOWN', {}, { state: 'UNKNOWN', sentAt: START });
    expect(computeDueTime(unknown, at)).toEqual(
      minutes === undefined ? undefined : new Date(at.getTime() + minutes * MINUTE_MS),
    );
  });

  test('only items that records may show are looked up', () => {
    const sent = { sentAt: START };
    const unknown = [
      { ...sent, state: 'UNKNOWN' },
      { state: 'UNKNOWN' },
      { ...sent, state: 'FAILED' },
    ] as const;
    expect(findUnknownItems(order('UNKNOWN', {}, ...unknown)).map(({ n }) => n)).toEqual([1]);
    expect(findUnknownItems(order('FAILED', {}, ...unknown))).toEqual([]);
    const shown = { summary: { code: 'done' }, confirmedByRegistry: true } as const;
    const accepted = [
      done,
      { ...done, state: 'FAILED' },
      { state: 'SUCCEEDED' },
      { ...done, result: shown },
    ] as const;
    const restored = { task: 'restore' } as const;
    expect(findUnconfirmedItems(order('SUCCEEDED', restored, ...accepted)).map(({ n }) => n)).toEqual([1]);
    expect(findUnconfirmedItems(order('FAILED', restored, ...accepted))).toEqual([]);
  });

  test('an unknown outcome that no public record can show: never', () => {
    expect(
      computeDueTime(order('UNKNOWN', { task: 'user' }, { state: 'UNKNOWN', sentAt: START }), START),
    ).toBeUndefined();
    expect(
      computeDueTime(order('UNKNOWN', {}, { state: 'UNKNOWN', sentAt: undefined }), START),
    ).toBeUndefined();
  });

  test('an accepted task: until the registry shows it, for 30 days', () => {
    const result = { summary: { code: 'done' } } as const;
    const accepted = order('SUCCEEDED', { task: 'restore' }, { ...done, isWatchListUpdated: true, result });
    expect(computeDueTime(accepted, START)).toEqual(later(5 * MINUTE_MS));
    expect(computeDueTime(accepted, hoursLater(29 * 24))).toEqual(hoursLater(29 * 24 + 1));
    expect(computeDueTime(accepted, hoursLater(30 * 24))).toEqual(hoursLater(30 * 24 + 1));
    expect(computeDueTime(accepted, hoursLater(30 * 24 + 1))).toBeUndefined();
    const confirmed = { ...done, isWatchListUpdated: true, result: { ...result, confirmedByRegistry: true } };
    expect(computeDueTime(order('SUCCEEDED', { task: 'restore' }, confirmed), START)).toBeUndefined();
  });
});

test('changed nameservers: whether they answer, for 48 hours, the last time at their end', () => {
  const answered = { state: 'SUCCEEDED', sentAt: START, answeredAt: START } as const;
  const set = order('SUCCEEDED', { task: 'nameservers' }, answered);
  expect(computeDueTime(set, START)).toEqual(later(5 * MINUTE_MS));
  expect(computeDueTime(set, hoursLater(5))).toEqual(hoursLater(6));
  expect(computeDueTime(set, hoursLater(47.5))).toEqual(hoursLater(48));
  expect(computeDueTime(set, hoursLater(48))).toBeUndefined();
});

describe('messages are due', () => {
  test.each(ORDER_STATES.filter((state) => state !== 'DRAFT' && state !== 'EXECUTING'))(
    'of %s at once',
    (state) => {
      expect(computeNotificationTime(order(state), START)).toEqual(START);
    },
  );

  test('for a draft never', () => {
    expect(computeNotificationTime(order('DRAFT'), START)).toBeUndefined();
  });

  test('for one that was approved, or is carried out, if it takes longer than a moment', () => {
    const approvals = [{ userId: 'U0BOB', at: START, agreedExcess: [] }];
    expect(computeNotificationTime(order('APPROVED', { approvals }), START)).toEqual(later(3_000));
    expect(computeNotificationTime(order('EXECUTING'), START)).toEqual(later(1_000));
    expect(computeNotificationTime(order('APPROVED', { approvals, sendAfter: START }), START)).toEqual(
      later(3_000),
    );
    expect(computeNotificationTime(order('APPROVED', { approvals, sendAfter: later(1) }), START)).toEqual(
      START,
    );
    expect(computeNotificationTime(order('SUCCEEDED', { approvals }), START)).toEqual(START);
    const again = order('APPROVED', { approvals }, { attempts: 1, notBefore: later(9_000) });
    expect(computeNotificationTime(again, START), 'it waits for a busy service').toEqual(START);
  });
});
