import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createVault } from '../../src/accounts/vault.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { retryOrder } from '../../src/orders/retry-button.ts';
import { revealSecret } from '../../src/orders/reveal.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { orderReply } from '../../src/slack/orders/thread.view.ts';
import { renderCard } from '../slack/orders/samples.ts';
import { HOUR_MS, MINUTE_MS, newGate, type Rig, runConcurrently, startRig, waitUntil } from './rig.ts';
import { renderResult } from './sample.ts';
import { newServiceError, SUCCESS_ENVELOPE } from './scripted-service.ts';

/* After an order was sent: settling an unknown outcome, revealing a secret, and late responses. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

describe('settling an unknown outcome', () => {
  /** Requests an order whose first name is done and whose second is unknown. */
  const requestWithUnknownName = async () => {
    rig.service.answer = async ({ ctid }) => {
      if (ctid.endsWith('.2')) throw newServiceError('unknown_outcome');
      return SUCCESS_ENVELOPE;
    };
    const order = await rig.requestApprovedRenewal('a.rest', 'b.rest');
    await rig.runDue();
    expect((await rig.read(order.id)).state).toBe('UNKNOWN');
    return order;
  };

  test.each(['SUCCEEDED', 'FAILED'] as const)('as %s ends the order, with the person', async (outcome) => {
    const order = await requestWithUnknownName();
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
    expect(await rig.listItemsForWatchList(order.id), 'items for the watch list').toEqual(
      outcome === 'SUCCEEDED' ? [1, 2] : [1],
    );
  });

  test('happens once for concurrent clicks', async () => {
    const order = await requestWithUnknownName();
    const outcomes = await runConcurrently(6, (index) =>
      resolveOrder(rig.orders, order.id, 'U0BOB', index % 2 === 0 ? 'SUCCEEDED' : 'FAILED', undefined),
    );
    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1);
    expect((await rig.listHistory(order.id)).filter((kind) => kind === 'resolved by U0BOB')).toHaveLength(1);
  });
});

describe('a secret result', () => {
  const requestAuthCode = async () => {
    rig.service.answer = async () => ({ ...SUCCESS_ENVELOPE, data: [{ authInfo: 'canary-auth' }] });
    const order = await rig.requestAccepted('authcode', { name: 'cafe.rest' });
    await rig.runDue();
    return rig.read(order.id);
  };
  const reveal = async (orderId: string, userId = 'U0ALICE') => {
    const outcome = await revealSecret(rig.orders, orderId, userId);
    return outcome.kind === 'revealed' ? outcome.secret.reveal() : 'refused';
  };

  test('is shown only to its requester, once', async () => {
    const order = await requestAuthCode();
    expect(order).toMatchObject({ state: 'SUCCEEDED', items: [{ result: { hasSecret: true } }] });
    expect(await rig.dumpDatabase(), 'the database').not.toContain('canary');
    expect(rig.readLog(), 'the log').not.toContain('canary');
    for (const userId of ['U0BOB', 'U0EVE']) expect(await reveal(order.id, userId)).toBe('refused');
    const reveals = await runConcurrently(10, () => reveal(order.id));
    expect(reveals.filter((text) => text === 'canary-auth')).toHaveLength(1);
    expect(reveals.filter((text) => text === 'refused')).toHaveLength(9);
  });

  test('is available for an hour and then wiped', async () => {
    const order = await requestAuthCode();
    rig.advanceClock(HOUR_MS - 1);
    const newerOrder = await requestAuthCode();
    rig.advanceClock(1);
    await rig.recover();
    expect(await reveal(order.id)).toBe('refused');
    const [wiped] = await rig.sql(
      'SELECT sealed, key_id FROM revealable_secrets WHERE order_id = $1',
      order.id,
    );
    expect(wiped).toEqual({ sealed: null, key_id: null });
    expect(await reveal(newerOrder.id), 'a newer secret').toBe('canary-auth');
  });

  test('whose key is missing is available again once the key is back', async () => {
    const order = await requestAuthCode();
    const vault = createVault([{ id: 'k2', key: Buffer.alloc(32, 8) }]);
    const { store } = rig;
    const outcomeWithoutKey = await revealSecret({ store, vault, now: () => rig.now }, order.id, 'U0ALICE');
    expect(outcomeWithoutKey).toMatchObject({
      kind: 'refused',
      refusal: { code: 'secret_key_missing' },
    });
    expect(await reveal(order.id)).toBe('canary-auth');
    expect(await reveal(order.id)).toBe('refused');
  });

  test('that couldn’t be shown can be revealed again within its hour', async () => {
    const order = await requestAuthCode();
    const outcome = await revealSecret(rig.orders, order.id, 'U0ALICE');
    if (outcome.kind !== 'revealed') throw new Error(refusalText(outcome.refusal));
    expect(await reveal(order.id)).toBe('refused');
    await outcome.restore();
    expect(await reveal(order.id)).toBe('canary-auth');
    rig.advanceClock(HOUR_MS);
    await outcome.restore();
    expect(await reveal(order.id)).toBe('refused');
  });

  test('can be a password that the service generated', async () => {
    rig.service.answer = async () => ({
      ...SUCCESS_ENVELOPE,
      messages: [{ code: 'MSG13004', objects: [{ type: 'password', value: 'canary-password' }] }],
    });
    const order = await rig.requestAccepted('user', {
      user: 'anna',
      context: 4,
      defaultEmail: 'anna@example.com',
    });
    await rig.runDue();
    expect(await reveal(order.id)).toBe('canary-password');
  });
});

