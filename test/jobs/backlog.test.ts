import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createJobs, type Jobs } from '../../src/jobs/jobs.ts';
import { recoverOrders } from '../../src/orders/recover.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { DURABLE_COMMITS } from '../../src/store/session.ts';
import { newOrder, type Rig, startRig, T0 } from '../store/order-rig.ts';
import { until } from '../support/demo.ts';

/*
 * Recovery while orders wait longer than they may be silent: the service is slow, or the machine is busy.
 */

const log = pino({ level: 'silent' });
let rig: Rig;
let jobs: Jobs;
beforeAll(async () => {
  rig = await startRig();
  jobs = createJobs({ connectionString: rig.url, session: DURABLE_COMMITS, log, now: () => new Date() });
  await jobs.start();
});
afterAll(async () => {
  await jobs.stop(1_000);
  await jobs.close();
  await rig.end();
});

test('an order that waits for room is carried out once, however often recovery finds it; one that was lost, again', async () => {
  const store = createOrderStore(rig.database, jobs);
  const approved = newOrder({ state: 'APPROVED', expiresAt: undefined, remindAt: undefined });
  await store.create(approved, undefined, [], []);
  const recover = () => recoverOrders({ store, log, now: () => new Date(T0.getTime() + 60_000) });

  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const nothing = async () => undefined;
  await jobs.work({
    'order.execute': ({ orderId }) => {
      begun.push(orderId);
      return new Promise((resolve) => ends.push(resolve));
    },
    'order.show': nothing,
    'order.expire': nothing,
    'order.nudge': nothing,
    'expiry.follow': nothing,
    'expiry.refresh': nothing,
    'expiry.digest': nothing,
  });
  const slow = Array.from({ length: 100 }, (_, n) => `slow-${n}`);
  await store.enqueue(slow.map((orderId) => ({ queue: 'order.execute', data: { orderId } }) as const));
  await until('there is no room', () => begun.length > 0);
  expect(begun.length, 'carried out at once').toBeLessThan(100);
  for (let turn = 1; turn <= 3; turn += 1) await recover();
  expect(begun).not.toContain(approved.id);

  while (begun.length < 101) {
    for (const end of ends.splice(0)) end();
    await until('others have begun', () => ends.length > 0);
  }
  expect(begun.filter((id) => id === approved.id)).toHaveLength(1);
  for (const end of ends.splice(0)) end();
  await jobs.idle();

  await recover();
  await until('it came again', () => begun.length === 102);
  expect(begun.at(-1)).toBe(approved.id);
  for (const end of ends.splice(0)) end();
  await jobs.idle();
});
