import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import { cancelOrder } from '../../src/approvals/pending.ts';
import type { ChangeOutcome } from '../../src/orders/change-order.ts';
import type { Order } from '../../src/orders/order.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { retryOrder } from '../../src/orders/retry-button.ts';
import { Secret } from '../../src/service/secret.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { orderReply } from '../../src/slack/orders/thread.view.ts';
import { renderCard } from '../slack/orders/samples.ts';
import { newOrderEvent } from '../support/log.ts';
import { ALICE, HOUR_MS, MINUTE_MS, newGate, type Rig, requireAccepted, startRig, waitUntil } from './rig.ts';
import { renderResult } from './sample.ts';
import { newServiceError, SUCCESS_ENVELOPE } from './scripted-service.ts';

/*
 * Retrying a failed order: its requester, account and approvers. A retry isn't sent if the original turns out to have
 * been done.
 */

const DAY_MS = 24 * HOUR_MS;

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const requestFailedRenewal = async (...names: string[]): Promise<Order> => {
  rig.service.answer = async () => {
    throw newServiceError('refused', { code: 'EF1' });
  };
  const order = await rig.requestApprovedRenewal(...names);
  await rig.runDue();
  rig.service.answer = async () => SUCCESS_ENVELOPE;
  rig.service.received.length = 0;
  return rig.read(order.id);
};
const retry = async (orderId: string, userId = 'U0ALICE') =>
  requireAccepted(await retryOrder(rig.orders, orderId, userId));
const renderRefusal = (outcome: ChangeOutcome) => (outcome.ok ? 'it was done' : refusalText(outcome.refusal));
/** The texts of an order's thread. */
const renderThread = async (orderId: string): Promise<string> => {
  const order = await rig.read(orderId);
  const history = await rig.store.loadHistory(orderId, 'system');
  const replies = history.map((entry) => orderReply(order, entry, ['U0BOB'], rig.now));
  return JSON.stringify(replies.filter((reply) => reply !== undefined));
};

