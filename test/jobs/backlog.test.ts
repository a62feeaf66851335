import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createJobs, type Jobs } from '../../src/jobs/jobs.ts';
import type { OrderJob } from '../../src/orders/ports.ts';
import { recoverOrders } from '../../src/orders/recover.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { newOrder, type Rig, startRig, T0 } from '../store/order-rig.ts';
import { until } from '../support/demo.ts';

/*
 * Recovery while jobs wait longer than an order may be silent: Slack limits the bot, or the machine is busy.
 */

const log = pino({ level: 'silent' });
let rig: Rig;
let jobs: Jobs;
beforeAll(async () => {
  rig = await startRig();
  jobs = createJobs({ connectionString: rig.url, log, now: () => new Date() });
  await jobs.start();
});
afterAll(async () => {
  await jobs.stop(1_000);
  await jobs.close();
  await rig.end();
});

test('an order whose job waits gets no further one; one whose job was taken and lost does', async () => {
  const store = createOrderStore(rig.database, jobs);
  const approved = newOrder({ state: 'APPROVED', expiresAt: undefined, nudgeAt: undefined });
  await store.create(approved, undefined, [], []);
  const recover = () =>
    recoverOrders({ store, log, waiting: jobs.waiting, now: () => new Date(T0.getTime() + 60_000) });
  const queued = async (queue: OrderJob['queue']) =>
    (await rig.sql(`SELECT FROM pgboss.job WHERE name = $1 AND data->>'orderId' = $2`, [queue, approved.id]))
      .length;

  for (let turn = 1; turn <= 3; turn += 1) {
    await recover();
    expect(await queued('order.execute'), `jobs to carry it out after turn ${turn}`).toBe(1);
  }
  const later: OrderJob = {
    queue: 'order.execute',
    data: { orderId: 'order-later' },
    startAfter: new Date(Date.now() + 60_000),
  };
  await store.enqueue([later]);
  expect([...(await jobs.waiting('order.execute'))], 'one for later does not stand in').toEqual([
    approved.id,
  ]);

  const taken: string[] = [];
  const take = (what: string) => async () => void taken.push(what);
  const nothing = async () => undefined;
  await jobs.work({
    'order.execute': take('carried out'),
    'order.show': take('shown'),
    'order.expire': nothing,
    'order.nudge': nothing,
    'expiry.follow': nothing,
    'expiry.refresh': nothing,
    'expiry.digest': nothing,
  });
  await until('its job was taken', () => taken.length === 1);
  await recover();
  await until('it came again, and what Slack shows is looked after', () => taken.length === 3);
  expect(taken.toSorted()).toEqual(['carried out', 'carried out', 'shown']);
});
