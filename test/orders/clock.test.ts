import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { gate, HOUR_MS, type Rig, startRig, until } from './rig.ts';
import { DONE } from './scripted-service.ts';

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
});
