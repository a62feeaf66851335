import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Order } from '../../src/orders/order.ts';
import { at, newOrder, type Rig, startRig, underWay } from './order-rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.end());
beforeEach(async () => {
  await rig.sql('TRUNCATE orders CASCADE');
});

const NOTHING = { abandoned: [], unclaimed: [], overdue: [], toRemind: [], unnotified: [] };

/** What the store finds at a moment, but for what Slack shows, which everything here is behind with. */
async function found(seconds: number) {
  return { ...(await rig.store.findNeglected(at(seconds), 15_000)), unnotified: [] };
}

test('an order that is carried out is abandoned when its lease has run out', async () => {
  const order = newOrder();
  await underWay(rig, order);
  expect(await found(20)).toEqual(NOTHING);
  expect(await found(20.001)).toEqual({ ...NOTHING, abandoned: [order.id] });
  await rig.store.extendLease(order.id, 'worker', at(40));
  expect(await found(40)).toEqual(NOTHING);
});

test('an approved order is unclaimed when nothing has happened for 15 seconds', async () => {
  const order = await rig.keep(newOrder({ state: 'APPROVED', expiresAt: undefined, remindAt: undefined }));
  expect(await found(15)).toEqual(NOTHING);
  expect(await found(15.001)).toEqual({ ...NOTHING, unclaimed: [order.id] });
});

test('an approved order whose items wait for their time is unclaimed 15 seconds after the first one’s', async () => {
  const order = newOrder({}, ['wait-1.rest', 'wait-2.rest', 'done.rest']);
  await underWay(rig, order, 3);
  const heldBack = { type: 'retry_scheduled', workerId: 'worker', why: 'Busy.' } as const;
  await rig.apply(order.id, { ...heldBack, n: 1, notBefore: at(100) }, at(4));
  await rig.apply(order.id, { ...heldBack, n: 2, notBefore: at(50) }, at(4));
  await rig.apply(order.id, { type: 'answered', n: 3, outcome: 'FAILED', result: { summary: 'No.' } }, at(4));
  await rig.apply(order.id, { type: 'released' }, at(5));
  expect(await found(65)).toEqual(NOTHING);
  expect(await found(65.001)).toEqual({ ...NOTHING, unclaimed: [order.id] });
});

test('a waiting order is due for a nudge once, and overdue when its time is over', async () => {
  const order = await rig.keep(newOrder({ remindAt: at(600), expiresAt: at(3_600) }));
  expect(await found(599.999)).toEqual(NOTHING);
  expect(await found(600)).toEqual({ ...NOTHING, toRemind: [order.id] });
  await rig.apply(order.id, { type: 'reminded' }, at(600));
  expect(await found(3_599.999)).toEqual(NOTHING);
  expect(await found(3_600)).toEqual({ ...NOTHING, overdue: [order.id] });
  await rig.apply(order.id, { type: 'expired' }, at(3_600));
  expect(await found(9_999)).toEqual(NOTHING);
});

test('a draft and a closed order need nobody, however old', async () => {
  await rig.keep(newOrder({ state: 'DRAFT' }));
  const order = newOrder();
  await underWay(rig, order);
  await rig.apply(order.id, { type: 'answered', n: 1, outcome: 'UNKNOWN', result: { summary: '?' } }, at(4));
  expect(await found(1_000_000)).toEqual(NOTHING);
});

test('what Slack does not show 15 seconds after the change is found, drafts and what is put off aside', async () => {
  const unnotified = async (seconds: number) =>
    (await rig.store.findNeglected(at(seconds), 15_000)).unnotified;
  const order = await rig.keep(newOrder());
  await rig.keep(newOrder({ state: 'DRAFT' }));
  expect(await unnotified(15)).toEqual([]);
  expect(await unnotified(15.001)).toEqual([order.id]);

  expect(await rig.store.claimNotification(order.id, at(16), at(76))).toBeDefined();
  expect(await unnotified(75.999), 'somebody is showing it').toEqual([]);
  expect(await unnotified(76)).toEqual([order.id]);

  await rig.store.postponeNotification(order.id, at(200));
  expect(await unnotified(199.999), 'Slack is away').toEqual([]);
  expect(await rig.store.claimNotification(order.id, at(200), at(260))).toBeDefined();
  const shown = await rig.store.unnotified(order.id);
  expect(shown !== undefined && (await rig.store.releaseNotification(shown, []))).toBe(true);
  expect(await unnotified(1_000)).toEqual([]);

  await rig.apply(order.id, { type: 'cancelled', by: 'U0ALICE' }, at(1_000));
  expect(await unnotified(1_016)).toEqual([order.id]);
  expect(await rig.store.claimNotification(order.id, at(1_001), at(1_005))).toBeDefined();
  expect(await unnotified(1_005), 'who was showing it has fallen silent').toEqual([order.id]);
});

test('of very many the oldest 500 come first', async () => {
  const approved: Partial<Order> = { state: 'APPROVED', expiresAt: undefined, remindAt: undefined };
  const oldest = await rig.keep(newOrder({ ...approved, createdAt: at(-10) }));
  const model = await rig.keep(newOrder(approved));
  await rig.sql(
    `INSERT INTO orders SELECT (jsonb_populate_record(o, jsonb_build_object(
       'id', 'many-' || k, 'delivery_id', 'many-' || k, 'updated_at', o.updated_at + (601 - k) * interval '1 ms'))).*
     FROM orders o, generate_series(1, 600) k WHERE o.id = $1`,
    [model.id],
  );
  await rig.sql(
    `INSERT INTO order_items (order_id, n, name, client_tid, state, attempts)
     SELECT id, 1, id, id, 'WAITING', 0 FROM orders WHERE id LIKE 'many-%'`,
  );
  const { unclaimed } = await rig.store.findNeglected(at(60), 15_000);
  const next = Array.from({ length: 498 }, (_, index) => `many-${600 - index}`);
  expect(unclaimed).toEqual([oldest.id, model.id, ...next]);
});
