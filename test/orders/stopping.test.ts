import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import type { Order } from '../../src/orders/order.ts';
import { stopOrder } from '../../src/orders/stop.ts';
import { Secret } from '../../src/service/secret.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { orderHistory, orderReply } from '../../src/slack/orders/thread.view.ts';
import { renderCard } from '../slack/orders/samples.ts';
import { HOUR_MS, MINUTE_MS, newGate, type Rig, startRig, waitUntil } from './rig.ts';
import { newServiceError, SUCCESS_ENVELOPE } from './scripted-service.ts';

/* An approved order can be stopped while names wait to be sent or retried. Stopped names aren't sent. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const newBusyError = () => newServiceError('busy', { retryAfterMs: 10 * MINUTE_MS, httpStatus: 429 });
/** Runs a renewal until its busy names wait after a 429 and its other names are done. */
const runBusyRenewal = async (
  names: readonly string[],
  busyNames: readonly string[] = names,
): Promise<Order> => {
  rig.service.answer = async ({ description }) => {
    if (busyNames.some((name) => JSON.stringify(description).includes(name))) throw newBusyError();
    return SUCCESS_ENVELOPE;
  };
  const order = await rig.requestApprovedRenewal(...names);
  await rig.runDue();
  rig.service.answer = async () => SUCCESS_ENVELOPE;
  return rig.read(order.id);
};
const stop = async (orderId: string, userId = 'U0ALICE') => {
  const outcome = await stopOrder(rig.orders, orderId, userId);
  return outcome.ok ? outcome.order.state : refusalText(outcome.refusal);
};
const renderCurrentCard = async (orderId: string) => {
  const history = await rig.store.loadHistory(orderId, 'system');
  return JSON.stringify(renderCard(await rig.read(orderId), { approvers: [], history, now: rig.now }));
};
const renderThread = async (orderId: string): Promise<string> => {
  const order = await rig.read(orderId);
  const replies = (await rig.store.loadHistory(orderId, 'system')).map((entry) =>
    orderReply(order, entry, [], rig.now),
  );
  return JSON.stringify(replies.filter((reply) => reply !== undefined));
};
/** Runs everything that can still be sent. */
const runRemaining = async () => {
  for (let turn = 0; turn < 3; turn += 1) {
    rig.advanceClock(HOUR_MS);
    await rig.recover();
    await rig.runDue();
  }
};

describe('an order that waits after a 429', () => {
  test('shows its next attempt, and is cancelled by Stop without further requests', async () => {
    const order = await runBusyRenewal(['busy.rest']);
    expect(order).toMatchObject({ state: 'APPROVED', items: [{ state: 'WAITING', attempts: 1 }] });
    const before = await renderCurrentCard(order.id);
    expect(before).toMatch(/Waiting to retry.*next attempt <!date\^1772356200\^.*The service is busy\./);
    expect(before).toContain('order_stop');

    expect(await stop(order.id)).toBe('CANCELLED');
    expect((await rig.readDueTimes(order.id)).notifications).toBeInstanceOf(Date);
    expect(await renderCurrentCard(order.id)).toMatch(
      /Stopped, nothing was carried out.*, stopped by <@U0ALICE>/,
    );
    expect(await renderCurrentCard(order.id)).not.toContain('order_stop');
    expect(await renderThread(order.id)).toMatch(/stopped by <@U0ALICE>.*nothing was carried out/);
    expect(await rig.listHistory(order.id)).toEqual([
      'requested by U0ALICE',
      'approved by U0BOB',
      'claimed',
      'sending',
      'retry_scheduled',
      'released',
      'stopped by U0ALICE',
    ]);
    const history = JSON.stringify(orderHistory(order, await rig.store.loadHistory(order.id, 'system')));
    expect(history).toMatch(/stopped: the rest won’t be sent by <@U0ALICE>/);
    await runRemaining();
    expect(rig.service.received).toHaveLength(1);
  });

  test('updates its card when it begins to wait', async () => {
    rig.setBeforeCommit(async ({ before, log }) => {
      if (log[0]?.kind === 'released') await rig.markShown(before.id);
    });
    const order = await runBusyRenewal(['busy.rest']);
    const [item] = (await rig.read(order.id)).items;
    expect(await rig.readDueTimes(order.id)).toEqual({ work: item?.notBefore, notifications: rig.now });
  });

  test('can also be stopped by approvers, but by nobody else', async () => {
    const order = await runBusyRenewal(['busy.rest']);
    expect(await stop(order.id, 'U0EVE')).toMatch(/Only the requester or an approver can stop/);
    expect(await rig.read(order.id)).toEqual(order);
    expect(await stop(order.id, 'U0DORA'), 'an approver through a group').toBe('CANCELLED');
    expect(await stop(order.id, 'U0BOB')).toMatch(/^Nothing is waiting to be sent: the order was canceled/);
  });

  test('wipes its sealed values when stopped', async () => {
    rig.service.answer = async () => {
      throw newBusyError();
    };
    const input = { user: 'anna', context: 4, defaultEmail: 'anna@example.com' };
    const order = await rig.requestAccepted('user', input, { secret: new Secret('canary') });
    await rig.runDue();
    expect(await rig.store.loadSealedInput(order.id)).toBeDefined();
    await stop(order.id);
    expect(await rig.store.loadSealedInput(order.id)).toBeUndefined();
  });
});

