import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import { denyOrder } from '../../src/approvals/deny.ts';
import { cancelOrder } from '../../src/approvals/pending.ts';
import { gate, HOUR_MS, MINUTE_MS, type Rig, startRig, until } from './rig.ts';
import { DONE, fails } from './scripted-service.ts';

/* The machine's clock is set back by hours, jumps ahead by a day, or differs from the database's. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

describe('set back by six hours', () => {
  test('a dead worker’s order is taken over anyway', async () => {
    const never = gate();
    rig.service.answer = async () => {
      await never.opened;
      return DONE;
    };
    const order = await rig.approvedRenewal('dead.rest');
    const dead = rig.startProcess();
    const execution = dead.execute(order.id);
    await until('its request is out', () => rig.service.received.length === 1);
    rig.pass(-6 * HOUR_MS);
    await rig.recover();
    expect(await rig.read(order.id)).toMatchObject({ state: 'UNKNOWN', items: [{ state: 'UNKNOWN' }] });
    never.open();
    await execution;
    expect(await rig.read(order.id), 'after its late answer').toMatchObject({ state: 'SUCCEEDED' });
    expect(rig.service.received).toHaveLength(1);
  });

  test('a current lease is respected', async () => {
    const open = gate();
    rig.service.answer = async () => {
      await open.opened;
      return DONE;
    };
    const order = await rig.approvedRenewal('alive.rest');
    const execution = rig.main.execute(order.id);
    await until('its request is out', () => rig.service.received.length === 1);
    rig.pass(-MINUTE_MS);
    await rig.recover();
    expect((await rig.read(order.id)).state).toBe('EXECUTING');
    open.open();
    await execution;
    expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
  });

  test('an order that waits for a busy service doesn’t wait six hours more', async () => {
    let tries = 0;
    rig.service.answer = async () => {
      tries += 1;
      if (tries === 1) throw fails('busy', { retryAfterMs: 10 * MINUTE_MS });
      return DONE;
    };
    const order = await rig.approvedRenewal('busy.rest');
    await rig.runDue();
    expect((await rig.read(order.id)).state).toBe('APPROVED');
    rig.pass(-6 * HOUR_MS);
    await rig.recover();
    await rig.runDue();
    expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
    expect(rig.service.received).toHaveLength(2);
  });

  test('an approved order whose job was lost is claimed', async () => {
    const order = await rig.approvedRenewal('lost.rest');
    rig.pass(-6 * HOUR_MS);
    await rig.recover();
    await rig.runDue();
    expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
  });

  test('a pending order can still be approved, denied or cancelled', async () => {
    const [first, second, third] = [
      await rig.ask('renew', { names: ['one.rest'], period: 1 }),
      await rig.ask('renew', { names: ['two.rest'], period: 1 }),
      await rig.ask('renew', { names: ['three.rest'], period: 1 }),
    ];
    rig.pass(-6 * HOUR_MS);
    await rig.recover();
    expect((await approveOrder(rig.orders, first.id, 'U0BOB')).ok).toBe(true);
    expect((await denyOrder(rig.orders, second.id, 'U0BOB', undefined)).ok).toBe(true);
    expect((await cancelOrder(rig.orders, third.id, 'U0ALICE')).ok).toBe(true);
    await rig.runDue();
    expect((await rig.read(first.id)).state).toBe('SUCCEEDED');
  });
});

describe('ahead by a day', () => {
  test('a running request isn’t sent again, and its response counts', async () => {
    const open = gate();
    rig.service.answer = async () => {
      await open.opened;
      return DONE;
    };
    const order = await rig.approvedRenewal('ahead.rest');
    const execution = rig.main.execute(order.id);
    await until('its request is out', () => rig.service.received.length === 1);
    rig.pass(24 * HOUR_MS);
    await rig.recover();
    await rig.runDue();
    expect((await rig.read(order.id)).state, 'nobody knows').toBe('UNKNOWN');
    open.open();
    await execution;
    expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
    expect(rig.service.received).toHaveLength(1);
  });

  test('a worker that hadn’t sent yet sends nothing after another one has claimed the order', async () => {
    const open = gate();
    let isFirst = true;
    rig.service.prepare = async () => {
      if (!isFirst) return;
      isFirst = false;
      await open.opened;
    };
    const order = await rig.approvedRenewal('slow.rest');
    const slow = rig.startProcess().execute(order.id);
    await until('it prepares its request', () => !isFirst);
    rig.pass(24 * HOUR_MS);
    await rig.recover();
    await rig.startProcess().execute(order.id);
    open.open();
    await slow;
    expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
    expect(rig.service.received).toHaveLength(1);
  });

  test('approvers are reminded once, even if the clock is corrected again', async () => {
    const order = await rig.ask('renew', { names: ['nudge.rest'], period: 1 });
    rig.pass(24 * HOUR_MS);
    await rig.recover();
    rig.pass(-24 * HOUR_MS);
    await rig.recover();
    rig.pass(24 * HOUR_MS);
    await rig.recover();
    expect((await rig.story(order.id)).filter((kind) => kind === 'reminded')).toHaveLength(1);
    expect((await rig.read(order.id)).state).toBe('PENDING');
  });
});

describe('an order claimed before its time', () => {
  const heldBack = async (waitMs: number) => {
    let tries = 0;
    rig.service.answer = async () => {
      tries += 1;
      if (tries === 1) throw fails('busy', { retryAfterMs: waitMs });
      return DONE;
    };
    const order = await rig.approvedRenewal('early.rest');
    await rig.runDue();
    return order;
  };

  test('by minutes: nothing happens, and nothing is written, until it is time', async () => {
    const order = await heldBack(5 * MINUTE_MS);
    const before = await rig.story(order.id);
    for (let tries = 0; tries < 5; tries += 1) await rig.main.execute(order.id);
    expect(await rig.story(order.id)).toEqual(before);
    rig.pass(6 * MINUTE_MS);
    await rig.recover();
    await rig.runDue();
    expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
  });
});