describe('a late response', () => {
  /** Starts a renewal whose worker is given up while its requests are running. */
  const startAbandoned = async (...names: string[]) => {
    const responseGate = newGate();
    let getResponse: () => Promise<typeof SUCCESS_ENVELOPE> = async () => SUCCESS_ENVELOPE;
    rig.service.answer = async () => {
      await responseGate.opened;
      return getResponse();
    };
    const order = await rig.requestApprovedRenewal(...names);
    const execution = rig.main.execute(order.id);
    await waitUntil('the requests are sent', () => rig.service.received.length === names.length);
    rig.advanceClock(MINUTE_MS);
    await rig.recover();
    expect((await rig.read(order.id)).state).toBe('UNKNOWN');
    return {
      id: order.id,
      async respond(newResponse: () => Promise<typeof SUCCESS_ENVELOPE>) {
        getResponse = newResponse;
        responseGate.open();
        await execution;
        return rig.read(order.id);
      },
    };
  };
  const failBusy = async () => {
    throw newServiceError('busy', { retryAfterMs: 1_000, httpStatus: 429 });
  };
  const failRefused = async () => {
    throw newServiceError('refused', { code: 'EF01017', text: 'No' });
  };
  const renderLastReply = async (orderId: string) => {
    const order = await rig.read(orderId);
    const last = (await rig.store.loadHistory(orderId, 'system')).at(-1);
    return last === undefined ? '' : JSON.stringify(orderReply(order, last, ['U0BOB', 'S0LEADS']));
  };

  test.each([
    ['busy', failBusy, /busy/],
    ['refused', failRefused, /refused/],
  ])(
    'saying that it wasn’t carried out (%s) fails the order, which can be retried',
    async (_what, answer, expectedText) => {
      const order = await startAbandoned('late2.rest');
      const ended = await order.respond(answer);
      expect(ended).toMatchObject({ state: 'FAILED', items: [{ attempts: 1 }] });
      expect(renderResult(ended.items[0])).toMatch(expectedText);
      expect((await retryOrder(rig.orders, order.id, 'U0ALICE')).kind).toBe('accepted');
      expect(rig.service.received).toHaveLength(1);
    },
  );

  test.each(['SUCCEEDED', 'FAILED'] as const)(
    'that agrees with the settlement (%s) is stored and posted',
    async (outcome) => {
      const order = await startAbandoned('late3.rest');
      await resolveOrder(rig.orders, order.id, 'U0BOB', outcome, undefined);
      const ended = await order.respond(outcome === 'SUCCEEDED' ? async () => SUCCESS_ENVELOPE : failRefused);
      expect(ended).toMatchObject({
        state: outcome,
        items: [{ state: outcome, result: { resolvedBy: 'U0BOB', lateOutcome: outcome } }],
      });
      expect(await renderLastReply(order.id)).toMatch(/confirms the outcome that was entered/);
      expect((await rig.readDueTimes(order.id)).notifications, 'notifications').toBeInstanceOf(Date);
    },
  );

  test('with a success, after a settlement as failed, notifies approvers and removes Retry', async () => {
    const order = await startAbandoned('late4.rest');
    await resolveOrder(rig.orders, order.id, 'U0BOB', 'FAILED', 'not on the invoice');
    expect(JSON.stringify(renderCard(await rig.read(order.id), { approvers: [], now: rig.now }))).toContain(
      'order_retry',
    );
    const ended = await order.respond(async () => SUCCESS_ENVELOPE);
    expect(ended).toMatchObject({
      state: 'FAILED',
      items: [{ state: 'FAILED', result: { lateOutcome: 'SUCCEEDED' } }],
    });
    const text = await renderLastReply(order.id);
    expect(text).toMatch(/<@U0ALICE>, <@U0BOB>, <!subteam\^S0LEADS>.*contradicts/);
    expect(text).toMatch(/<@U0BOB> marked it as failed.*it was carried out.*S0100/);
    expect(JSON.stringify(renderCard(ended, { approvers: [], now: rig.now }))).not.toContain('order_retry');
    expect(await retryOrder(rig.orders, order.id, 'U0ALICE')).toMatchObject({
      kind: 'refused',
      refusal: { code: 'retry_already_done' },
    });
    expect(await rig.listHistory(order.id)).toContain('answered_late');
  });

  test('with a failure, after a settlement as done, notifies approvers', async () => {
    const order = await startAbandoned('late5.rest');
    await resolveOrder(rig.orders, order.id, 'U0BOB', 'SUCCEEDED', undefined);
    expect(await order.respond(failBusy)).toMatchObject({
      state: 'SUCCEEDED',
      items: [{ result: { lateOutcome: 'FAILED' } }],
    });
    expect(await renderLastReply(order.id)).toMatch(
      /<@U0BOB>.*contradicts.*marked it as done.*wasn’t carried out/,
    );
  });

  test('that leaves the outcome open changes nothing', async () => {
    const order = await startAbandoned('late8.rest');
    await resolveOrder(rig.orders, order.id, 'U0BOB', 'FAILED', undefined);
    const before = await rig.read(order.id);
    const after = await order.respond(async () => {
      throw newServiceError('unknown_outcome');
    });
    expect(after).toEqual(before);
  });

  test('has a secret that the requester can still reveal after a settlement as done', async () => {
    const responseGate = newGate();
    rig.service.answer = async () => {
      await responseGate.opened;
      return { ...SUCCESS_ENVELOPE, data: [{ authInfo: 'canary-auth' }] };
    };
    const order = await rig.requestAccepted('authcode', { name: 'late9.rest' });
    const execution = rig.main.execute(order.id);
    await waitUntil('the request is sent', () => rig.service.received.length === 1);
    rig.advanceClock(MINUTE_MS);
    await rig.recover();
    await resolveOrder(rig.orders, order.id, 'U0BOB', 'SUCCEEDED', undefined);
    responseGate.open();
    await execution;
    expect(await renderLastReply(order.id)).toContain('order_reveal');
    const outcome = await revealSecret(rig.orders, order.id, 'U0ALICE');
    expect(outcome.kind === 'revealed' ? outcome.secret.reveal() : outcome.refusal).toBe('canary-auth');
  });
});

