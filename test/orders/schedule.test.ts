import { describe, expect, test } from 'vitest';
import {
  hasRowSecrets,
  isReopened,
  isRetryExpired,
  isWaitingForSendTime,
  type Order,
  type OrderItem,
  sortScheduledFirst,
} from '../../src/orders/order.ts';
import type { OrderLogEntry } from '../../src/orders/order-events.ts';
import { parseSchedule, type ScheduleIssue } from '../../src/orders/schedule.ts';
import { orderCard } from '../../src/slack/orders/card.view.ts';
import { newBriefing } from '../support/briefing.ts';
import { hoursLater, newBulk, newOrder } from './sample.ts';

const NOW = new Date('2026-03-01T09:00:00Z');
const BERLIN = 'Europe/Berlin';

function readSchedule(text: string, { timeZone = BERLIN, now = NOW, task = 'renew' as const } = {}) {
  const schedule = parseSchedule({ text, timeZone }, task, now);
  return typeof schedule === 'string'
    ? schedule
    : `${schedule.sendAt.toISOString()}${schedule.occursTwice ? ' twice' : ''}`;
}

describe('a time in the person’s zone', () => {
  test.each<[text: string, timeZone: string, now: string, at: string]>([
    ['2026-03-06 02:00', BERLIN, '2026-03-01', '2026-03-06T01:00:00.000Z'],
    ['2026-05-06 2:00', BERLIN, '2026-03-01', '2026-05-06T00:00:00.000Z'],
    ['2026-03-06T02:00', 'America/New_York', '2026-03-01', '2026-03-06T07:00:00.000Z'],
    ['2026-03-06 00:15', 'Asia/Kathmandu', '2026-03-01', '2026-03-05T18:30:00.000Z'],
    ['2026-03-29 01:59', BERLIN, '2026-03-01', '2026-03-29T00:59:00.000Z'],
    ['2026-03-29 02:00', BERLIN, '2026-03-01', 'no_such_time'],
    ['2026-03-29 02:59', BERLIN, '2026-03-01', 'no_such_time'],
    ['2026-03-29 03:00', BERLIN, '2026-03-01', '2026-03-29T01:00:00.000Z'],
    ['2026-10-25 01:59', BERLIN, '2026-10-01', '2026-10-24T23:59:00.000Z'],
    ['2026-10-25 02:00', BERLIN, '2026-10-01', '2026-10-25T00:00:00.000Z twice'],
    ['2026-10-25 02:59', BERLIN, '2026-10-01', '2026-10-25T00:59:00.000Z twice'],
    ['2026-10-25 03:00', BERLIN, '2026-10-01', '2026-10-25T02:00:00.000Z'],
    // Clocks change by half an hour.
    ['2026-04-05 01:45', 'Australia/Lord_Howe', '2026-03-01', '2026-04-04T14:45:00.000Z twice'],
    ['2026-10-04 02:15', 'Australia/Lord_Howe', '2026-09-01', 'no_such_time'],
    // The island skipped this day.
    ['2011-12-30 12:00', 'Pacific/Apia', '2011-12-01', 'no_such_time'],
    ['2026-03-06 02:00', 'Mars/Olympus', '2026-03-01', 'time_zone_unknown'],
  ])('is read from %s in %s on %s', (text, timeZone, now, at) => {
    expect(readSchedule(text, { timeZone, now: new Date(`${now}T00:00:00Z`) })).toBe(at);
  });
});

test('scheduled orders come first in lists, sorted by time', () => {
  const newOrderInState = (id: string, state: Order['state'], sendAfter?: Date) =>
    newOrder(['a.rest'], { id, state, sendAfter });
  const orders = [
    newOrderInState('new', 'PENDING'),
    newOrderInState('later', 'APPROVED', hoursLater(9)),
    newOrderInState('sent', 'SUCCEEDED', hoursLater(1)),
    newOrderInState('sooner', 'PENDING', hoursLater(8)),
  ];
  expect(sortScheduledFirst(orders).map(({ id }) => id)).toEqual(['sooner', 'later', 'new', 'sent']);
});

