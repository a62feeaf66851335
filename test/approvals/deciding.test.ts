import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import { denyOrder } from '../../src/approvals/deny.ts';
import { cancelOrder } from '../../src/approvals/pending.ts';
import type { ChangeOutcome } from '../../src/orders/change-order.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { ALICE, atOnce, gate, HOUR_MS, type Rig, startRig, until } from '../orders/rig.ts';
import { saidOf } from '../orders/sample.ts';
import { fails } from '../orders/scripted-service.ts';

/* Approvals, denials and other events of a pending order: many at once, late, and without a valid reason. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const renewal = () => rig.ask('renew', { names: ['cafe.rest'], period: 2 });
const refusal = (outcome: ChangeOutcome) => (outcome.ok ? 'it was done' : refusalText(outcome.refusal));
const done = (outcomes: readonly ChangeOutcome[]) => outcomes.filter(({ ok }) => ok).length;

async function unknownRenewal() {
  rig.service.answer = async () => {
    throw fails('unknown_outcome');
  };
  const { id } = await rig.approvedRenewal('cafe.rest');
  await rig.runDue();
  return rig.read(id);
}

async function nothingSent(orderId: string): Promise<void> {
  await rig.runDue();
  expect(rig.service.timesSent(orderId), 'requests to the service').toBe(0);
}

describe('approving', () => {
  test('of 20 concurrent approvals one sends the order, once', async () => {
    const approvers = Array.from({ length: 20 }, (_, index) => `U0BOSS${index}`);
    rig.setTeam({ approvers });
    const order = await renewal();
    const outcomes = await Promise.all(approvers.map((userId) => approveOrder(rig.orders, order.id, userId)));
    expect(done(outcomes)).toBe(1);
    for (const outcome of outcomes.filter(({ ok }) => !ok))
      expect(refusal(outcome)).toMatch(/already approved/);
    expect(await rig.isDue(order.id)).toBe(true);

    // As if 20 replicas found it at once.
    await atOnce(20, () => rig.startProcess().execute(order.id));
    expect(rig.service.timesSent(order.id)).toBe(1);
    expect(await rig.story(order.id)).toEqual([
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
    const order = await renewal();
    await approveOrder(rig.orders, order.id, 'U0DORA');
    rig.groups.set('S0LEADS', []);
    await approveOrder(rig.orders, order.id, 'U0BOB');
    expect((await rig.read(order.id)).state, 'Dora’s counted though she left').toBe('PENDING');
    expect(refusal(await approveOrder(rig.orders, order.id, 'U0DORA'))).toMatch(/Only approvers/);
    await nothingSent(order.id);
    await approveOrder(rig.orders, order.id, 'U0CAROL');
    await rig.runDue();
    expect(rig.service.timesSent(order.id)).toBe(1);
  });
});

describe('people who have left', () => {
  test('while Slack doesn’t return an earlier approver, the last approval is refused', async () => {
    rig.setTeam({ approvalsRequired: 2 });
    const order = await renewal();
    await approveOrder(rig.orders, order.id, 'U0CAROL');
    const before = await rig.read(order.id);
    rig.absent.set('U0CAROL', 'unknown');
    expect(refusal(await approveOrder(rig.orders, order.id, 'U0BOB'))).toMatch(
      /can’t confirm right now that <@U0CAROL> is still a member. Try again in a minute/,
    );
    expect(await rig.read(order.id), 'nothing is dropped for it').toEqual(before);
    rig.absent.clear();
    expect((await approveOrder(rig.orders, order.id, 'U0BOB')).ok).toBe(true);
    expect((await rig.read(order.id)).state).toBe('APPROVED');
  });

  test.each(['approve', 'deny', 'settle'] as const)(
    'a person that Slack doesn’t return can’t %s',
    async (decision) => {
      const order = decision === 'settle' ? await unknownRenewal() : await renewal();
      rig.absent.set('U0BOB', 'unknown');
      const outcome =
        decision === 'settle'
          ? await resolveOrder(rig.orders, order.id, 'U0BOB', 'SUCCEEDED', undefined)
          : decision === 'deny'
            ? await denyOrder(rig.orders, order.id, 'U0BOB', undefined)
            : await approveOrder(rig.orders, order.id, 'U0BOB');
      expect(refusal(outcome)).toMatch(
        /can’t confirm right now that you’re still a member. Try again in a minute/,
      );
      expect(await rig.read(order.id)).toEqual(order);
    },
  );

  test('their requests are stopped at the approval, before anything is sent', async () => {
    const order = await renewal();
    rig.absent.set('U0ALICE', 'left');
    expect(refusal(await approveOrder(rig.orders, order.id, 'U0EVE')), 'by an approver alone').toMatch(
      /Only approvers/,
    );
    await approveOrder(rig.orders, order.id, 'U0BOB');
    const { state, items } = await rig.read(order.id);
    expect(state).toBe('FAILED');
    expect(saidOf(items[0])).toMatch(/no longer a full member.*nothing was sent/);
    await nothingSent(order.id);
  });

  test('while Slack doesn’t return the requester, nothing is approved and nothing is stopped', async () => {
    const order = await renewal();
    rig.absent.set('U0ALICE', 'unknown');
    expect(refusal(await approveOrder(rig.orders, order.id, 'U0BOB'))).toMatch(
      /can’t confirm right now that <@U0ALICE> is still a member/,
    );
    expect(await rig.read(order.id)).toEqual(order);
    rig.absent.clear();
    expect((await approveOrder(rig.orders, order.id, 'U0BOB')).ok).toBe(true);
  });
});

describe('concurrent decisions', () => {
  /** Each has read the pending order before another decision is saved. */
  test.each([
    ['approved', 'APPROVED'],
    ['denied', 'DENIED'],
    ['cancelled', 'CANCELLED'],
  ] as const)('the first saved one counts, and the others learn which it was: %s', async (first, state) => {
    const order = await renewal();
    const waiting = new Map<string, () => void>();
    rig.setBeforeCommit(async ({ log }) => {
      const { opened, open } = gate();
      waiting.set(log[0]?.kind ?? '', open);
      await opened;
    });
    const decisions = {
      approved: approveOrder(rig.orders, order.id, 'U0BOB'),
      denied: denyOrder(rig.orders, order.id, 'U0CAROL', undefined),
      cancelled: cancelOrder(rig.orders, order.id, 'U0ALICE'),
    };
    await until('all three are about to be kept', () => waiting.size === 3);
    waiting.get(first)?.();
    expect((await decisions[first]).ok).toBe(true);
    for (const open of waiting.values()) open();
    const outcomes = await Promise.all(Object.values(decisions));
    expect(done(outcomes), 'decisions that went through').toBe(1);
    for (const outcome of outcomes) if (!outcome.ok) expect(refusal(outcome)).toMatch(/because the order /);
    expect((await rig.read(order.id)).state).toBe(state);
    expect(await rig.story(order.id)).toHaveLength(2);
    expect(await rig.isDue(order.id), 'to be carried out').toBe(state === 'APPROVED');
  });

  test('only the requester cancels an order, and only an approver denies it', async () => {
    const order = await renewal();
    expect(refusal(await cancelOrder(rig.orders, order.id, 'U0BOB'))).toMatch(/Only the requester/);
    expect(refusal(await denyOrder(rig.orders, order.id, 'U0EVE', undefined))).toMatch(/Only approvers/);
    expect(await rig.read(order.id)).toEqual(order);
    await denyOrder(rig.orders, order.id, 'U0BOB', 'too dear');
    const [, entry] = await rig.orders.store.loadHistory(order.id, 'system');
    expect(entry).toMatchObject({ kind: 'denied', actor: 'U0BOB', reason: 'too dear' });
    await nothingSent(order.id);
  });
});

