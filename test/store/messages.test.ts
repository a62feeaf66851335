import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OrderToShow } from '../../src/orders/ports.ts';
import { at, newOrder, type Rig, startRig } from './order-rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.end());

/** What there is to show of an order at this moment. */
async function toShow(orderId: string): Promise<OrderToShow> {
  const found = await rig.store.toShow(orderId);
  if (found === undefined) throw new Error(`order ${orderId} is gone`);
  return found;
}

test('one of 10 processes at once has an order’s messages, until it lets go or its time is over', async () => {
  const { id } = await rig.keep(newOrder());
  const take = (seconds: number) => rig.store.takeShowLease(id, at(seconds), at(seconds + 60));
  const taken = await Promise.all(Array.from({ length: 10 }, () => take(0)));
  expect(taken.filter((each) => each)).toHaveLength(1);
  expect(await take(59.999)).toBe(false);
  expect(await take(60)).toBe(true);
  expect(await rig.store.releaseShowLease(await toShow(id))).toBe(true);
  expect(await take(61)).toBe(true);
  expect(await rig.store.takeShowLease('nobody', at(0), at(60))).toBe(false);
});

test('a time that only a clock that was put back can have noted holds up nobody', async () => {
  const { id } = await rig.keep(newOrder());
  await rig.store.takeShowLease(id, at(6 * 3_600), at(6 * 3_600 + 60));
  expect(await rig.store.takeShowLease(id, at(0), at(60))).toBe(true);
  await rig.store.postponeShow(id, at(600));
  expect(await rig.store.takeShowLease(id, at(0), at(60)), 'ten minutes are what Slack may ask for').toBe(
    false,
  );
});

test('who shows an older version does not get rid of the messages', async () => {
  const order = await rig.keep(newOrder());
  await rig.store.takeShowLease(order.id, at(0), at(60));
  const older = await toShow(order.id);
  await rig.apply(order.id, { type: 'cancelled', by: 'U0ALICE' }, at(1));
  expect(await rig.store.releaseShowLease(older), 'the change would never be shown').toBe(false);
  expect(await rig.store.takeShowLease(order.id, at(2), at(62)), 'another one took over').toBe(false);
  expect(await rig.store.releaseShowLease(await toShow(order.id))).toBe(true);
});

test('a message that is found is to be brought up to date, also while the others are', async () => {
  const { id } = await rig.keep(newOrder());
  const unshown = async () => (await rig.store.neglected(at(100), 15_000)).unshown.includes(id);
  await rig.store.takeShowLease(id, at(0), at(60));
  const others = await toShow(id);
  await rig.store.adoptMessage(id, { purpose: 'card:9.000100', channelId: 'C1', ts: '9.000100' });
  expect(await rig.store.releaseShowLease(others), 'it would never be brought up to date').toBe(false);
  const all = await toShow(id);
  expect(all.messages).toEqual([{ purpose: 'card:9.000100', channelId: 'C1', ts: '9.000100' }]);
  expect(await rig.store.releaseShowLease(all)).toBe(true);
  expect(await unshown()).toBe(false);

  await rig.store.adoptMessage(id, { purpose: 'card:9.000200', channelId: 'C1', ts: '9.000200' });
  expect(await unshown(), 'recovery does not find it').toBe(true);
  await rig.store.takeShowLease(id, at(61), at(120));
  expect(await rig.store.releaseShowLease(await toShow(id))).toBe(true);
  await rig.store.adoptMessage(id, { purpose: 'card:9.000200', channelId: 'C1', ts: '9.000200' });
  expect(await unshown(), 'the same one once more').toBe(false);
});

test('nobody shows an order before the moment that it is put off to', async () => {
  const { id } = await rig.keep(newOrder());
  await rig.store.takeShowLease(id, at(0), at(60));
  await rig.store.postponeShow(id, at(30));
  expect(await rig.store.takeShowLease(id, at(29.999), at(90))).toBe(false);
  expect(await rig.store.takeShowLease(id, at(30), at(90))).toBe(true);
});

test('where a message stands is kept, the first place for each purpose', async () => {
  const { id } = await rig.keep(newOrder());
  expect(await rig.store.recordMessage(id, 'card', 'C1', '1.000100')).toBe(true);
  expect(await rig.store.recordMessage(id, 'reply:2:approved', 'C1', '1.000200')).toBe(true);
  expect(await rig.store.recordMessage(id, 'card', 'C2', '2.000100')).toBe(false);
  const messages = await rig.store.messages(id);
  expect(messages).toHaveLength(2);
  expect(messages).toContainEqual({ purpose: 'card', channelId: 'C1', ts: '1.000100' });
  expect(messages).toContainEqual({ purpose: 'reply:2:approved', channelId: 'C1', ts: '1.000200' });
  expect(await rig.store.messages('nobody')).toEqual([]);
});
