import { expect, test } from 'vitest';
import { DEMO_CONTEXT } from '../../src/accounts/account.ts';
import { checkConfirmation, confirmOrder, discardDraft } from '../../src/orders/confirm-draft.ts';
import { decideDelegationReport } from '../../src/orders/delegation.ts';
import { type Order, UNDO_HOURS } from '../../src/orders/order.ts';
import type { EarlierFinding } from '../../src/orders/refusal.ts';
import { decideNamesToRetry, isForFailedNames } from '../../src/orders/retry-button.ts';
import { contextWith } from '../support/context.ts';
import { NO_POLICY } from '../support/nothing-known.ts';
import { newTeamSettings } from '../support/settings.ts';
import { ALICE } from './rig.ts';
import { hoursLater, newOrder, START } from './sample.ts';

/* Decisions about clicks on buttons and about checks of nameservers, without a database. */

const DRAFT: Partial<Order> = { state: 'DRAFT', expiresAt: hoursLater(1) };

test.each<[what: string, changes: Partial<Order>, refusal: string | undefined]>([
  ['can be confirmed in time', {}, undefined],
  ['can’t be confirmed at its deletion time', { expiresAt: hoursLater(0.5) }, 'draft_deleted'],
  ['can be confirmed before its scheduled time', { sendAfter: hoursLater(0.6) }, undefined],
  ['can’t be confirmed at its scheduled time', { sendAfter: hoursLater(0.5) }, 'send_at'],
  ['can’t be confirmed by another person', { requesterId: 'U0BOB' }, 'not_the_requester'],
  ['can’t be confirmed once expired', { state: 'PENDING', expiresAt: hoursLater(0.5) }, 'wrong_state'],
])('a draft %s', (_, changes, refusal) => {
  const order = newOrder(['cafe.rest'], { ...DRAFT, ...changes });
  expect(checkConfirmation(order, 'U0ALICE', hoursLater(0.5))?.code).toBe(refusal);
});

test.each([
  ['is sent at once', [], 1],
  ['needs approval', ['renew'], 0],
] as const)('a confirmed draft that %s (%j) is priced %i times', async (_, approvalTasks, times) => {
  const order = newOrder(['cafe.rest'], DRAFT);
  const account = { ...order.account, context: DEMO_CONTEXT };
  let pricingCount = 0;
  const context = contextWith({
    ...{ ...NO_POLICY, directory: {}, now: () => START, advance: () => undefined },
    loadSettings: async () => newTeamSettings({ approvalTasks }),
    findFirstExpiry: async () => undefined,
    priceOrder: async () => {
      pricingCount += 1;
      return undefined;
    },
    store: { load: async () => ({ ...order, account }), commit: async () => ({ ok: true }) },
  });
  expect(await confirmOrder(context, order.id, 'U0ALICE')).toMatchObject({ kind: 'confirmed' });
  expect(pricingCount).toBe(times);
});

test('a draft can only be deleted by its requester', async () => {
  const store = { load: async () => newOrder(['cafe.rest'], DRAFT), deleteDraft: async () => true };
  const discard = (userId: string) => discardDraft(contextWith({ store }), 'o1', userId);
  expect(await discard('U0ALICE')).toBeUndefined();
  expect(await discard('U0BOB')).toMatchObject({ code: 'not_the_requester' });
});

test('new nameservers are reported at once if they answer, or else after an hour', () => {
  const hosts = ['ns1.example'];
  const decideAfter = (kind: 'answering' | 'not_answering' | 'unknown', hours: number) =>
    decideDelegationReport({ kind, hosts }, hoursLater(UNDO_HOURS), hoursLater(hours));
  expect(decideAfter('answering', 0.5)).toEqual({ delegation: 'answering', hosts: [], hours: 0 });
  expect(decideAfter('not_answering', 0.99)).toBeUndefined();
  expect(decideAfter('not_answering', 1)).toEqual({ delegation: 'not_answering', hosts, hours: 1 });
  expect(decideAfter('unknown', 30)).toBeUndefined();
});

const { items } = newOrder(['a.rest', 'b.rest']);
const failed = newOrder(['a.rest', 'b.rest'], {
  state: 'FAILED',
  items: items.map((item) => ({ ...item, state: 'FAILED' })),
});
const newEarlierFinding = (name: string, outcome: EarlierFinding['outcome']) => ({
  orderId: 'o1',
  name,
  outcome,
});

test('a retry skips names that are done, and is refused while an earlier order is open', () => {
  expect(decideNamesToRetry(failed, [])).toEqual({ failedNames: ['a.rest', 'b.rest'] });
  expect(decideNamesToRetry(failed, [newEarlierFinding('a.rest', 'done')])).toEqual({
    failedNames: ['b.rest'],
  });
  const findings = [newEarlierFinding('a.rest', 'done'), newEarlierFinding('b.rest', 'open')];
  expect(decideNamesToRetry(failed, findings)).toMatchObject({
    refusal: { code: 'earlier_order', finding: { name: 'b.rest' } },
  });
});

test.each<[what: string, names: readonly string[], accountId: string, isSame: boolean]>([
  ['with the same names is a retry', ['b.rest', 'a.rest'], 'account', true],
  ['with fewer names isn’t', ['a.rest'], 'account', false],
  ['with another name isn’t', ['a.rest', 'c.rest'], 'account', false],
  ['with another account isn’t', ['a.rest', 'b.rest'], 'other', false],
])('a request %s', (_, names, accountId, isSame) => {
  const request = {
    ...{ input: { names, period: '1' }, secret: undefined, reason: undefined, deliveryId: 'form:1' },
    account: { ...ALICE, id: accountId },
  };
  expect(isForFailedNames(failed, request, ['a.rest', 'b.rest'])).toBe(isSame);
});
