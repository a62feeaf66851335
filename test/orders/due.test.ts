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
const later = (ms: number) => new Date(START.getTime() + ms);

/** A renewal in a state, with the given changes to its items. */
function order(state: OrderState, changes: Partial<Order> = {}, ...items: Partial<OrderItem>[]): Order {
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
    ['a draft is never due', order('DRAFT'), undefined],
    ['a pending order is due at its reminder', order('PENDING'), hoursLater(4)],
    [
      'a pending order is due at its escalation',
      order('PENDING', { remindAt: undefined, escalateAt: hoursLater(24) }),
      hoursLater(24),
    ],
    ['a reminded order is due at its expiry', order('PENDING', { remindAt: undefined }), hoursLater(72)],
    ['an order expiring first is due then', order('PENDING', { expiresAt: hoursLater(1) }), hoursLater(1)],
    ['an approved order is due at once', order('APPROVED'), START],
    [
      'an order whose names all wait is due when the first wait ends',
      order('APPROVED', {}, { notBefore: later(9_000) }, { notBefore: later(5_000) }),
      later(5_000),
    ],
    ['an order with a ready name is due', order('APPROVED', {}, { notBefore: later(9_000) }, {}), START],
    [
      'an order with a done and a waiting name is due when the wait ends',
      order('APPROVED', {}, { state: 'SUCCEEDED' }, { notBefore: later(5_000) }),
      later(5_000),
    ],
    ['an executing order is due once its lease ends', order('EXECUTING'), START],
    ['a failed order is never due', order('FAILED', {}, { state: 'FAILED' }), undefined],
    ['a denied order is never due', order('DENIED'), undefined],
    ['an expired order is never due', order('EXPIRED'), undefined],
    ['a cancelled order is never due', order('CANCELLED'), undefined],
  ])('%s', (_what, given, expected) => {
    expect(computeDueTime(given, START)).toEqual(expected);
  });

  const done = { state: 'SUCCEEDED', sentAt: START, answeredAt: START } as const;

  test.each<[what: string, Order, Date | undefined]>([
    ['a success is due at once', order('SUCCEEDED', {}, done), START],
    [
      'a known success is never due',
      order('SUCCEEDED', {}, { ...done, isWatchListUpdated: true }),
      undefined,
    ],
    [
      'a success among failures is due at once',
      order('FAILED', {}, { state: 'FAILED' }, { ...done, isWatchListUpdated: false }),
      START,
    ],
    [
      'a success with an unknown name is due at once',
      order('UNKNOWN', {}, done, { state: 'UNKNOWN', sentAt: START }),
      START,
    ],
    ['a success without a new date is never due', order('SUCCEEDED', { task: 'authcode' }, done), undefined],
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
  ])('an unknown outcome is looked up again, %d hours after its request, in %j minutes', (hours, minutes) => {
    const at = hoursLater(hours);
    const unknown = order('UNKNOWN', {}, { state: 'UNKNOWN', sentAt: START });
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

  test('an unknown outcome that no public record can show is never due', () => {
    expect(
      computeDueTime(order('UNKNOWN', { task: 'user' }, { state: 'UNKNOWN', sentAt: START }), START),
    ).toBeUndefined();
    expect(
      computeDueTime(order('UNKNOWN', {}, { state: 'UNKNOWN', sentAt: undefined }), START),
    ).toBeUndefined();
  });

  test('an accepted task is looked up until the registry shows it, for 30 days', () => {
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

test('changed nameservers are checked for 48 hours, the last time at the end', () => {
  const answered = { state: 'SUCCEEDED', sentAt: START, answeredAt: START } as const;
  const set = order('SUCCEEDED', { task: 'nameservers' }, answered);
  expect(computeDueTime(set, START)).toEqual(later(5 * MINUTE_MS));
  expect(computeDueTime(set, hoursLater(5))).toEqual(hoursLater(6));
  expect(computeDueTime(set, hoursLater(47.5))).toEqual(hoursLater(48));
  expect(computeDueTime(set, hoursLater(48))).toBeUndefined();
});

describe('notifications are due', () => {
  test.each(ORDER_STATES.filter((state) => state !== 'DRAFT' && state !== 'EXECUTING'))(
    'at once for %s',
    (state) => {
      expect(computeNotificationTime(order(state), START)).toEqual(START);
    },
  );

  test('never for a draft', () => {
    expect(computeNotificationTime(order('DRAFT'), START)).toBeUndefined();
  });

  test('after a moment for an approved or executing order', () => {
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
    expect(computeNotificationTime(again, START), 'while waiting for a busy service').toEqual(START);
  });
});