describe('an order of several names', () => {
  test('keeps done names when stopped, and waiting ones can be requested again at once', async () => {
    const order = await runBusyRenewal(['done.rest', 'busy.rest'], ['busy.rest']);
    expect(await stop(order.id, 'U0BOB')).toBe('FAILED');
    const ended = await rig.read(order.id);
    expect(ended.items).toMatchObject([
      { state: 'SUCCEEDED' },
      { state: 'FAILED', result: { stoppedBy: 'U0BOB' } },
    ]);
    expect(await renderThread(order.id)).toMatch(
      /busy\.rest\*: failed · Stopped by <@U0BOB> before it was sent again\./,
    );
    expect((await rig.request('renew', { names: ['busy.rest'], period: 1 })).kind).toBe('accepted');
    await runRemaining();
    expect(rig.service.received).toHaveLength(2);
  });

  /** Starts an order of six names. Four are being sent, and two wait. */
  const startSixNames = async () => {
    const answer = newGate();
    rig.service.answer = async () => {
      await answer.opened;
      return SUCCESS_ENVELOPE;
    };
    const names = ['a', 'b', 'c', 'd', 'e', 'f'].map((label) => `${label}.rest`);
    const order = await rig.requestApprovedRenewal(...names);
    const execution = rig.main.execute(order.id);
    await waitUntil('four requests are sent', () => rig.service.received.length === 4);
    return { id: order.id, answer, execution };
  };

  test('lets running requests finish when stopped, and saves their results', async () => {
    const { id, answer, execution } = await startSixNames();
    expect(await renderCurrentCard(id)).toContain('order_stop');
    expect(await stop(id)).toBe('EXECUTING');
    expect(await renderCurrentCard(id), 'card without names to stop').not.toContain('order_stop');
    expect(await renderThread(id)).toMatch(
      /stopped by <@U0ALICE>.*Not sent: \*e\.rest\*, \*f\.rest\*\. Requests already sent continue/,
    );
    expect(await stop(id)).toMatch(/being sent and can’t be stopped/);
    const newRequest = await rig.request('renew', { names: ['e.rest', 'f.rest'], period: 1 });
    expect(newRequest.kind, 'a new request while the others are being sent').toBe('accepted');
    expect((await rig.request('renew', { names: ['a.rest'], period: 1 })).kind).toBe('already_open');
    answer.open();
    await execution;
    expect(rig.service.received).toHaveLength(4);
    const ended = await rig.read(id);
    expect(ended.state).toBe('FAILED');
    expect(ended.items.map(({ state }) => state)).toEqual([
      ...['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED'],
      ...['FAILED', 'FAILED'],
    ]);
    expect(ended.items[5]?.result).toMatchObject({ stoppedBy: 'U0ALICE' });
    expect(await renderThread(id)).toMatch(/f\.rest\*: failed · Stopped by <@U0ALICE> before it was sent\./);
  });
});

