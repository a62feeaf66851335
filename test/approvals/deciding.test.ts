import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import { denyOrder } from '../../src/approvals/deny.ts';
import { cancelOrder } from '../../src/approvals/pending.ts';
import type { ChangeOutcome } from '../../src/orders/change-order.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { ALICE, HOUR_MS, newGate, type Rig, runConcurrently, startRig, waitUntil } from '../orders/rig.ts';
import { renderResult } from '../orders/sample.ts';
import { newServiceError } from '../orders/scripted-service.ts';

/* Approvals, denials and cancellations of pending orders: concurrent, late and invalid. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const requestRenewal = () => rig.requestAccepted('renew', { names: ['cafe.rest'], period: 2 });
const textOf = (outcome: ChangeOutcome) => (outcome.ok ? 'it was done' : refusalText(outcome.refusal));
const countAccepted = (outcomes: readonly ChangeOutcome[]) => outcomes.filter(({ ok }) => ok).length;

async function requestUnknownRenewal() {
  rig.service.answer = async () => {
    throw newServiceError('unknown_outcome');
  };
  const { id } = await rig.requestApprovedRenewal('cafe.rest');
  await rig.runDue();
  return rig.read(id);
}

async function expectNothingSent(orderId: string): Promise<void> {
  await rig.runDue();
  expect(rig.service.countSent(orderId), 'requests to the service').toBe(0);
}

describe('approving', () => {
  test('only one of 20 concurrent approvals counts, and the order is sent once', async () => {
    const approvers = Array.from({ length: 20 }, (_, index) => `U0BOSS${index}`);
    rig.setTeam({ approvers });
    const order = await requestRenewal();
    const outcomes = await Promise.all(approvers.map((userId) => approveOrder(rig.orders, order.id, userId)));
    expect(countAccepted(outcomes)).toBe(1);
    for (const outcome of outcomes.filter(({ ok }) => !ok))
      expect(textOf(outcome)).toMatch(/already approved/);
    expect(await rig.isDue(order.id)).toBe(true);

    // 20 replicas find it at once.
    await runConcurrently(20, () => rig.startProcess().execute(order.id));
    expect(rig.service.countSent(order.id)).toBe(1);
    expect(await rig.listHistory(order.id)).toEqual([
      'requested by U0ALICE',
      expect.stringMatching(/^approved by U0BOSS/),
      'claimed',
      'sending',
      'answered',
      'finished',
    ]);
  });

  test('the approval of a removed approver is dropped at the last click', async () => {
    rig.setTeam({ approvalsRequired: 2 });
    const order = await requestRenewal();
    await approveOrder(rig.orders, order.id, 'U0DORA');
    rig.groups.set('S0LEADS', []);
    await approveOrder(rig.orders, order.id, 'U0BOB');
    expect((await rig.read(order.id)).state, 'with the approval of a removed approver').toBe('PENDING');
    expect(textOf(await approveOrder(rig.orders, order.id, 'U0DORA'))).toMatch(/Only approvers/);
    await expectNothingSent(order.id);
    await approveOrder(rig.orders, order.id, 'U0CAROL');
    await rig.runDue();
    expect(rig.service.countSent(order.id)).toBe(1);
  });
});

describe('people who have left', () => {
  test('while Slack doesn’t return an earlier approver, the last approval is refused', async () => {
    rig.setTeam({ approvalsRequired: 2 });
    const order = await requestRenewal();
    await approveOrder(rig.orders, order.id, 'U0CAROL');
    const before = await rig.read(order.id);
    rig.memberships.set('U0CAROL', 'unknown');
    expect(textOf(await approveOrder(rig.orders, order.id, 'U0BOB'))).toMatch(
      /can’t confirm right now that <@U0CAROL> is still a member. Try again in a minute/,
    );
    expect(await rig.read(order.id), 'after the refusal').toEqual(before);
    rig.memberships.clear();
    expect((await approveOrder(rig.orders, order.id, 'U0BOB')).ok).toBe(true);
    expect((await rig.read(order.id)).state).toBe('APPROVED');
  });

  test.each(['approve', 'deny', 'settle'] as const)(
    'a person that Slack doesn’t return can’t %s',
    async (decision) => {
      const order = decision === 'settle' ? await requestUnknownRenewal() : await requestRenewal();
      rig.memberships.set('U0BOB', 'unknown');
      const outcome =
        decision === 'settle'
          ? await resolveOrder(rig.orders, order.id, 'U0BOB', 'SUCCEEDED', undefined)
          : decision === 'deny'
            ? await denyOrder(rig.orders, order.id, 'U0BOB', undefined)
            : await approveOrder(rig.orders, order.id, 'U0BOB');
      expect(textOf(outcome)).toMatch(
        /can’t confirm right now that you’re still a member. Try again in a minute/,
      );
      expect(await rig.read(order.id)).toEqual(order);
    },
  );

  test('the order of a requester who has left fails at the approval, before anything is sent', async () => {
    const order = await requestRenewal();
    rig.memberships.set('U0ALICE', 'left');
    expect(
      textOf(await approveOrder(rig.orders, order.id, 'U0EVE')),
      'for a person who isn’t an approver',
    ).toMatch(/Only approvers/);
    await approveOrder(rig.orders, order.id, 'U0BOB');
    const { state, items } = await rig.read(order.id);
    expect(state).toBe('FAILED');
    expect(renderResult(items[0])).toMatch(/no longer a full member.*nothing was sent/);
    await expectNothingSent(order.id);
  });

  test('while Slack doesn’t return the requester, approvals are refused and the order is unchanged', async () => {
    const order = await requestRenewal();
    rig.memberships.set('U0ALICE', 'unknown');
    expect(textOf(await approveOrder(rig.orders, order.id, 'U0BOB'))).toMatch(
      /can’t confirm right now that <@U0ALICE> is still a member/,
    );
    expect(await rig.read(order.id)).toEqual(order);
    rig.memberships.clear();
    expect((await approveOrder(rig.orders, order.id, 'U0BOB')).ok).toBe(true);
  });
});

describe('concurrent decisions', () => {
  /** Each decision has read the pending order before another one is saved. */
  test.each([
    ['approved', 'APPROVED'],
    ['denied', 'DENIED'],
    ['cancelled', 'CANCELLED'],
  ] as const)('only the first saved one counts, and the others are refused: %s', async (first, state) => {
    const order = await requestRenewal();
    const waiting = new Map<string, () => void>();
    rig.setBeforeCommit(async ({ log }) => {
      const { opened, open } = newGate();
      waiting.set(log[0]?.kind ?? '', open);
      await opened;
    });
    const decisions = {
      approved: approveOrder(rig.orders, order.id, 'U0BOB'),
      denied: denyOrder(rig.orders, order.id, 'U0CAROL', undefined),
      cancelled: cancelOrder(rig.orders, order.id, 'U0ALICE'),
    };
    await waitUntil('all three decisions are about to be saved', () => waiting.size === 3);
    waiting.get(first)?.();
    expect((await decisions[first]).ok).toBe(true);
    for (const open of waiting.values()) open();
    const outcomes = await Promise.all(Object.values(decisions));
    expect(countAccepted(outcomes), 'accepted decisions').toBe(1);
    for (const outcome of outcomes) if (!outcome.ok) expect(textOf(outcome)).toMatch(/because the order /);
    expect((await rig.read(order.id)).state).toBe(state);
    expect(await rig.listHistory(order.id)).toHaveLength(2);
    expect(await rig.isDue(order.id), 'is due').toBe(state === 'APPROVED');
  });

  test('only the requester cancels an order, and only an approver denies it', async () => {
    const order = await requestRenewal();
    expect(textOf(await cancelOrder(rig.orders, order.id, 'U0BOB'))).toMatch(/Only the requester/);
    expect(textOf(await denyOrder(rig.orders, order.id, 'U0EVE', undefined))).toMatch(/Only approvers/);
    expect(await rig.read(order.id)).toEqual(order);
    await denyOrder(rig.orders, order.id, 'U0BOB', 'too dear');
    const [, entry] = await rig.orders.store.loadHistory(order.id, 'system');
    expect(entry).toMatchObject({ kind: 'denied', actor: 'U0BOB', reason: 'too dear' });
    await expectNothingSent(order.id);
  });
});