describe('a failed order that may have been done', () => {
  /** Starts a renewal that is given up and settled as failed while its requests are running. */
  const startAbandoned = async (...names: string[]) => {
    const responseGate = newGate();
    rig.service.answer = async () => {
      await responseGate.opened;
      return SUCCESS_ENVELOPE;
    };
    rig.service.received.length = 0;
    const order = await rig.requestApprovedRenewal(...names);
    const execution = rig.main.execute(order.id);
    await waitUntil('the requests are sent', () => rig.service.received.length === names.length);
    rig.advanceClock(MINUTE_MS);
    await rig.recover();
    await resolveOrder(rig.orders, order.id, 'U0BOB', 'FAILED', undefined);
    rig.service.received.length = 0;
    return {
      id: order.id,
      async respond() {
        responseGate.open();
        await execution;
      },
    };
  };

  test('stops its retry at the approval, and the retry’s thread says so', async () => {
    const first = await startAbandoned('late.rest');
    const second = await retry(first.id);
    await first.respond();
    const outcome = await approveOrder(rig.orders, second.id, 'U0BOB');
    expect(outcome).toMatchObject({ ok: true, order: { state: 'FAILED' } });
    await rig.runDue();
    expect(rig.service.received, 'requests of the retry').toEqual([]);
    const ended = await rig.read(second.id);
    expect(ended.items[0]?.result).toMatchObject({
      summary: { code: 'earlier_order', orderId: first.id, outcome: 'done' },
      doneByOrderId: first.id,
    });
    expect(await renderThread(second.id)).toContain('was carried out after all');
    expect(JSON.stringify(renderCard(ended, { approvers: [], now: rig.now }))).not.toContain('order_retry');
    expect(await retryOrder(rig.orders, second.id, 'U0ALICE')).toMatchObject({
      kind: 'refused',
      refusal: { code: 'retry_already_done' },
    });
  });

  test('can’t be retried while its outcome is unknown', async () => {
    const failed = await requestFailedRenewal('silent.rest');
    await rig.sql(
      `UPDATE order_items SET result = result || '{"lateOutcome": "UNKNOWN"}' WHERE order_id = $1`,
      failed.id,
    );
    expect(await retryOrder(rig.orders, failed.id, 'U0ALICE')).toMatchObject({
      kind: 'refused',
      refusal: { code: 'retry_outcome_unknown' },
    });
  });

  test('stops its approved retry before it is sent', async () => {
    const first = await startAbandoned('later.rest');
    const second = await retry(first.id);
    await approveOrder(rig.orders, second.id, 'U0BOB');
    await first.respond();
    await rig.runDue();
    expect(rig.service.received, 'requests of the retry').toEqual([]);
    expect(await rig.read(second.id)).toMatchObject({
      state: 'FAILED',
      items: [{ state: 'FAILED', sentAt: undefined, result: { doneByOrderId: first.id } }],
    });
    expect(await rig.listHistory(second.id)).not.toContain('sending');
  });

  test('stops only the done names in its retry', async () => {
    const first = await startAbandoned('one.rest', 'two.rest', 'three.rest');
    const second = await retry(first.id);
    await rig.sql(
      `UPDATE order_items SET result = result || '{"lateOutcome": "SUCCEEDED"}' WHERE order_id = $1 AND n = 2`,
      first.id,
    );
    rig.service.answer = async () => SUCCESS_ENVELOPE;
    const outcome = await approveOrder(rig.orders, second.id, 'U0BOB');
    expect(outcome, 'approval of the other names').toMatchObject({
      ok: true,
      order: { state: 'APPROVED' },
    });
    await rig.runDue();
    const ended = await rig.read(second.id);
    expect(ended.state).toBe('FAILED');
    expect(ended.items.map(({ state }) => state)).toEqual(['SUCCEEDED', 'FAILED', 'SUCCEEDED']);
    expect(rig.service.received.map(({ ctid }) => ctid).sort()).toEqual([`${second.id}.1`, `${second.id}.3`]);
    expect(await renderThread(second.id)).toMatch(/was carried out after all.*Not sent: \*two\.rest\*/);
  });

  test('stops a retry of its retry', async () => {
    const first = await startAbandoned('chain.rest');
    const second = await retry(first.id);
    rig.service.answer = async () => {
      throw newServiceError('refused', { code: 'EF1' });
    };
    await approveOrder(rig.orders, second.id, 'U0BOB');
    await rig.runDue();
    const third = await retry(second.id);
    rig.service.received.length = 0;
    await rig.sql(
      `UPDATE order_items SET result = result || '{"lateOutcome": "SUCCEEDED"}' WHERE order_id = $1`,
      first.id,
    );
    await approveOrder(rig.orders, third.id, 'U0BOB');
    await rig.runDue();
    expect(rig.service.received).toEqual([]);
    expect(await rig.read(third.id)).toMatchObject({
      state: 'FAILED',
      items: [{ result: { doneByOrderId: first.id } }],
    });
  });

  test('keeps its done names out of a retry of its retry', async () => {
    const first = await startAbandoned('known.rest', 'open.rest');
    const second = await retry(first.id);
    rig.service.answer = async () => {
      throw newServiceError('refused', { code: 'EF1' });
    };
    await approveOrder(rig.orders, second.id, 'U0BOB');
    await rig.runDue();
    await rig.sql(
      `UPDATE order_items SET result = result || '{"lateOutcome": "SUCCEEDED"}' WHERE order_id = $1 AND n = 1`,
      first.id,
    );
    expect((await retry(second.id)).items.map(({ name }) => name)).toEqual(['open.rest']);
  });

  test.each(['UNKNOWN', 'SENT'])('blocks its retry while it is %s again', async (state) => {
    const failed = await requestFailedRenewal('again.rest');
    const pendingRetry = await retry(failed.id);
    const setItemState = (to: string) =>
      rig.sql('UPDATE order_items SET state = $2 WHERE order_id = $1', failed.id, to);
    await setItemState(state);
    const refused = await approveOrder(rig.orders, pendingRetry.id, 'U0BOB');
    expect(renderRefusal(refused)).toMatch(
      new RegExp(`order \`${failed.id}\`.*is unknown.*Mark that order as done or failed first`),
    );
    expect(await rig.read(pendingRetry.id), 'the retry').toMatchObject({
      state: 'PENDING',
      approvals: [],
    });
    await setItemState('FAILED');
    await approveOrder(rig.orders, pendingRetry.id, 'U0BOB');
    await setItemState(state);
    await rig.runDue();
    expect(rig.service.received).toEqual([]);
    const stopped = await rig.read(pendingRetry.id);
    expect(stopped.state).toBe('FAILED');
    expect(renderResult(stopped.items[0])).toMatch(/is unknown/);
    await setItemState('FAILED');
    expect((await retryOrder(rig.orders, pendingRetry.id, 'U0ALICE')).kind, 'a new retry').toBe('accepted');
  });

  test('never lets a concurrent retry be sent after its response is saved', async () => {
    const counts = { sent: 0, stopped: 0 };
    for (let run = 0; run < 10; run += 1) {
      const first = await startAbandoned(`race${run}.rest`);
      const second = await retry(first.id);
      await approveOrder(rig.orders, second.id, 'U0BOB');
      await Promise.all([first.respond(), rig.main.execute(second.id)]);
      const events = await rig.sql(
        `SELECT kind, subject_id AS order_id FROM events WHERE kind IN ('sending', 'answered_late') AND subject_id IN ($1, $2)
         ORDER BY seq`,
        first.id,
        second.id,
      );
      const sendingIndex = events.findIndex(
        ({ kind, order_id }) => kind === 'sending' && order_id === second.id,
      );
      const responseIndex = events.findIndex(({ kind }) => kind === 'answered_late');
      expect(responseIndex, 'the late response is saved').toBeGreaterThan(0);
      expect(rig.service.received.length, 'requests of the retry').toBe(sendingIndex === -1 ? 0 : 1);
      if (sendingIndex === -1) counts.stopped += 1;
      else counts.sent += 1;
      expect(sendingIndex, 'the request comes before the saved response').toBeLessThan(responseIndex);
    }
    expect(counts.sent + counts.stopped).toBe(10);
  });
});

