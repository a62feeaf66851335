import { expect, test } from 'vitest';
import { decideActivation, findDueStep } from '../../src/mandates/life.ts';
import { isMandateRenewal } from '../../src/mandates/sending.ts';
import type { Order } from '../../src/orders/order.ts';
import { hoursLater, newOrder } from '../orders/sample.ts';

const MANDATE = newOrder(['*.rest'], {
  task: 'mandate',
  state: 'APPROVED',
  input: {
    mandate_names: ['*.rest'],
    max_price: { currency: 'EUR', minor: 2_000 },
    max_total: { currency: 'EUR', minor: 60_000 },
    span: 'year',
    until: '2026-03-01',
    notice: 14,
  },
});
const END = new Date('2026-03-02T00:00:00Z');

test.each<[what: string, changes: Partial<Order>, now: Date, event: string | undefined]>([
  ['before its end', {}, new Date(END.getTime() - 1), 'in_force'],
  ['at its end', {}, END, 'stopped'],
  ['that waits for approval', { state: 'PENDING' }, hoursLater(0), undefined],
  ['that is an order', { task: 'renew' }, hoursLater(0), undefined],
])('an approved mandate %s', (_, changes, now, event) => {
  const order = { ...MANDATE, ...changes };
  const members = { kind: 'members' } as const;
  const decided = decideActivation({ order, members, now, changedParts: undefined, isLinked: true });
  expect('event' in decided ? decided.event.type : undefined).toBe(event);
});

test.each<[hours: number, changes: Partial<Order>, step: string | undefined]>([
  [3, {}, undefined],
  [4, {}, 'announce'],
  [71, {}, 'announce'],
  [72, {}, 'end'],
  [72, { mandateEnd: { because: 'person', by: 'U0BOB', at: hoursLater(1) } }, undefined],
  [71, { remindAt: undefined }, undefined],
  [72, { expiresAt: undefined, remindAt: undefined }, undefined],
])('a mandate after %i hours with %j: %s', (hours, changes, step) => {
  expect(findDueStep({ ...MANDATE, ...changes }, hoursLater(hours))).toBe(step);
});

const renewal = newOrder(['cafe.rest']);

test.each<[what: string, changes: Partial<Order>, isRenewal: boolean]>([
  ['its own renewal', {}, true],
  ['another task', { task: 'delete' }, false],
  ['more names', { items: newOrder(['cafe.rest', 'bar.rest']).items }, false],
  ['another requester', { requesterId: 'U0EVE' }, false],
  ['another account', { account: { ...MANDATE.account, id: 'other' } }, false],
  ['more years', { input: { names: ['cafe.rest'], period: 2 } }, false],
])('a mandate sends only its own renewal: %s', (_, changes, isRenewal) => {
  expect(isMandateRenewal(MANDATE, { ...renewal, ...changes }, 'cafe.rest')).toBe(isRenewal);
});
