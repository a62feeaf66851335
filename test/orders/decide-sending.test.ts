import { describe, expect, test } from 'vitest';
import {
  type ClaimContext,
  decideClaim,
  decideSending,
  decideWave,
  type SendingPrerequisites,
} from '../../src/orders/decide-sending.ts';
import type { Order, OrderItem } from '../../src/orders/order.ts';
import { hoursLater, newBulk, newOrder, START } from './sample.ts';

function approved(changes: Partial<Order> = {}, ...items: Partial<OrderItem>[]): Order {
  const names = items.length === 0 ? ['a.rest'] : items.map((_item, n) => `${n}.rest`);
  const sample = newOrder(names, { state: 'APPROVED', ...changes });
  return { ...sample, items: sample.items.map((item, index) => ({ ...item, ...items[index] })) };
}

const NOT_DUE = { kind: 'not_due' };
const mandated = (sendAfter: Date) => ({ mandate: { id: 'mandate' }, sendAfter });
const soon = new Date(START.getTime() + 1_000);
const failed = { state: 'FAILED', answeredAt: START, sentAt: START } as const;
const pause = { code: 'refusals' as const, names: ['0.rest', '1.rest', '2.rest'] };
const BULK = { bulk: newBulk(2), input: {} };
const VALID = { input: { names: ['0.rest'], period: 1 } };

describe('an order at its claim', () => {
  test.each<[what: string, Order, Partial<ClaimContext>, expected: object | undefined]>([
    ['continues if it is approved', approved(), {}, undefined],
    ['isn’t due before it is approved', approved({ state: 'PENDING' }), {}, NOT_DUE],
    ['isn’t due while a worker has it', approved({ state: 'EXECUTING' }), {}, NOT_DUE],
    ['isn’t due after it was stopped', approved({ state: 'CANCELLED' }), {}, NOT_DUE],
    ['of a mandate waits for its time', approved(mandated(hoursLater(1))), {}, NOT_DUE],
    ['of a mandate continues at its time', approved(mandated(START)), {}, undefined],
    ['waits while all its names wait', approved({}, { notBefore: soon }, { notBefore: soon }), {}, NOT_DUE],
    ['continues if one name needn’t wait', approved({}, { notBefore: soon }, {}), {}, undefined],
    ['continues despite an impossibly long wait', approved({}, { notBefore: hoursLater(9) }), {}, undefined],
    [
      'is stopped if its statement changed',
      approved(),
      { changedParts: ['names'] },
      { kind: 'end', event: { type: 'stopped', summary: { code: 'statement_changed', parts: ['names'] } } },
    ],
    [
      'is stopped even if the log doesn’t show the difference',
      approved(),
      { changedParts: [] },
      { kind: 'end', event: { type: 'stopped', summary: { code: 'statement_changed', parts: [] } } },
    ],
    [
      'stays pending despite a changed statement',
      approved({ state: 'PENDING' }),
      { changedParts: [] },
      NOT_DUE,
    ],
    [
      'of a bulk request isn’t due while paused',
      approved({ bulk: { ...newBulk(2), pause }, input: {} }, VALID),
      {},
      NOT_DUE,
    ],
    [
      'of a bulk request pauses after three refusals in a row',
      approved(BULK, failed, failed, failed, VALID),
      {},
      { kind: 'end', event: { type: 'paused', reason: pause, expiresAt: hoursLater(72) } },
    ],
  ])('%s', (_what, order, changes, expected) => {
    const facts = { order, now: START, pauseEndsAt: hoursLater(72), changedParts: undefined, ...changes };
    expect(decideClaim(facts)).toEqual(expected);
  });

  test('is stopped if the zone’s rules no longer allow it', () => {
    const order = approved({ input: { names: ['a.rest'], period: 99 } });
    const facts = { order, now: START, pauseEndsAt: START, changedParts: undefined };
    expect(decideClaim(facts)).toMatchObject({
      kind: 'end',
      event: { type: 'stopped', summary: { code: 'rules_changed' } },
    });
  });
});

test('a pause names the worker, so that another worker’s claim isn’t paused', () => {
  const order = approved(BULK, failed, failed, failed, VALID);
  expect(decideWave(order, hoursLater(72), 'worker-1')).toMatchObject({ event: { workerId: 'worker-1' } });
});

describe('an order that is due', () => {
  const member = { kind: 'members' } as const;
  const gone = { userId: 'U0ALICE', summary: { code: 'requester_left' } } as const;
  const left = { kind: 'left', ...gone } as const;
  const unknown = { kind: 'unknown', ...gone } as const;
  const held = { kind: 'held', code: 'price_above' } as const;
  const later = { kind: 'later', until: hoursLater(1) } as const;
  const heldSummary = { code: 'mandate_held', holdReason: 'price_above' };

  test.each<[what: string, Partial<SendingPrerequisites>, expected: object]>([
    ['is claimed', {}, { kind: 'claim', event: { type: 'claimed', workerId: 'worker-1' } }],
    ['is claimed when its mandate allows it', { clearance: { kind: 'clear' } }, { kind: 'claim' }],
    [
      'is stopped when its mandate doesn’t',
      { clearance: held },
      { kind: 'held', holdReason: 'price_above', event: { type: 'stopped', summary: heldSummary } },
    ],
    ['waits when its mandate has to wait', { clearance: later }, later],
    [
      'is stopped by its mandate before people are checked',
      { clearance: held, members: left },
      { kind: 'held' },
    ],
    ['waits for its mandate before people are checked', { clearance: later, members: left }, later],
    [
      'is stopped when a person has left',
      { members: left, isKeyUnknown: true },
      { kind: 'end', event: { type: 'stopped', summary: { code: 'requester_left' } } },
    ],
    [
      'is rescheduled while Slack doesn’t return a person',
      { members: unknown, isKeyUnknown: true },
      { kind: 'membership_unknown', userId: 'U0ALICE' },
    ],
    ['is left to a replica that knows the key', { isKeyUnknown: true }, { kind: 'key_unknown' }],
  ])('%s', (_what, changes, expected) => {
    const facts = {
      ...{ workerId: 'worker-1', clearance: undefined, members: member, isKeyUnknown: false },
      recheck: { kind: 'unchanged' } as const,
    };
    expect(decideSending({ ...facts, ...changes })).toMatchObject(expected);
  });
});