describe('when an order is no longer valid', () => {
  test('it fails at the click, before anything is sent', async () => {
    const order = await renewal();
    rig.accounts.clear();
    await approveOrder(rig.orders, order.id, 'U0BOB');
    const failed = await rig.read(order.id);
    expect(failed).toMatchObject({
      state: 'FAILED',
      approvals: [],
      items: [{ state: 'FAILED', attempts: 0 }],
    });
    expect(saidOf(failed.items[0])).toMatch(/no longer linked, so nothing was sent/);
    await nothingSent(order.id);
  });

  test('it also fails after the click, while nothing is sent', async () => {
    const order = await rig.approvedRenewal('cafe.rest');
    rig.accounts.clear();
    await nothingSent(order.id);
    expect((await rig.read(order.id)).state).toBe('FAILED');
  });

  test('it fails when another login replaced the account’s', async () => {
    const order = await renewal();
    rig.accounts.clear();
    rig.accounts.set('account-other', { ...ALICE, id: 'account-other', login: 'frontdesk' });
    await approveOrder(rig.orders, order.id, 'U0BOB');
    expect((await rig.read(order.id)).state).toBe('FAILED');
    await nothingSent(order.id);
  });

  test('a person who can’t approve can’t make it fail', async () => {
    const order = await renewal();
    rig.accounts.clear();
    expect(refusal(await approveOrder(rig.orders, order.id, 'U0EVE'))).toMatch(/Only approvers/);
    expect(await rig.read(order.id)).toEqual(order);
  });
});

