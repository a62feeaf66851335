import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import type { Order } from '../../src/orders/order.ts';
import { stopOrder } from '../../src/orders/stop.ts';
import { Secret } from '../../src/service/secret.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { orderHistory, orderReply } from '../../src/slack/orders/thread.view.ts';
import { cardOf } from '../slack/orders/samples.ts';
import { gate, HOUR_MS, MINUTE_MS, type Rig, startRig, until } from './rig.ts';
import { DONE, fails } from './scripted-service.ts';

/* An approved order can be stopped while names wait to be sent or retried: they aren't sent then. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const busy = () => fails('busy', { retryAfterMs: 10 * MINUTE_MS, httpStatus: 429 });
/** A renewal with these names waiting after a 429, and the others done. */
const waiting = async (names: readonly string[], busyNames: readonly string[] = names): Promise<Order> => {
  rig.service.answer = async ({ description }) => {
    if (busyNames.some((name) => JSON.stringify(description).includes(name))) throw busy();
    return DONE;
  };
  const order = await rig.approvedRenewal(...names);
  await rig.runDue();
  rig.service.answer = async () => DONE;
  return rig.read(order.id);
};
const stop = async (orderId: string, userId = 'U0ALICE') => {
  const outcome = await stopOrder(rig.orders, orderId, userId);
  return outcome.ok ? outcome.order.state : refusalText(outcome.refusal);
};
const card = async (orderId: string) => {
  const history = await rig.store.loadHistory(orderId, 'system');
  return JSON.stringify(cardOf(await rig.read(orderId), { approvers: [], history, now: rig.now }));
};
const thread = async (orderId: string): Promise<string> => {
  const order = await rig.read(orderId);
  const replies = (await rig.store.loadHistory(orderId, 'system')).map((entry) =>
    orderReply(order, entry, [], rig.now),
  );
  return JSON.stringify(replies.filter((reply) => reply !== undefined));
};
/** Sends everything that can still be sent. */
const goOn = async () => {
  for (let turn = 0; turn < 3; turn += 1) {
    rig.pass(HOUR_MS);
    await rig.recover();
    await rig.runDue();
  }
};