describe('when an order is no longer valid', () => {
  test('it fails at the click, before anything is sent', async () => {
    const order = await requestRenewal();
    rig.accounts.clear();
    await approveOrder(rig.orders, order.id, 'U0BOB');
    const failed = await rig.read(order.id);
    expect(failed).toMatchObject({
      state: 'FAILED',
      approvals: [],
      items: [{ state: 'FAILED', attempts: 0 }],
    });
    expect(renderResult(failed.items[0])).toMatch(/no longer linked, so nothing was sent/);
    await expectNothingSent(order.id);
  });

  test('it also fails after the click, before anything is sent', async () => {
    const order = await rig.requestApprovedRenewal('cafe.rest');
    rig.accounts.clear();
    await expectNothingSent(order.id);
    expect((await rig.read(order.id)).state).toBe('FAILED');
  });

  test('it fails if another account replaced its account', async () => {
    const order = await requestRenewal();
    rig.accounts.clear();
    rig.accounts.set('account-other', { ...ALICE, id: 'account-other', login: 'frontdesk' });
    await approveOrder(rig.orders, order.id, 'U0BOB');
    expect((await rig.read(order.id)).state).toBe('FAILED');
    await expectNothingSent(order.id);
  });

  test('a person who can’t approve can’t make it fail', async () => {
    const order = await requestRenewal();
    rig.accounts.clear();
    expect(textOf(await approveOrder(rig.orders, order.id, 'U0EVE'))).toMatch(/Only approvers/);
    expect(await rig.read(order.id)).toEqual(order);
  });
});