describe('a retry', () => {
  const setApprovers = (...ids: string[]) => rig.setTeam({ approvers: ids });

  test('is requested by the retrying person with the first account, and neither can approve it', async () => {
    setApprovers('U0ALICE', 'U0BOB', 'U0CAROL');
    const failed = await requestFailedRenewal('mine.rest');
    const second = await retry(failed.id, 'U0BOB');
    expect(second).toMatchObject({
      requesterId: 'U0BOB',
      earlierRequesters: ['U0ALICE'],
      account: { id: ALICE.id },
      retryOf: failed.id,
    });
    const [requested] = await rig.store.loadHistory(second.id, 'system');
    expect(requested).toMatchObject({
      actor: 'U0BOB',
      retryOf: failed.id,
      accountOwner: 'U0ALICE',
    });
    for (const userId of ['U0BOB', 'U0ALICE']) {
      expect(renderRefusal(await approveOrder(rig.orders, second.id, userId)), userId).toMatch(
        /someone else/,
      );
    }
    expect((await rig.read(second.id)).state).toBe('PENDING');
    expect((await approveOrder(rig.orders, second.id, 'U0CAROL')).ok).toBe(true);
    await rig.runDue();
    expect(await rig.read(second.id)).toMatchObject({ state: 'SUCCEEDED' });
  });

  test('of a retry keeps all earlier requesters and the first account', async () => {
    setApprovers('U0ALICE', 'U0BOB', 'U0CAROL', 'U0DAVE');
    const first = await requestFailedRenewal('thrice.rest');
    const second = await retry(first.id, 'U0BOB');
    rig.service.answer = async () => {
      throw newServiceError('refused', { code: 'EF1' });
    };
    await approveOrder(rig.orders, second.id, 'U0CAROL');
    await rig.runDue();
    rig.service.answer = async () => SUCCESS_ENVELOPE;
    const third = await retry(second.id, 'U0CAROL');
    expect(third).toMatchObject({
      requesterId: 'U0CAROL',
      earlierRequesters: ['U0ALICE', 'U0BOB'],
      account: { id: ALICE.id },
    });
    for (const userId of ['U0ALICE', 'U0BOB', 'U0CAROL']) {
      expect((await approveOrder(rig.orders, third.id, userId)).ok, userId).toBe(false);
    }
    expect(await renderThread(third.id)).toMatch(/<@U0ALICE>: \*Renew .*<@U0CAROL> retried the failed order/);
    expect((await approveOrder(rig.orders, third.id, 'U0DAVE')).ok).toBe(true);
  });

  test('can only be cancelled by the person who retried', async () => {
    const failed = await requestFailedRenewal('cancel.rest');
    const second = await retry(failed.id, 'U0BOB');
    expect((await cancelOrder(rig.orders, second.id, 'U0ALICE')).ok).toBe(false);
    expect((await cancelOrder(rig.orders, second.id, 'U0BOB')).ok).toBe(true);
  });

  test('notifies the account’s owner, and its card names both people', async () => {
    const failed = await requestFailedRenewal('told.rest');
    const second = await retry(failed.id, 'U0BOB');
    expect(await renderThread(second.id)).toMatch(
      /<@U0ALICE>: \*Renew told\.rest.*<@U0BOB> retried the failed order .* with your account `alice in context 4`/,
    );
    const card = JSON.stringify(renderCard(second, { approvers: ['U0CAROL'] }));
    expect(card).toMatch(/Requested by <@U0BOB>/);
    expect(card).toMatch(/Uses <@U0ALICE>’s account.*alice\/4/);
    const own = await requestFailedRenewal('own.rest');
    expect(await renderThread((await retry(own.id)).id), 'thread of the owner’s own retry').toBe('[]');
  });

  test('is offered for seven days after the order ended', async () => {
    const failed = await requestFailedRenewal('week.rest');
    const renderFailedCard = () => JSON.stringify(renderCard(failed, { approvers: [], now: rig.now }));
    rig.advanceClock(7 * DAY_MS);
    expect(renderFailedCard()).toContain('order_retry');
    rig.advanceClock(1);
    expect(renderFailedCard()).not.toContain('order_retry');
    const reply = orderReply(failed, newOrderEvent('finished', 'FAILED'), [], rig.now);
    expect(JSON.stringify(reply)).not.toContain('order_retry');
    expect(await retryOrder(rig.orders, failed.id, 'U0ALICE')).toMatchObject({
      kind: 'refused',
      refusal: { code: 'retry_expired', days: 7 },
    });
    expect(
      (await rig.readDueTimes(failed.id)).notifications,
      'card update without the button',
    ).toBeInstanceOf(Date);
    expect(await rig.sql('SELECT id FROM orders')).toHaveLength(1);
  });

  test('of an order with a secret is only possible for the account’s owner', async () => {
    rig.service.answer = async () => {
      throw newServiceError('refused');
    };
    const authCodeOrder = await rig.requestAccepted('authcode', { name: 'secret.rest' });
    const userOrder = await rig.requestAccepted(
      'user',
      { user: 'anna', context: 4, defaultEmail: 'anna@example.com' },
      { secret: new Secret('canary') },
    );
    await rig.runDue();
    for (const { id } of [authCodeOrder, userOrder]) {
      const refused = await retryOrder(rig.orders, id, 'U0BOB');
      expect(refused).toMatchObject({
        kind: 'refused',
        refusal: { code: expect.stringMatching(/^secret_/), ownerId: 'U0ALICE' },
      });
    }
    expect((await retryOrder(rig.orders, authCodeOrder.id, 'U0ALICE')).kind).toBe('accepted');
  });

  test('with the secret typed again creates one new order', async () => {
    rig.service.answer = async () => {
      throw newServiceError('refused');
    };
    const input = { user: 'anna', context: 4, defaultEmail: 'anna@example.com' };
    const order = await rig.requestAccepted('user', input, { secret: new Secret('first') });
    await rig.runDue();
    expect(await retryOrder(rig.orders, order.id, 'U0ALICE')).toMatchObject({ kind: 'needs_secret' });
    const submission = { input, secret: new Secret('second'), reason: undefined, account: ALICE };
    const second = requireAccepted(
      await retryOrder(rig.orders, order.id, 'U0ALICE', { ...submission, deliveryId: 'view:1' }),
    );
    expect(second).toMatchObject({
      retryOf: order.id,
      secretHash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    });
    await rig.runDue();
    expect((await rig.read(second.id)).state).toBe('FAILED');
    const repeated = await retryOrder(rig.orders, order.id, 'U0ALICE', {
      ...submission,
      deliveryId: 'view:2',
    });
    expect(requireAccepted(repeated).id, 'the second retry').toBe(second.id);
    const other = { ...submission, input: { ...input, user: 'otto' }, deliveryId: 'view:3' };
    const another = requireAccepted(await retryOrder(rig.orders, order.id, 'U0ALICE', other));
    expect(another.retryOf, 'an order for another user').toBeUndefined();
    expect(
      await retryOrder(rig.orders, order.id, 'U0BOB', { ...submission, deliveryId: 'view:4' }),
    ).toMatchObject({
      kind: 'refused',
    });
  });
});