test('the card says that local clocks show a time twice', () => {
  const requested: OrderLogEntry = {
    ...{ kind: 'requested', actor: 'U0ALICE', at: NOW, state: 'PENDING', version: 1, task: 'renew' },
    ...{ statement: '', service: '', account: '', reason: null, policyVersion: 0, decidedBy: [] },
    occursTwice: true,
  };
  const order = newOrder(['a.rest'], { sendAfter: hoursLater(9) });
  const card = orderCard(order, newBriefing({ history: [requested] }));
  expect(JSON.stringify(card)).toContain('Local clocks show that time twice: the first one counts');
});

test('an approved order waits for its time until the first attempt', () => {
  const approvedAt = (at: Date) => ({ userId: 'U0BOB', at, agreedExcess: [] });
  const isWaiting = (changes: Partial<Order>, item: Partial<OrderItem> = {}) => {
    const order = newOrder(['a.rest'], {
      state: 'APPROVED',
      sendAfter: hoursLater(9),
      approvals: [approvedAt(hoursLater(8))],
      ...changes,
    });
    return isWaitingForSendTime({ ...order, items: order.items.map((each) => ({ ...each, ...item })) });
  };
  expect(isWaiting({})).toBe(true);
  expect(isWaiting({}, { attempts: 1 })).toBe(false);
  expect(isWaiting({}, { state: 'FAILED' })).toBe(false);
  for (const changes of [
    { state: 'EXECUTING' as const },
    { sendAfter: undefined },
    { approvals: [approvedAt(hoursLater(9))] },
  ])
    expect(isWaiting(changes)).toBe(false);
});

test('an order is reopened only after a round of approvals, and can be retried for 7 days', () => {
  const states = [
    newOrder(['a.rest']),
    newOrder(['a.rest'], { approvalRound: 1 }),
    newOrder(['a.rest'], { state: 'APPROVED', approvalRound: 1 }),
  ];
  expect(states.map(isReopened)).toEqual([false, true, false]);
  const closed = newOrder(['a.rest'], { closedAt: hoursLater(1) });
  const limit = hoursLater(1 + 7 * 24);
  expect([isRetryExpired(closed, limit), isRetryExpired(closed, new Date(limit.getTime() + 1))]).toEqual([
    false,
    true,
  ]);
});

test('only rows of a bulk order have their own secrets', () => {
  const secret = { secretHash: 'f'.repeat(64) };
  const bulk = { bulk: newBulk(1) };
  const orders = [
    newOrder(['a.rest'], secret),
    newOrder(['a.rest'], bulk),
    newOrder(['a.rest'], { ...bulk, ...secret }),
  ];
  expect(orders.map(hasRowSecrets)).toEqual([false, false, true]);
});

describe('a time for an order', () => {
  test.each<[text: string, expected: ScheduleIssue | string]>([
    ['2026-03-01 09:00', 'past'],
    ['2026-02-28 23:00', 'past'],
    ['2026-03-01 09:04', 'too_soon'],
    ['2026-03-01 09:05', '2026-03-01T09:05:00.000Z'],
    ['2026-05-30 09:00', '2026-05-30T09:00:00.000Z'],
    ['2026-05-30 09:01', 'too_late'],
    ['', 'unreadable'],
    ['tomorrow', 'unreadable'],
    ['2026-03-06', 'unreadable'],
    ['2026-02-30 10:00', 'unreadable'],
    ['2026-03-06 24:00', 'unreadable'],
    ['2026-03-06 10:60', 'unreadable'],
    ['06.03.2026 10:00', 'unreadable'],
  ])('is accepted or refused as expected: “%s”', (text, expected) => {
    expect(readSchedule(text, { timeZone: 'UTC' })).toBe(expected);
  });

  test.each(['authcode', 'mandate'] as const)('isn’t allowed for %s', (task) => {
    expect(parseSchedule({ text: '2026-03-06 10:00', timeZone: 'UTC' }, task, NOW)).toBe('not_for_task');
  });

  test('isn’t allowed without a time zone', () => {
    expect(parseSchedule({ text: '2026-03-06 10:00', timeZone: undefined }, 'renew', NOW)).toBe(
      'time_zone_unknown',
    );
  });
});
