import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Account } from '../../src/accounts/account.ts';
import { cancelOrder } from '../../src/approvals/pending.ts';
import { confirmOrder } from '../../src/orders/confirm-draft.ts';
import { generateOrderId } from '../../src/orders/request-context.ts';
import { retryOrder } from '../../src/orders/retry-button.ts';
import { buildInputAssociatedData, buildResultAssociatedData } from '../../src/orders/salted-secret.ts';
import { Secret } from '../../src/service/secret.ts';
import {
  ALICE,
  HOUR_MS,
  MINUTE_MS,
  type Rig,
  requireAccepted,
  runConcurrently,
  startRig,
} from '../orders/rig.ts';
import { newServiceError, SUCCESS_ENVELOPE } from '../orders/scripted-service.ts';

/* Orders are created by requests, confirmations and retries. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const RENEWAL = { names: ['cafe.rest'], period: 2 };
const AT_ONCE = () => ({ work: rig.now, notifications: rig.now });

describe('order ids', () => {
  test('have twelve unambiguous characters and are unique', () => {
    const ids = Array.from({ length: 1_000 }, generateOrderId);
    expect(ids.filter((id) => !/^[0-9a-hjkmnp-tv-z]{12}$/.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(ids.join('')).size, 'characters in use').toBe(32);
  });

  test('bind sealed values to the order, the person and the item', () => {
    const order = { id: 'a', requesterId: 'U0ALICE' };
    const owners = [
      buildInputAssociatedData(order),
      buildInputAssociatedData({ ...order, id: 'b' }),
      buildInputAssociatedData({ ...order, requesterId: 'U0BOB' }),
      buildResultAssociatedData(order, 1),
      buildResultAssociatedData(order, 2),
      buildResultAssociatedData({ ...order, requesterId: 'U0BOB' }, 1),
    ];
    expect(new Set(owners.map((owner) => JSON.stringify(owner))).size).toBe(owners.length);
  });
});

describe('a request', () => {
  test('for a paid task creates a pending order', async () => {
    const order = await rig.requestAccepted('renew', RENEWAL, { reason: 'client paid', threadTs: '1.2' });
    expect(await rig.read(order.id)).toEqual(order);
    expect(order).toMatchObject({
      task: 'renew',
      state: 'PENDING',
      version: 1,
      requesterId: 'U0ALICE',
      account: { id: 'account-alice', login: 'alice', method: 'password', context: 4 },
      input: RENEWAL,
      reason: 'client paid',
      channelId: 'C0DOMAINS',
      threadTs: '1.2',
      approvalsRequired: 1,
      expiresAt: new Date(rig.now.getTime() + 72 * HOUR_MS),
      remindAt: new Date(rig.now.getTime() + 4 * HOUR_MS),
      items: [{ n: 1, name: 'cafe.rest', ctid: order.id, state: 'WAITING', attempts: 0 }],
    });
    const [requested, ...more] = await rig.orders.store.loadHistory(order.id, 'system');
    expect(more).toEqual([]);
    expect(requested).toMatchObject({
      kind: 'requested',
      actor: 'U0ALICE',
      ...{ task: 'renew', names: ['cafe.rest'], account: 'alice in context 4', reason: 'client paid' },
    });
  });

  test.each(['delete', 'owner-change'] as const)(
    'to %s creates a draft and notifies nobody',
    async (task) => {
      const draft = await rig.requestAccepted(task, { name: 'cafe.rest' });
      expect(draft).toMatchObject({
        state: 'DRAFT',
        expiresAt: new Date(rig.now.getTime() + 15 * MINUTE_MS),
        remindAt: undefined,
      });
      expect(await rig.readDueTimes(draft.id)).toEqual({ work: undefined, notifications: undefined });
    },
  );

  test('without a suitable account or with invalid input creates no order', async () => {
    expect(await rig.request('renew', RENEWAL, { account: undefined })).toEqual({ kind: 'not_linked' });
    expect(await rig.request('renew', { names: ['-'], period: 1 })).toMatchObject({
      kind: 'invalid',
      issues: [{ field: 'names' }],
    });
    const twoFactor = { ...ALICE, method: 'two_factor' } as const;
    expect(await rig.request('renew', RENEWAL, { account: twoFactor })).toEqual({
      kind: 'unsupported',
      issue: { code: 'json_takes_no_two_factor' },
    });
    expect(await rig.sql('SELECT id FROM orders')).toEqual([]);
  });

  test('delivered ten times creates one order', async () => {
    const outcomes = await runConcurrently(10, () =>
      rig.request('renew', RENEWAL, { deliveryId: 'command:same' }),
    );
    const ids = outcomes.map((outcome) => requireAccepted(outcome).id);
    expect(new Set(ids).size).toBe(1);
    const again = requireAccepted(await rig.request('renew', RENEWAL, { deliveryId: 'command:same' }));
    await cancelOrder(rig.orders, again.id, 'U0ALICE');
    const late = requireAccepted(await rig.request('renew', RENEWAL, { deliveryId: 'command:same' }));
    expect(late, 'the same order, now cancelled').toMatchObject({ id: again.id, state: 'CANCELLED' });
  });

  test('made ten times at once for one name creates one order, and the others get its id', async () => {
    const outcomes = await runConcurrently(10, () => rig.request('renew', RENEWAL));
    const accepted = outcomes.filter(({ kind }) => kind === 'accepted').map(requireAccepted);
    expect(accepted).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.kind === 'accepted') continue;
      if (outcome.kind !== 'already_open') throw new Error(`expected the open order, got ${outcome.kind}`);
      expect(outcome.order.id).toBe(accepted[0]?.id);
    }
  });
});

test('a request doesn’t conflict with an order that closes during the lookup', async () => {
  const open = await rig.requestAccepted('renew', RENEWAL);
  rig.setOnConflict(async () => {
    rig.setOnConflict(undefined);
    await cancelOrder(rig.orders, open.id, 'U0ALICE');
  });
  const next = await rig.requestAccepted('renew', RENEWAL);
  expect(next.id).not.toBe(open.id);
  expect((await rig.read(next.id)).state).toBe('PENDING');
});

describe('confirming a draft', () => {
  const requestDraft = () => rig.requestAccepted('delete', { name: 'cafe.rest' });

  test('only works for the requester, and only once', async () => {
    const order = await requestDraft();
    expect(await confirmOrder(rig.orders, order.id, 'U0BOB')).toMatchObject({ kind: 'refused' });
    const outcomes = await runConcurrently(5, () => confirmOrder(rig.orders, order.id, 'U0ALICE'));
    expect(outcomes.filter(({ kind }) => kind === 'confirmed')).toHaveLength(1);
    expect(await rig.readDueTimes(order.id)).toEqual(AT_ONCE());
    await rig.runDue();
    expect(rig.service.countSent(order.id)).toBe(1);
  });

  test('is refused after 15 minutes, before and after the draft is deleted', async () => {
    const order = await requestDraft();
    rig.advanceClock(15 * MINUTE_MS);
    const late = await confirmOrder(rig.orders, order.id, 'U0ALICE');
    expect(late).toMatchObject({ kind: 'refused', refusal: { code: 'draft_deleted' } });
    await rig.recover();
    expect(await rig.orders.store.load(order.id, 'system'), 'draft after cleanup').toBeUndefined();
    expect(await confirmOrder(rig.orders, order.id, 'U0ALICE')).toEqual(late);
    await rig.runDue();
    expect(rig.service.received).toEqual([]);
  });

  test('conflicts with a draft that was confirmed first', async () => {
    const [first, second] = [await requestDraft(), await requestDraft()];
    const outcomes = await Promise.all(
      [first, second].map(({ id }) => confirmOrder(rig.orders, id, 'U0ALICE')),
    );
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['already_open', 'confirmed']);
    await rig.runDue();
    expect(rig.service.received).toHaveLength(1);
  });
});

describe('retrying', () => {
  const failRenewal = async (...names: string[]) => {
    rig.service.answer = async ({ ctid }) => {
      if (ctid.endsWith('.2') || !ctid.includes('.')) throw newServiceError('refused', { code: 'EF1' });
      return SUCCESS_ENVELOPE;
    };
    const order = await rig.requestApprovedRenewal(...names);
    await rig.runDue();
    rig.service.answer = async () => SUCCESS_ENVELOPE;
    return rig.read(order.id);
  };

  test('ten times at once creates one order, which can’t be retried while it is open', async () => {
    const failed = await failRenewal('a.rest');
    const outcomes = await runConcurrently(10, () => retryOrder(rig.orders, failed.id, 'U0ALICE'));
    const ids = new Set(
      outcomes.map((outcome) => (outcome.kind === 'accepted' ? outcome.order.id : outcome.kind)),
    );
    expect(ids.size).toBe(1);
    const [id = ''] = ids;
    expect(await retryOrder(rig.orders, id, 'U0ALICE')).toMatchObject({ kind: 'refused' });
  });

  test('is only for the requester and approvers, and only for failed orders', async () => {
    const failed = await failRenewal('a.rest');
    expect(await retryOrder(rig.orders, failed.id, 'U0EVE')).toMatchObject({ kind: 'refused' });
    expect(await retryOrder(rig.orders, 'nothing', 'U0ALICE')).toMatchObject({ kind: 'refused' });
    const pending = await rig.requestAccepted('renew', { names: ['d.rest'], period: 1 });
    expect(await retryOrder(rig.orders, pending.id, 'U0ALICE')).toMatchObject({ kind: 'refused' });
    expect(await rig.sql('SELECT id FROM orders')).toHaveLength(2);
  });

  test('needs the order’s original account', async () => {
    const failed = await failRenewal('a.rest');
    rig.accounts.clear();
    const other: Account = { ...ALICE, id: 'account-other', login: 'frontdesk' };
    rig.accounts.set(other.id, other);
    expect(await retryOrder(rig.orders, failed.id, 'U0ALICE')).toMatchObject({
      kind: 'refused',
      refusal: { code: 'retry_account_gone' },
    });
  });

  test('needs the secret again, because it isn’t stored', async () => {
    const order = await rig.requestAccepted(
      'user',
      { user: 'anna', context: 4, defaultEmail: 'anna@example.com' },
      { secret: new Secret('canary') },
    );
    rig.service.answer = async () => {
      throw newServiceError('refused');
    };
    await rig.runDue();
    expect(await retryOrder(rig.orders, order.id, 'U0ALICE')).toMatchObject({
      kind: 'needs_secret',
      order: { id: order.id },
    });
  });
});
