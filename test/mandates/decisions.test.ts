import { describe, expect, test } from 'vitest';
import { activateMandate, decideActivation, findDueStep } from '../../src/mandates/life.ts';
import { checkClearance, isMandateRenewal } from '../../src/mandates/sending.ts';
import type { Order } from '../../src/orders/order.ts';
import { buildStatement, hashStatement } from '../../src/orders/statement.ts';
import { ALICE } from '../orders/rig.ts';
import { ENDPOINTS, hoursLater, newOrder, START } from '../orders/sample.ts';
import { contextWith } from '../support/context.ts';
import { NO_POLICY } from '../support/nothing-known.ts';
import { newTeamSettings } from '../support/settings.ts';

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
  ['that is pending', { state: 'PENDING' }, hoursLater(0), undefined],
  ['that is a renewal order', { task: 'renew' }, hoursLater(0), undefined],
])('activating a mandate %s', (_, changes, now, event) => {
  const order = { ...MANDATE, ...changes };
  const members = { kind: 'members' } as const;
  const decided = decideActivation({ order, members, now, changedParts: undefined, isAccountLinked: true });
  expect('event' in decided ? decided.event.type : undefined).toBe(event);
});

test.each<[hours: number, changes: Partial<Order>, step: string | undefined]>([
  [3, {}, undefined],
  [4, {}, 'announce'],
  [71, {}, 'announce'],
  [72, {}, 'end'],
  [72, { mandateEnd: { cause: 'person', by: 'U0BOB', at: hoursLater(1) } }, undefined],
  [71, { remindAt: undefined }, undefined],
  [72, { expiresAt: undefined, remindAt: undefined }, undefined],
])('after %i hours, the due step of a mandate with %j is %s', (hours, changes, step) => {
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
])('a mandate sends only renewals by its terms: %s', (_, changes, isRenewal) => {
  expect(isMandateRenewal(MANDATE, { ...renewal, ...changes }, 'cafe.rest')).toBe(isRenewal);
});

describe('while Slack can’t look up people', () => {
  const directory = { findMembership: async () => 'unknown' as const };
  const findAccount = async () => ALICE;

  test.each<[state: Order['state'], isDone: boolean]>([
    ['APPROVED', false],
    ['PENDING', true],
  ])('activating a mandate in state %s is done: %s', async (state, isDone) => {
    const unhashed = { ...MANDATE, state };
    const order = { ...unhashed, statementHash: hashStatement(buildStatement(unhashed, ENDPOINTS)) };
    const store = { load: async () => order };
    const context = contextWith({
      store,
      directory,
      findAccount,
      now: () => START,
      serviceEndpoints: ENDPOINTS,
    });
    expect(await activateMandate(context, order.id)).toBe(isDone);
  });

  test('a due renewal is checked again 5 minutes later', async () => {
    const [name, expiresAt] = ['cafe.rest', hoursLater(200)];
    const listed = { name, expiresAt, isDateCertain: true, lastLookupAt: START, owner: 'U0CAROL' };
    const act = {
      ...{ id: 'a1', name, expiresAt, mandateId: MANDATE.id, at: START, amount: undefined },
      ...{ held: undefined, orderId: renewal.id, announcedAt: START },
    };
    const context = contextWith({
      ...{ ...NO_POLICY, directory, findAccount, now: () => START },
      loadSettings: async () => newTeamSettings({ approvalTasks: [] }),
      priceOrder: async () => undefined,
      hasOpenIncident: async () => false,
      store: { load: async () => MANDATE, findOpenOrders: async () => new Map() },
      mandates: {
        findByOrder: async () => act,
        find: async () => ({ ...listed, isLapsing: false, deletedAt: undefined }),
        findLatestAccountId: async () => undefined,
      },
    });
    const order = { ...renewal, mandate: { id: MANDATE.id } };
    expect(await checkClearance(context, order)).toEqual({ kind: 'later', until: hoursLater(5 / 60) });
  });
});
