import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Account } from '../../src/accounts/account.ts';
import { approveOrder } from '../../src/approvals/approve.ts';
import { confirmOrder } from '../../src/orders/confirm-draft.ts';
import type { OrderTaskName } from '../../src/orders/order.ts';
import { retryOrder } from '../../src/orders/retry-button.ts';
import { ALICE, type Rig, startRig } from './rig.ts';
import { newServiceError } from './scripted-service.ts';

/* Orders with the team's account are sent only with an approval. */

const TEAM_ACCOUNT: Account = {
  id: 'account-team',
  teamId: 'T0STEWARD',
  userId: undefined,
  linkedBy: 'U0ADA',
  method: 'trusted_application',
  slot: 'application',
  context: undefined,
  login: '5a1c7d52',
  application: 'steward',
  isActive: false,
  verifiedAt: undefined,
};
const REQUESTED_BY_DAVE = { requesterId: 'U0DAVE', account: TEAM_ACCOUNT } as const;
const RENEWAL = { names: ['cafe.rest'], period: 1 };
const REDIRECT = { source: 'www.cafe.rest', target: 'https://example.com', type: 'DOMAIN', mode: 'HTTP' };

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(async () => {
  await rig.reset();
  rig.accounts.set(TEAM_ACCOUNT.id, TEAM_ACCOUNT);
});
afterAll(() => rig.end());

/** Requests an order as Dave, and confirms it if necessary. */
async function requestConfirmed(task: OrderTaskName, input: unknown) {
  const order = await rig.requestAccepted(task, input, REQUESTED_BY_DAVE);
  if (order.state !== 'DRAFT') return order;
  const confirmed = await confirmOrder(rig.orders, order.id, 'U0DAVE');
  if (confirmed.kind !== 'confirmed') throw new Error(`confirming failed: ${confirmed.kind}`);
  return confirmed.order;
}

const countSent = () => rig.service.received.length;

describe('an order of a person without their own account', () => {
  test('records in its row and log that it uses the team’s account', async () => {
    const order = await rig.requestAccepted('renew', RENEWAL, REQUESTED_BY_DAVE);
    const saved = await rig.read(order.id);
    expect(saved.account).toEqual({
      id: TEAM_ACCOUNT.id,
      login: TEAM_ACCOUNT.login,
      method: 'trusted_application',
      context: undefined,
      isTeamAccount: true,
    });
    const [requested] = await rig.store.loadHistory(order.id, 'system');
    expect(requested).toMatchObject({ usesTeamAccount: true });
    const ownOrder = await rig.requestAccepted('renew', { names: ['own.rest'], period: 1 });
    expect((await rig.read(ownOrder.id)).account).not.toHaveProperty('isTeamAccount');
  });

  test.each<[OrderTaskName, unknown]>([
    ['redirect', REDIRECT],
    ['nameservers', { name: 'cafe.rest', nameServers: ['ns1.example.net', 'ns2.example.net'] }],
    ['authcode', { name: 'cafe.rest' }],
    ['owner-change', { name: 'cafe.rest' }],
    ['renew', RENEWAL],
  ])('to %s needs approval even if a rule makes it free', async (task, input) => {
    rig.setPolicy(1, { decision: 'free' });
    const order = await requestConfirmed(task, input);
    expect(order).toMatchObject({ state: 'PENDING', approvalsRequired: 1 });
    expect(order.requirements?.list).toMatchObject([{ approvers: ['U0BOB', 'U0CAROL', 'S0LEADS'] }]);
    await rig.runDue();
    expect(countSent()).toBe(0);
    const approved = await approveOrder(rig.orders, order.id, 'U0BOB');
    expect(approved).toMatchObject({ ok: true, order: { state: 'APPROVED' } });
    await rig.runDue();
    expect(countSent()).toBe(1);
  });
});

test('an order fails before it is sent if the team’s account is unlinked', async () => {
  const order = await rig.requestAccepted('renew', RENEWAL, REQUESTED_BY_DAVE);
  await approveOrder(rig.orders, order.id, 'U0BOB');
  rig.accounts.delete(TEAM_ACCOUNT.id);
  await rig.runDue();
  const failed = await rig.read(order.id);
  expect(failed.items[0]?.result?.summary).toEqual({ code: 'team_account_gone' });
  expect(countSent()).toBe(0);
});

test('an order depends on its requester, but not on the admin who linked the account', async () => {
  const order = await rig.requestAccepted('renew', RENEWAL, REQUESTED_BY_DAVE);
  rig.memberships.set('U0ADA', 'left');
  await approveOrder(rig.orders, order.id, 'U0BOB');
  await rig.runDue();
  expect((await rig.read(order.id)).state).toBe('SUCCEEDED');

  const other = await rig.requestAccepted('renew', { names: ['other.rest'], period: 1 }, REQUESTED_BY_DAVE);
  rig.memberships.set('U0DAVE', 'left');
  await approveOrder(rig.orders, other.id, 'U0BOB');
  expect((await rig.read(other.id)).items[0]?.result?.summary).toEqual({ code: 'requester_left' });
});

test('a retry also uses the team’s account, and needs its own approval', async () => {
  rig.setPolicy(1, { decision: 'free' });
  rig.setTeam({ approvalTasks: [] });
  const order = await rig.requestAccepted('renew', RENEWAL, REQUESTED_BY_DAVE);
  rig.service.answer = async () => {
    throw newServiceError('refused');
  };
  await approveOrder(rig.orders, order.id, 'U0BOB');
  await rig.runDue();
  expect((await rig.read(order.id)).state).toBe('FAILED');
  const retried = await retryOrder(rig.orders, order.id, 'U0BOB');
  expect(retried).toMatchObject({
    kind: 'accepted',
    order: { state: 'PENDING', account: { id: TEAM_ACCOUNT.id, isTeamAccount: true } },
  });
  if (retried.kind !== 'accepted') throw new Error(retried.kind);
  expect((await rig.read(retried.order.id)).account.isTeamAccount).toBe(true);
});

test('an order with the requester’s own account needs only what the rules require', async () => {
  rig.setPolicy(1, { decision: 'free' });
  expect((await rig.requestAccepted('redirect', REDIRECT, { account: ALICE })).state).toBe('APPROVED');
});