describe('an idempotent task whose first request may have been carried out', () => {
  const requestInDoubt = async () => {
    const order = await rig.requestAccepted('nameservers', {
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
      if (tries === 1) throw newServiceError('unknown_outcome');
      throw newServiceError('refused', { code: 'EF01017', text: 'Locked' });
    };
  });

  test('is unknown, not failed, if the second request is refused', async () => {
    const order = await requestInDoubt();
    rig.advanceClock(MINUTE_MS);
    await rig.runDue();
    const ended = await rig.read(order.id);
    expect(ended.state).toBe('UNKNOWN');
    expect(ended.items[0]?.result).toMatchObject({ code: 'EF01017' });
    expect(renderResult(ended.items[0])).toMatch(/earlier request may have reached.*refused/);
  });

  test('is unknown, not failed, if it can’t be prepared again', async () => {
    const order = await requestInDoubt();
    rig.service.prepare = async () => {
      throw newServiceError('not_sent');
    };
    for (let tries = 0; tries < 6; tries += 1) {
      rig.advanceClock(MINUTE_MS);
      await rig.runDue();
    }
    expect(await rig.read(order.id)).toMatchObject({ state: 'UNKNOWN' });
    expect(rig.service.received).toHaveLength(1);
  });

  test('is done if the second request is done', async () => {
    const order = await requestInDoubt();
    rig.service.answer = async () => SUCCESS_ENVELOPE;
    rig.advanceClock(MINUTE_MS);
    await rig.runDue();
    expect(await rig.read(order.id)).toMatchObject({
      state: 'SUCCEEDED',
      items: [{ result: { summary: { code: 'done' } } }],
    });
  });
});
