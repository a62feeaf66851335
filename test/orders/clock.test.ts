import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HOUR_MS, newGate, type Rig, startRig, waitUntil } from './rig.ts';
import { SUCCESS_ENVELOPE } from './scripted-service.ts';

/* The machine's clock is set back by hours or jumps ahead by a day. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

describe('a clock set back by six hours', () => {
  test('doesn’t prevent the recovery of a dead worker’s order', async () => {
    const response = newGate();
    rig.service.answer = async () => {
      await response.opened;
      return SUCCESS_ENVELOPE;
    };
    const order = await rig.requestApprovedRenewal('dead.rest');
    const deadWorker = rig.startProcess();
    const execution = deadWorker.execute(order.id);
    await waitUntil('the request is sent', () => rig.service.received.length === 1);
    rig.advanceClock(-6 * HOUR_MS);
    await rig.recover();
    expect(await rig.read(order.id)).toMatchObject({ state: 'UNKNOWN', items: [{ state: 'UNKNOWN' }] });
    response.open();
    await execution;
    expect(await rig.read(order.id), 'after the late response').toMatchObject({ state: 'SUCCEEDED' });
    expect(rig.service.received).toHaveLength(1);
  });
});

describe('a clock ahead by a day', () => {
  test('doesn’t repeat a running request, and the late response counts', async () => {
    const response = newGate();
    rig.service.answer = async () => {
      await response.opened;
      return SUCCESS_ENVELOPE;
    };
    const order = await rig.requestApprovedRenewal('ahead.rest');
    const execution = rig.main.execute(order.id);
    await waitUntil('the request is sent', () => rig.service.received.length === 1);
    rig.advanceClock(24 * HOUR_MS);
    await rig.recover();
    await rig.runDue();
    expect((await rig.read(order.id)).state, 'before the response').toBe('UNKNOWN');
    response.open();
    await execution;
    expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
    expect(rig.service.received).toHaveLength(1);
  });
});
