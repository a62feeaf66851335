import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createVault } from '../../src/accounts/vault.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { retryOrder } from '../../src/orders/retry-button.ts';
import { revealSecret } from '../../src/orders/reveal.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { orderReply } from '../../src/slack/orders/thread.view.ts';
import { cardOf } from '../slack/orders/samples.ts';
import { atOnce, gate, HOUR_MS, MINUTE_MS, type Rig, startRig, until } from './rig.ts';
import { saidOf } from './sample.ts';
import { DONE, fails } from './scripted-service.ts';

/* People's actions after an order has ended: settling an unknown outcome, and showing its secret. */

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
    await rig.runDue();
    expect((await rig.read(order.id)).state).toBe('UNKNOWN');
    return order;
  };

  test.each(['SUCCEEDED', 'FAILED'] as const)('as %s ends it, and shows by whom', async (outcome) => {
    const order = await unknown();
    const settled = await resolveOrder(rig.orders, order.id, 'U0BOB', outcome, 'seen at the service');
    expect(settled.ok).toBe(true);
    const ended = await rig.read(order.id);
    expect(ended).toMatchObject({ state: outcome, closedAt: rig.now });
    expect(ended.items.map(({ state }) => state)).toEqual(['SUCCEEDED', outcome]);
    expect(ended.items[1]?.result).toMatchObject({ resolvedBy: 'U0BOB', errorKind: 'unknown_outcome' });
    const history = await rig.orders.store.loadHistory(order.id, 'system');
    expect(history.find(({ kind }) => kind === 'resolved')).toMatchObject({
      actor: 'U0BOB',
      outcome,
      reason: 'seen at the service',
      ctids: [`${order.id}.2`],
    });
    expect(await rig.unfollowed(order.id), 'names that the watch list must follow').toEqual(
      outcome === 'SUCCEEDED' ? [1, 2] : [1],
    );
  });

  test('happens once for concurrent answers', async () => {
    const order = await unknown();
    const outcomes = await atOnce(6, (index) =>
      resolveOrder(rig.orders, order.id, 'U0BOB', index % 2 === 0 ? 'SUCCEEDED' : 'FAILED', undefined),
    );
    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1);
    expect((await rig.story(order.id)).filter((kind) => kind === 'resolved by U0BOB')).toHaveLength(1);
  });
});

