import { describe, expect, test } from 'vitest';
import {
  type ClaimFacts,
  decideClaim,
  decideSending,
  decideWave,
  type SendingFacts,
} from '../../src/orders/decide-sending.ts';
import type { Order, OrderItem } from '../../src/orders/order.ts';
import { hoursLater, newBulk, newOrder, START } from './sample.ts';

function newApprovedOrder(changes: Partial<Order> = {}, ...items: Partial<OrderItem>[]): Order {
  const names = items.length === 0 ? ['a.rest'] : items.map((_item, n) => `${n}.rest`);
  const sample = newOrder(names, { state: 'APPROVED', ...changes });
  return { ...sample, items: sample.items.map((item, index) => ({ ...item, ...items[index] })) };
}

const NOT_DUE = { kind: 'not_due' };
const newMandateChanges = (sendAfter: Date) => ({ mandate: { id: 'mandate' }, sendAfter });
const oneSecondLater = new Date(START.getTime() + 1_000);
const failedItem = { state: 'FAILED', answeredAt: START, sentAt: START } as const;
const pause = { code: 'refusals' as const, names: ['0.rest', '1.rest', '2.rest'] };
const BULK_CHANGES = { bulk: newBulk(2), input: {} };
const VALID_ITEM = { input: { names: ['0.rest'], period: 1 } };

describe('when a worker tries to claim it, an order', () => {
  test.each<[what: string, Order, Partial<ClaimFacts>, expected: object | undefined]>([
    ['continues if it is approved', newApprovedOrder(), {}, undefined],
    ['isn’t due before it is approved', newApprovedOrder({ state: 'PENDING' }), {}, NOT_DUE],
    ['isn’t due while a worker has it', newApprovedOrder({ state: 'EXECUTING' }), {}, NOT_DUE],
    ['isn’t due after it was stopped', newApprovedOrder({ state: 'CANCELLED' }), {}, NOT_DUE],
    [
      'of a mandate isn’t due before its scheduled time',
      newApprovedOrder(newMandateChanges(hoursLater(1))),
      {},
      NOT_DUE,
    ],
    [
      'of a mandate continues at its scheduled time',
      newApprovedOrder(newMandateChanges(START)),
      {},
      undefined,
    ],
    [
      'isn’t due while all its names wait',
      newApprovedOrder({}, { notBefore: oneSecondLater }, { notBefore: oneSecondLater }),
      {},
      NOT_DUE,
    ],
    [
      'continues if one name needn’t wait',
      newApprovedOrder({}, { notBefore: oneSecondLater }, {}),
      {},
      undefined,
    ],
    [
      'continues despite an impossibly long wait',
      newApprovedOrder({}, { notBefore: hoursLater(9) }),
      {},
      undefined,
    ],
    [
      'is stopped if its statement changed',
      newApprovedOrder(),
      { changedParts: ['names'] },
      { kind: 'end', event: { type: 'stopped', summary: { code: 'statement_changed', parts: ['names'] } } },
    ],
    [
      'is stopped even if the log doesn’t show the difference',
      newApprovedOrder(),
      { changedParts: [] },
      { kind: 'end', event: { type: 'stopped', summary: { code: 'statement_changed', parts: [] } } },
    ],
    [
      'stays pending despite a changed statement',
      newApprovedOrder({ state: 'PENDING' }),
      { changedParts: [] },
      NOT_DUE,
    ],
    [
      'of a bulk request isn’t due while paused',
      newApprovedOrder({ bulk: { ...newBulk(2), pause }, input: {} }, VALID_ITEM),
      {},
      NOT_DUE,
    ],
    [
      'of a bulk request pauses after three refusals in a row',
      newApprovedOrder(BULK_CHANGES, failedItem, failedItem, failedItem, VALID_ITEM),
      {},
      { kind: 'end', event: { type: 'paused', reason: pause, expiresAt: hoursLater(72) } },
    ],
  ])('%s', (_what, order, changes, expected) => {
    const facts = { order, now: START, pauseEndsAt: hoursLater(72), changedParts: undefined, ...changes };
    expect(decideClaim(facts)).toEqual(expected);
  });

  test('is stopped if the zone’s rules no longer allow it', () => {
    const order = newApprovedOrder({ input: { names: ['a.rest'], period: 99 } });
    const facts = { order, now: START, pauseEndsAt: START, changedParts: undefined };
    expect(decideClaim(facts)).toMatchObject({
      kind: 'end',
      event: { type: 'stopped', summary: { code: 'rules_changed' } },
    });
  });
});

test('a pause names the worker, so that another worker’s claim isn’t paused', () => {
  const order = newApprovedOrder(BULK_CHANGES, failedItem, failedItem, failedItem, VALID_ITEM);
  expect(decideWave(order, hoursLater(72), 'worker-1')).toMatchObject({ event: { workerId: 'worker-1' } });
});

describe('an order that is due', () => {
  const memberCheck = { kind: 'members' } as const;
  const requesterLeft = { userId: 'U0ALICE', summary: { code: 'requester_left' } } as const;
  const leftCheck = { kind: 'left', ...requesterLeft } as const;
  const unknownCheck = { kind: 'unknown', ...requesterLeft } as const;
  const heldClearance = { kind: 'held', code: 'price_above' } as const;
  const laterClearance = { kind: 'later', until: hoursLater(1) } as const;
  const heldSummary = { code: 'mandate_held', holdReason: 'price_above' };

  test.each<[what: string, Partial<SendingFacts>, expected: object]>([
    ['is claimed', {}, { kind: 'claim', event: { type: 'claimed', workerId: 'worker-1' } }],
    ['is claimed when its mandate allows it', { clearance: { kind: 'clear' } }, { kind: 'claim' }],
    [
      'is stopped when its mandate doesn’t allow it',
      { clearance: heldClearance },
      { kind: 'held', holdReason: 'price_above', event: { type: 'stopped', summary: heldSummary } },
    ],
    ['waits when its mandate allows it only later', { clearance: laterClearance }, laterClearance],
    [
      'is stopped by its mandate before people are checked',
      { clearance: heldClearance, memberCheck: leftCheck },
      { kind: 'held' },
    ],
    [
      'waits for its mandate before people are checked',
      { clearance: laterClearance, memberCheck: leftCheck },
      laterClearance,
    ],
    [
      'is stopped when a person has left',
      { memberCheck: leftCheck, isKeyUnknown: true },
      { kind: 'end', event: { type: 'stopped', summary: { code: 'requester_left' } } },
    ],
    [
      'is rescheduled while Slack doesn’t return a person',
      { memberCheck: unknownCheck, isKeyUnknown: true },
      { kind: 'membership_unknown', userId: 'U0ALICE' },
    ],
    ['is left to a replica that knows the key', { isKeyUnknown: true }, { kind: 'key_unknown' }],
  ])('%s', (_what, changes, expected) => {
    const facts = {
      ...{ workerId: 'worker-1', clearance: undefined, memberCheck, isKeyUnknown: false },
      recheck: { kind: 'unchanged' } as const,
    };
    expect(decideSending({ ...facts, ...changes })).toMatchObject(expected);
  });
});