describe('time', () => {
  test('an order expires at its time, not before, and once', async () => {
    const order = await renewal();
    expect(order.expiresAt).toEqual(new Date(rig.now.getTime() + 72 * HOUR_MS));
    rig.pass(72 * HOUR_MS - 1);
    expect((await rig.main.expire(order.id)).ok).toBe(false);
    rig.pass(1);
    expect(refusal(await approveOrder(rig.orders, order.id, 'U0BOB'))).toMatch(/has expired/);
    expect(done(await atOnce(5, () => rig.main.expire(order.id)))).toBe(1);
    expect(await rig.read(order.id)).toMatchObject({ state: 'EXPIRED', closedAt: rig.now });
    expect(refusal(await approveOrder(rig.orders, order.id, 'U0BOB'))).toMatch(/expired/);
    await nothingSent(order.id);
  });

  test('an approval in the last millisecond counts', async () => {
    const order = await renewal();
    rig.pass(72 * HOUR_MS - 1);
    expect((await approveOrder(rig.orders, order.id, 'U0BOB')).ok).toBe(true);
    rig.pass(HOUR_MS);
    expect((await rig.main.expire(order.id)).ok, 'it ran out though it was approved').toBe(false);
  });

  test('the times are stored with the order', async () => {
    const order = await renewal();
    expect(await rig.due(order.id)).toEqual({ work: order.remindAt, notifications: rig.now });
    rig.pass(4 * HOUR_MS);
    await rig.runDue();
    expect(await rig.story(order.id)).toEqual(['requested by U0ALICE', 'reminded']);
    expect((await rig.due(order.id)).work).toEqual(order.escalateAt);
    rig.pass(20 * HOUR_MS);
    await rig.runDue();
    expect(await rig.story(order.id)).toEqual(['requested by U0ALICE', 'reminded', 'escalated']);
    expect((await rig.due(order.id)).work).toEqual(order.expiresAt);
    rig.pass(48 * HOUR_MS);
    await rig.runDue();
    expect((await rig.read(order.id)).state).toBe('EXPIRED');
  });

  test('are noticed once by concurrent processes', async () => {
    const order = await renewal();
    rig.pass(4 * HOUR_MS);
    await rig.recover();
    rig.pass(68 * HOUR_MS);
    await atOnce(3, () => rig.recover());
    expect(await rig.story(order.id)).toEqual(['requested by U0ALICE', 'reminded', 'expired']);
    expect((await rig.due(order.id)).notifications).toBeInstanceOf(Date);
  });
});