test('a stopped order that may have been carried out is unknown, not cancelled', async () => {
  rig.service.answer = async () => {
    throw newServiceError('unknown_outcome');
  };
  const order = await rig.requestAccepted('nameservers', {
    name: 'doubt.rest',
    nameServers: ['ns1.a.rest', 'ns2.a.rest'],
  });
  await rig.runDue();
  expect(await rig.read(order.id)).toMatchObject({
    state: 'APPROVED',
    items: [{ result: { inDoubt: true } }],
  });
  expect(await stop(order.id)).toBe('UNKNOWN');
  expect(await renderCurrentCard(order.id)).toMatch(
    /earlier request may have reached.*Stopped by <@U0ALICE>/,
  );
  await runRemaining();
  expect(rig.service.received).toHaveLength(1);
});

describe('Stop', () => {
  test('is refused with a reason before the approval and after the end', async () => {
    const order = await rig.requestAccepted('renew', { names: ['early.rest'], period: 1 });
    expect(await stop(order.id)).toMatch(/isn’t approved yet.*can cancel/);
    expect(await renderCurrentCard(order.id)).not.toContain('order_stop');
    await approveOrder(rig.orders, order.id, 'U0BOB');
    await rig.runDue();
    expect(await stop(order.id)).toMatch(/^Nothing is waiting to be sent: the order is already done/);
    expect(await stop('nothing')).toMatch(/This order doesn’t exist/);
  });

  test('wins over a worker that is about to send, and nothing is sent', async () => {
    const order = await rig.requestApprovedRenewal('about.rest');
    const sendingReached = newGate();
    const sendingReleased = newGate();
    rig.setBeforeCommit(async ({ log }) => {
      if (log[0]?.kind !== 'sending') return;
      sendingReached.open();
      await sendingReleased.opened;
    });
    const execution = rig.main.execute(order.id);
    await sendingReached.opened;
    expect(await stop(order.id)).toBe('CANCELLED');
    sendingReleased.open();
    await execution;
    expect(rig.service.received).toEqual([]);
    expect(await rig.read(order.id)).toMatchObject({ state: 'CANCELLED', claim: undefined });
    await runRemaining();
    expect(rig.service.received).toEqual([]);
  });

  test('never both cancels and sends the order when a worker sends it concurrently', async () => {
    const delay = async <T>(steps: number, act: () => Promise<T>): Promise<T> => {
      for (let turns = 0; turns < steps * 20; turns += 1) await new Promise(setImmediate);
      return act();
    };
    const counts = { sent: 0, cancelled: 0 };
    for (let run = 0; run < 15; run += 1) {
      const order = await rig.requestApprovedRenewal(`race${run}.rest`);
      // Each run stops a little later, to hit each step of the worker.
      const [, result] = await Promise.all([
        delay(7 - run, () => rig.main.execute(order.id)),
        delay(run - 7, () => stop(order.id)),
      ]);
      const { state } = await rig.read(order.id);
      expect(rig.service.countSent(order.id), result).toBe(state === 'CANCELLED' ? 0 : 1);
      expect(['CANCELLED', 'SUCCEEDED']).toContain(state);
      expect(result).toMatch(state === 'CANCELLED' ? /^CANCELLED$/ : /being sent|already done/);
      if (state === 'CANCELLED') counts.cancelled += 1;
      else counts.sent += 1;
    }
    expect(counts.sent + counts.cancelled).toBe(15);
  });
});

test('every committed change advances the order as committed, but a refused one doesn’t', async () => {
  const order = await rig.requestAccepted('renew', { names: ['cafe.rest'], period: 1 });
  expect(rig.advanced).toEqual([order]);
  await approveOrder(rig.orders, order.id, 'U0BOB');
  await rig.main.execute(order.id);
  const states = rig.advanced.map(({ state, version }) => [state, version]);
  expect(states.at(-1)).toEqual(['SUCCEEDED', (await rig.read(order.id)).version]);
  expect(states.map(([, version]) => version)).toEqual(
    states.map((_, index) => Number(order.version) + index),
  );
  expect((await stopOrder(rig.orders, order.id, 'U0ALICE')).ok).toBe(false);
  expect(rig.advanced).toHaveLength(states.length);
});