describe('an order that waits after a 429', () => {
  test('says until when, and is cancelled by Stop: no more requests', async () => {
    const order = await waiting(['busy.rest']);
    expect(order).toMatchObject({ state: 'APPROVED', items: [{ state: 'WAITING', attempts: 1 }] });
    const before = await card(order.id);
    expect(before).toMatch(/Waiting to retry.*next attempt <!date\^1772356200\^.*The service is busy\./);
    expect(before).toContain('order_stop');

    expect(await stop(order.id)).toBe('CANCELLED');
    expect((await rig.due(order.id)).notifications).toBeInstanceOf(Date);
    expect(await card(order.id)).toMatch(/Stopped, nothing was carried out.*, stopped by <@U0ALICE>/);
    expect(await card(order.id)).not.toContain('order_stop');
    expect(await thread(order.id)).toMatch(/stopped by <@U0ALICE>.*nothing was carried out/);
    expect(await rig.story(order.id)).toEqual([
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
    await goOn();
    expect(rig.service.received).toHaveLength(1);
  });

  test('updates its card when it begins to wait', async () => {
    rig.setBeforeCommit(async ({ before, log }) => {
      if (log[0]?.kind === 'released') await rig.tell(before.id);
    });
    const order = await waiting(['busy.rest']);
    const [item] = (await rig.read(order.id)).items;
    expect(await rig.due(order.id)).toEqual({ work: item?.notBefore, notifications: rig.now });
  });

  test('is stopped by approvers too, and by nobody else', async () => {
    const order = await waiting(['busy.rest']);
    expect(await stop(order.id, 'U0EVE')).toMatch(/Only the requester or an approver can stop/);
    expect(await rig.read(order.id)).toEqual(order);
    expect(await stop(order.id, 'U0DORA'), 'an approver by her group').toBe('CANCELLED');
    expect(await stop(order.id, 'U0BOB')).toMatch(/^Nothing is waiting to be sent: the order was canceled/);
  });

  test('wipes its sealed values', async () => {
    rig.service.answer = async () => {
      throw busy();
    };
    const input = { user: 'anna', context: 4, defaultEmail: 'anna@example.com' };
    const order = await rig.ask('user', input, { secret: new Secret('canary') });
    await rig.runDue();
    expect(await rig.store.loadSealedInput(order.id)).toBeDefined();
    await stop(order.id);
    expect(await rig.store.loadSealedInput(order.id)).toBeUndefined();
  });
});

describe('of several names', () => {
  test('a done one stays, a waiting one is stopped, and can be requested at once', async () => {
    const order = await waiting(['done.rest', 'busy.rest'], ['busy.rest']);
    expect(await stop(order.id, 'U0BOB')).toBe('FAILED');
    const ended = await rig.read(order.id);
    expect(ended.items).toMatchObject([
      { state: 'SUCCEEDED' },
      { state: 'FAILED', result: { stoppedBy: 'U0BOB' } },
    ]);
    expect(await thread(order.id)).toMatch(
      /busy\.rest\*: failed · Stopped by <@U0BOB> before it was sent again\./,
    );
    expect((await rig.request('renew', { names: ['busy.rest'], period: 1 })).kind).toBe('accepted');
    await goOn();
    expect(rig.service.received).toHaveLength(2);
  });

  /** Six names: four are being sent, the others wait for their turn. */
  const underWay = async () => {
    const answer = gate();
    rig.service.answer = async () => {
      await answer.opened;
      return DONE;
    };
    const names = ['a', 'b', 'c', 'd', 'e', 'f'].map((label) => `${label}.rest`);
    const order = await rig.approvedRenewal(...names);
    const execution = rig.main.execute(order.id);
    await until('four are out', () => rig.service.received.length === 4);
    return { id: order.id, answer, execution };
  };

  test('those being sent continue, and their results are saved', async () => {
    const { id, answer, execution } = await underWay();
    expect(await card(id)).toContain('order_stop');
    expect(await stop(id)).toBe('EXECUTING');
    expect(await card(id), 'nothing is left to stop').not.toContain('order_stop');
    expect(await thread(id)).toMatch(
      /stopped by <@U0ALICE>.*Not sent: \*e\.rest\*, \*f\.rest\*\. Requests already sent continue/,
    );
    expect(await stop(id)).toMatch(/being sent and can’t be stopped/);
    const again = await rig.request('renew', { names: ['e.rest', 'f.rest'], period: 1 });
    expect(again.kind, 'while the others are under way').toBe('accepted');
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
    expect(await thread(id)).toMatch(/f\.rest\*: failed · Stopped by <@U0ALICE> before it was sent\./);
  });
});

test('one that may have been carried out before is unknown, and not cancelled', async () => {
  rig.service.answer = async () => {
    throw fails('unknown_outcome');
  };
  const order = await rig.ask('nameservers', {
    name: 'doubt.rest',
    nameServers: ['ns1.a.rest', 'ns2.a.rest'],
  });
  await rig.runDue();
  expect(await rig.read(order.id)).toMatchObject({
    state: 'APPROVED',
    items: [{ result: { inDoubt: true } }],
  });
  expect(await stop(order.id)).toBe('UNKNOWN');
  expect(await card(order.id)).toMatch(/earlier request may have reached.*Stopped by <@U0ALICE>/);
  await goOn();
  expect(rig.service.received).toHaveLength(1);
});

describe('Stop', () => {
  test('is refused with a reason before the approval and after the end', async () => {
    const order = await rig.ask('renew', { names: ['early.rest'], period: 1 });
    expect(await stop(order.id)).toMatch(/isn’t approved yet.*can cancel/);
    expect(await card(order.id)).not.toContain('order_stop');
    await approveOrder(rig.orders, order.id, 'U0BOB');
    await rig.runDue();
    expect(await stop(order.id)).toMatch(/^Nothing is waiting to be sent: the order is already done/);
    expect(await stop('nothing')).toMatch(/This order doesn’t exist/);
  });

  test('wins over a worker that is about to send: its commit is refused, and nothing is sent', async () => {
    const order = await rig.approvedRenewal('about.rest');
    const reached = gate();
    const goes = gate();
    rig.setBeforeCommit(async ({ log }) => {
      if (log[0]?.kind !== 'sending') return;
      reached.open();
      await goes.opened;
    });
    const execution = rig.main.execute(order.id);
    await reached.opened;
    expect(await stop(order.id)).toBe('CANCELLED');
    goes.open();
    await execution;
    expect(rig.service.received).toEqual([]);
    expect(await rig.read(order.id)).toMatchObject({ state: 'CANCELLED', claim: undefined });
    await goOn();
    expect(rig.service.received).toEqual([]);
  });

  test('at the same time as the send: either sent or cancelled, never both', async () => {
    const later = async <T>(steps: number, act: () => Promise<T>): Promise<T> => {
      for (let turns = 0; turns < steps * 20; turns += 1) await new Promise(setImmediate);
      return act();
    };
    const seen = { sent: 0, cancelled: 0 };
    for (let run = 0; run < 15; run += 1) {
      const order = await rig.approvedRenewal(`race${run}.rest`);
      // A little later each time, so that it hits each step of the worker.
      const [, said] = await Promise.all([
        later(7 - run, () => rig.main.execute(order.id)),
        later(run - 7, () => stop(order.id)),
      ]);
      const { state } = await rig.read(order.id);
      expect(rig.service.timesSent(order.id), said).toBe(state === 'CANCELLED' ? 0 : 1);
      expect(['CANCELLED', 'SUCCEEDED']).toContain(state);
      expect(said).toMatch(state === 'CANCELLED' ? /^CANCELLED$/ : /being sent|already done/);
      if (state === 'CANCELLED') seen.cancelled += 1;
      else seen.sent += 1;
    }
    expect(seen.sent + seen.cancelled).toBe(15);
  });
});

test('every committed change advances the order as committed, and a refused one does not', async () => {
  const order = await rig.ask('renew', { names: ['cafe.rest'], period: 1 });
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
