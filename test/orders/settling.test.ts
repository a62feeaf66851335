import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { atOnce, HOUR_MS, type Rig, startRig } from './rig.ts';
import { DONE, fails } from './scripted-service.ts';

/*
 * What people do once an order has ended: say what became of it when nobody knows, and look at its secret.
 */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

describe('settling an unknown outcome', () => {
  /** Of two names the first is done and the second unknown. */
  const unknown = async () => {
    rig.service.answer = async ({ ctid }) => {
      if (ctid.endsWith('.2')) throw fails('unknown_outcome');
      return DONE;
    };
    const order = await rig.approvedRenewal('a.rest', 'b.rest');
    await rig.runJobs();
    expect((await rig.read(order.id)).state).toBe('UNKNOWN');
    await rig.sql('DELETE FROM queued');
    return order;
  };

  test.each(['SUCCEEDED', 'FAILED'] as const)('as %s ends it, and tells who did', async (outcome) => {
    const order = await unknown();
    const settled = await rig.orders.settle(order.id, 'U0BOB', outcome, 'seen at the service');
    expect(settled.ok).toBe(true);
    const ended = await rig.read(order.id);
    expect(ended).toMatchObject({ state: outcome, closedAt: rig.now });
    expect(ended.items.map(({ state }) => state)).toEqual(['SUCCEEDED', outcome]);
    expect(ended.items[1]?.result).toMatchObject({ settledBy: 'U0BOB', errorKind: 'unknown_outcome' });
    const history = await rig.orders.history(order.id);
    expect(history.find(({ kind }) => kind === 'settled')).toMatchObject({
      actor: 'U0BOB',
      detail: { outcome, reason: 'seen at the service', ctids: [`${order.id}.2`] },
    });
    const followed = await rig.queued(order.id, 'expiry.follow');
    expect(
      followed.map(({ data }) => data),
      'names that the watch list hears of now',
    ).toEqual(outcome === 'SUCCEEDED' ? [{ orderId: order.id, n: 2 }] : []);
  });

  test('is for approvers', async () => {
    const order = await unknown();
    for (const userId of ['U0ALICE', 'U0EVE']) {
      const refused = await rig.orders.settle(order.id, userId, 'SUCCEEDED', undefined);
      expect(refused.ok ? 'it was done' : refused.refusal).toMatch(/Only approvers/);
    }
    expect(await rig.orders.refusalToSettle(await rig.read(order.id), 'U0BOB')).toBeUndefined();
    expect(await rig.orders.refusalToSettle(await rig.read(order.id), 'U0EVE')).toMatch(/Only approvers/);
  });

  test('happens once, however many say what', async () => {
    const order = await unknown();
    const outcomes = await atOnce(6, (index) =>
      rig.orders.settle(order.id, 'U0BOB', index % 2 === 0 ? 'SUCCEEDED' : 'FAILED', undefined),
    );
    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1);
    expect((await rig.story(order.id)).filter((kind) => kind === 'settled by U0BOB')).toHaveLength(1);
  });

  test('is not asked of an order whose outcome is known', async () => {
    rig.service.answer = async () => DONE;
    const order = await rig.approvedRenewal('c.rest');
    const early = await rig.orders.settle(order.id, 'U0BOB', 'FAILED', undefined);
    expect(early.ok).toBe(false);
    await rig.runJobs();
    const late = await rig.orders.settle(order.id, 'U0BOB', 'FAILED', undefined);
    expect(late.ok).toBe(false);
    expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
  });
});

describe('a secret result', () => {
  const fetched = async () => {
    rig.service.answer = async () => ({ ...DONE, data: [{ authInfo: 'canary-auth' }] });
    const order = await rig.ask('authcode', { name: 'cafe.rest' });
    await rig.runJobs();
    return rig.read(order.id);
  };
  const seen = async (orderId: string, userId = 'U0ALICE') => {
    const outcome = await rig.orders.reveal(orderId, userId);
    return outcome.kind === 'revealed' ? outcome.secret.reveal() : 'refused';
  };

  test('is nowhere but with its requester, once', async () => {
    const order = await fetched();
    expect(order).toMatchObject({ state: 'SUCCEEDED', items: [{ result: { hasSecret: true } }] });
    expect(await rig.everything(), 'the database').not.toContain('canary');
    expect(rig.logged(), 'the log').not.toContain('canary');
    for (const userId of ['U0BOB', 'U0EVE']) expect(await seen(order.id, userId)).toBe('refused');
    const looks = await atOnce(10, () => seen(order.id));
    expect(looks.filter((look) => look === 'canary-auth')).toHaveLength(1);
    expect(looks.filter((look) => look === 'refused')).toHaveLength(9);
  });

  test('is there for an hour, and wiped after it', async () => {
    const order = await fetched();
    rig.pass(HOUR_MS - 1);
    const young = await fetched();
    rig.pass(1);
    await rig.recover();
    expect(await seen(order.id)).toBe('refused');
    const [wiped] = await rig.sql(
      'SELECT sealed, key_id FROM revealable_secrets WHERE order_id = $1',
      order.id,
    );
    expect(wiped).toEqual({ sealed: null, key_id: null });
    expect(await seen(young.id), 'one that is a moment old').toBe('canary-auth');
  });

  test('that could not be shown can be asked for again, within its hour', async () => {
    const order = await fetched();
    const outcome = await rig.orders.reveal(order.id, 'U0ALICE');
    if (outcome.kind !== 'revealed') throw new Error(outcome.why);
    expect(await seen(order.id)).toBe('refused');
    await outcome.giveBack();
    expect(await seen(order.id)).toBe('canary-auth');
    rig.pass(HOUR_MS);
    await outcome.giveBack();
    expect(await seen(order.id)).toBe('refused');
  });

  test('is not there where a task has none, and not for an order that is not', async () => {
    const order = await rig.approvedRenewal('cafe.rest');
    await rig.runJobs();
    expect(await rig.orders.reveal(order.id, 'U0ALICE')).toMatchObject({ kind: 'refused' });
    expect(await rig.orders.reveal('nothing', 'U0ALICE')).toMatchObject({ kind: 'refused' });
  });

  test('is a password that the service made, but none that was typed', async () => {
    rig.service.answer = async () => ({
      ...DONE,
      messages: [{ code: 'MSG13004', objects: [{ type: 'password', value: 'canary-password' }] }],
    });
    const order = await rig.ask('user', { user: 'anna', context: 4, defaultEmail: 'anna@example.com' });
    await rig.runJobs();
    expect(await seen(order.id)).toBe('canary-password');
  });
});