describe('a secret result', () => {
  const fetched = async () => {
    rig.service.answer = async () => ({ ...DONE, data: [{ authInfo: 'canary-auth' }] });
    const order = await rig.ask('authcode', { name: 'cafe.rest' });
    await rig.runDue();
    return rig.read(order.id);
  };
  const seen = async (orderId: string, userId = 'U0ALICE') => {
    const outcome = await revealSecret(rig.orders, orderId, userId);
    return outcome.kind === 'revealed' ? outcome.secret.reveal() : 'refused';
  };

  test('is shown only to its requester, once', async () => {
    const order = await fetched();
    expect(order).toMatchObject({ state: 'SUCCEEDED', items: [{ result: { hasSecret: true } }] });
    expect(await rig.everything(), 'the database').not.toContain('canary');
    expect(rig.logged(), 'the log').not.toContain('canary');
    for (const userId of ['U0BOB', 'U0EVE']) expect(await seen(order.id, userId)).toBe('refused');
    const looks = await atOnce(10, () => seen(order.id));
    expect(looks.filter((look) => look === 'canary-auth')).toHaveLength(1);
    expect(looks.filter((look) => look === 'refused')).toHaveLength(9);
  });

  test('is available for an hour, and wiped then', async () => {
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

  test('whose key is missing is available again when the key is back', async () => {
    const order = await fetched();
    const vault = createVault([{ id: 'k2', key: Buffer.alloc(32, 8) }]);
    const { store } = rig;
    const locked = await revealSecret({ store, vault, now: () => rig.now }, order.id, 'U0ALICE');
    expect(locked).toMatchObject({
      kind: 'refused',
      refusal: { code: 'secret_key_missing' },
    });
    expect(await seen(order.id)).toBe('canary-auth');
    expect(await seen(order.id)).toBe('refused');
  });

  test('that couldn’t be shown can be requested again, within its hour', async () => {
    const order = await fetched();
    const outcome = await revealSecret(rig.orders, order.id, 'U0ALICE');
    if (outcome.kind !== 'revealed') throw new Error(refusalText(outcome.refusal));
    expect(await seen(order.id)).toBe('refused');
    await outcome.restore();
    expect(await seen(order.id)).toBe('canary-auth');
    rig.pass(HOUR_MS);
    await outcome.restore();
    expect(await seen(order.id)).toBe('refused');
  });

  test('is a password that the service generated, but not a typed one', async () => {
    rig.service.answer = async () => ({
      ...DONE,
      messages: [{ code: 'MSG13004', objects: [{ type: 'password', value: 'canary-password' }] }],
    });
    const order = await rig.ask('user', { user: 'anna', context: 4, defaultEmail: 'anna@example.com' });
    await rig.runDue();
    expect(await seen(order.id)).toBe('canary-password');
  });
});

describe('a late response', () => {
  /** A renewal whose worker was given up, while its request is still running. */
  const givenUp = async (...names: string[]) => {
    const answer = gate();
    let said: () => Promise<typeof DONE> = async () => DONE;
    rig.service.answer = async () => {
      await answer.opened;
      return said();
    };
    const order = await rig.approvedRenewal(...names);
    const execution = rig.main.execute(order.id);
    await until('its requests are out', () => rig.service.received.length === names.length);
    rig.pass(MINUTE_MS);
    await rig.recover();
    expect((await rig.read(order.id)).state).toBe('UNKNOWN');
    return {
      id: order.id,
      async answers(what: () => Promise<typeof DONE>) {
        said = what;
        answer.open();
        await execution;
        return rig.read(order.id);
      },
    };
  };
  const busy = async () => {
    throw fails('busy', { retryAfterMs: 1_000, httpStatus: 429 });
  };
  const refused = async () => {
    throw fails('refused', { code: 'EF01017', text: 'No' });
  };
  const reply = async (orderId: string) => {
    const order = await rig.read(orderId);
    const last = (await rig.store.loadHistory(orderId, 'system')).at(-1);
    return last === undefined ? '' : JSON.stringify(orderReply(order, last, ['U0BOB', 'S0LEADS']));
  };

  test.each([
    ['busy', busy, /busy/],
    ['refused', refused, /refused/],
  ])(
    'and says that it was not carried out (%s): it failed, and can be requested again',
    async (_what, answer, words) => {
      const order = await givenUp('late2.rest');
      const ended = await order.answers(answer);
      expect(ended).toMatchObject({ state: 'FAILED', items: [{ attempts: 1 }] });
      expect(saidOf(ended.items[0])).toMatch(words);
      expect((await retryOrder(rig.orders, order.id, 'U0ALICE')).kind).toBe('accepted');
      expect(rig.service.received).toHaveLength(1);
    },
  );

  test.each(['SUCCEEDED', 'FAILED'] as const)(
    'and agrees with the settlement (%s): it is stored and posted',
    async (outcome) => {
      const order = await givenUp('late3.rest');
      await resolveOrder(rig.orders, order.id, 'U0BOB', outcome, undefined);
      const ended = await order.answers(outcome === 'SUCCEEDED' ? async () => DONE : refused);
      expect(ended).toMatchObject({
        state: outcome,
        items: [{ state: outcome, result: { resolvedBy: 'U0BOB', lateOutcome: outcome } }],
      });
      expect(await reply(order.id)).toMatch(/confirms the outcome that was entered/);
      expect((await rig.due(order.id)).notifications, 'it is shown').toBeInstanceOf(Date);
    },
  );

  test('and says that it was done, although it was settled as not done: approvers are notified, and there is no Retry', async () => {
    const order = await givenUp('late4.rest');
    await resolveOrder(rig.orders, order.id, 'U0BOB', 'FAILED', 'not on the invoice');
    expect(JSON.stringify(cardOf(await rig.read(order.id), { approvers: [], now: rig.now }))).toContain(
      'order_retry',
    );
    const ended = await order.answers(async () => DONE);
    expect(ended).toMatchObject({
      state: 'FAILED',
      items: [{ state: 'FAILED', result: { lateOutcome: 'SUCCEEDED' } }],
    });
    const said = await reply(order.id);
    expect(said).toMatch(/<@U0ALICE>, <@U0BOB>, <!subteam\^S0LEADS>.*contradicts/);
    expect(said).toMatch(/<@U0BOB> marked it as failed.*it was carried out.*S0100/);
    expect(JSON.stringify(cardOf(ended, { approvers: [], now: rig.now }))).not.toContain('order_retry');
    expect(await retryOrder(rig.orders, order.id, 'U0ALICE')).toMatchObject({
      kind: 'refused',
      refusal: { code: 'retry_already_done' },
    });
    expect(await rig.story(order.id)).toContain('answered_late');
  });

  test('and says that it was not done, although it was settled as done: approvers are notified', async () => {
    const order = await givenUp('late5.rest');
    await resolveOrder(rig.orders, order.id, 'U0BOB', 'SUCCEEDED', undefined);
    expect(await order.answers(busy)).toMatchObject({
      state: 'SUCCEEDED',
      items: [{ result: { lateOutcome: 'FAILED' } }],
    });
    expect(await reply(order.id)).toMatch(/<@U0BOB>.*contradicts.*marked it as done.*wasn’t carried out/);
  });

  test('that leaves the outcome open changes nothing', async () => {
    const order = await givenUp('late8.rest');
    await resolveOrder(rig.orders, order.id, 'U0BOB', 'FAILED', undefined);
    const before = await rig.read(order.id);
    const after = await order.answers(async () => {
      throw fails('unknown_outcome');
    });
    expect(after).toEqual(before);
  });

  test('with a secret, after it was settled as done: the requester can still see it', async () => {
    const answer = gate();
    rig.service.answer = async () => {
      await answer.opened;
      return { ...DONE, data: [{ authInfo: 'canary-auth' }] };
    };
    const order = await rig.ask('authcode', { name: 'late9.rest' });
    const execution = rig.main.execute(order.id);
    await until('its request is out', () => rig.service.received.length === 1);
    rig.pass(MINUTE_MS);
    await rig.recover();
    await resolveOrder(rig.orders, order.id, 'U0BOB', 'SUCCEEDED', undefined);
    answer.open();
    await execution;
    expect(await reply(order.id)).toContain('order_reveal');
    const outcome = await revealSecret(rig.orders, order.id, 'U0ALICE');
    expect(outcome.kind === 'revealed' ? outcome.secret.reveal() : outcome.refusal).toBe('canary-auth');
  });
});

describe('an idempotent task that was once in doubt', () => {
  const asked = async () => {
    const order = await rig.ask('nameservers', {
      name: 'doubt.rest',
      nameServers: ['ns1.a.rest', 'ns2.a.rest'],
    });
    await rig.runDue();
    expect(await rig.read(order.id)).toMatchObject({
      state: 'APPROVED',
      items: [{ result: { inDoubt: true } }],
    });
    return order;
  };
  beforeEach(() => {
    let tries = 0;
    rig.service.answer = async () => {
      tries += 1;
      if (tries === 1) throw fails('unknown_outcome');
      throw fails('refused', { code: 'EF01017', text: 'Locked' });
    };
  });

  test('is unknown, not failed, if the second request is refused', async () => {
    const order = await asked();
    rig.pass(MINUTE_MS);
    await rig.runDue();
    const ended = await rig.read(order.id);
    expect(ended.state).toBe('UNKNOWN');
    expect(ended.items[0]?.result).toMatchObject({ code: 'EF01017' });
    expect(saidOf(ended.items[0])).toMatch(/earlier request may have reached.*refused/);
  });

  test('is unknown, not failed, if it can’t be prepared again', async () => {
    const order = await asked();
    rig.service.prepare = async () => {
      throw fails('not_sent');
    };
    for (let tries = 0; tries < 6; tries += 1) {
      rig.pass(MINUTE_MS);
      await rig.runDue();
    }
    expect(await rig.read(order.id)).toMatchObject({ state: 'UNKNOWN' });
    expect(rig.service.received).toHaveLength(1);
  });

  test('is done if the second request is', async () => {
    const order = await asked();
    rig.service.answer = async () => DONE;
    rig.pass(MINUTE_MS);
    await rig.runDue();
    expect(await rig.read(order.id)).toMatchObject({
      state: 'SUCCEEDED',
      items: [{ result: { summary: { code: 'done' } } }],
    });
  });
});