describe('deadlines', () => {
  test('expire an order once, and not before its time', async () => {
    const order = await requestRenewal();
    expect(order.expiresAt).toEqual(new Date(rig.now.getTime() + 72 * HOUR_MS));
    rig.advanceClock(72 * HOUR_MS - 1);
    expect((await rig.main.expire(order.id)).ok).toBe(false);
    rig.advanceClock(1);
    expect(textOf(await approveOrder(rig.orders, order.id, 'U0BOB'))).toMatch(/has expired/);
    expect(countAccepted(await runConcurrently(5, () => rig.main.expire(order.id)))).toBe(1);
    expect(await rig.read(order.id)).toMatchObject({ state: 'EXPIRED', closedAt: rig.now });
    expect(textOf(await approveOrder(rig.orders, order.id, 'U0BOB'))).toMatch(/expired/);
    await expectNothingSent(order.id);
  });

  test('let an approval in the last millisecond count', async () => {
    const order = await requestRenewal();
    rig.advanceClock(72 * HOUR_MS - 1);
    expect((await approveOrder(rig.orders, order.id, 'U0BOB')).ok).toBe(true);
    rig.advanceClock(HOUR_MS);
    expect((await rig.main.expire(order.id)).ok, 'expired although approved').toBe(false);
  });

  test('are stored with the order and used for its reminder, escalation and expiry', async () => {
    const order = await requestRenewal();
    expect(await rig.readDueTimes(order.id)).toEqual({ work: order.remindAt, notifications: rig.now });
    rig.advanceClock(4 * HOUR_MS);
    await rig.runDue();
    expect(await rig.listHistory(order.id)).toEqual(['requested by U0ALICE', 'reminded']);
    expect((await rig.readDueTimes(order.id)).work).toEqual(order.escalateAt);
    rig.advanceClock(20 * HOUR_MS);
    await rig.runDue();
    expect(await rig.listHistory(order.id)).toEqual(['requested by U0ALICE', 'reminded', 'escalated']);
    expect((await rig.readDueTimes(order.id)).work).toEqual(order.expiresAt);
    rig.advanceClock(48 * HOUR_MS);
    await rig.runDue();
    expect((await rig.read(order.id)).state).toBe('EXPIRED');
  });

  test('take effect once with concurrent processes', async () => {
    const order = await requestRenewal();
    rig.advanceClock(4 * HOUR_MS);
    await rig.recover();
    rig.advanceClock(68 * HOUR_MS);
    await runConcurrently(3, () => rig.recover());
    expect(await rig.listHistory(order.id)).toEqual(['requested by U0ALICE', 'reminded', 'expired']);
    expect((await rig.readDueTimes(order.id)).notifications).toBeInstanceOf(Date);
  });
});
