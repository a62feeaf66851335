import { afterAll, beforeAll, expect, test } from 'vitest';
import type { UnnotifiedOrder } from '../../src/orders/ports.ts';
import { at, newOrder, type Rig, startRig } from './order-rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.end());

/** What there is to show of an order at this moment. */
async function toShow(orderId: string): Promise<UnnotifiedOrder> {
  const found = await rig.store.unnotified(orderId);
  if (found === undefined) throw new Error(`order ${orderId} is gone`);
  return found;
}

/** Has an order's messages to itself for a minute. @returns whether it does */
async function take(orderId: string, seconds = 0): Promise<boolean> {
  return (await rig.store.claimNotification(orderId, at(seconds), 60_000)) !== undefined;
}

const release = (shown: UnnotifiedOrder) => rig.store.releaseNotification(shown, []);

test('one of 10 processes at once has an order’s messages, until it lets go or its time is over', async () => {
  const { id } = await rig.keep(newOrder());
  const taken = await Promise.all(Array.from({ length: 10 }, () => take(id)));
  expect(taken.filter((each) => each)).toHaveLength(1);
  expect(await take(id)).toBe(false);
  await rig.passLeases(60);
  expect(await take(id)).toBe(true);
  expect(await release(await toShow(id))).toBe(true);
  expect(await take(id)).toBe(true);
  expect(await take('nobody')).toBe(false);
});

test('a time that only a clock that was put back can have noted holds up nobody', async () => {
  const { id } = await rig.keep(newOrder());
  await take(id);
  await rig.passLeases(-6 * 3_600);
  expect(await take(id)).toBe(true);
  await rig.store.postponeNotification(id, at(600));
  expect(await take(id), 'ten minutes are what Slack may ask for').toBe(false);
});

test('who shows an older version does not get rid of the messages', async () => {
  const order = await rig.keep(newOrder());
  await take(order.id);
  const older = await toShow(order.id);
  await rig.apply(order.id, { type: 'cancelled', by: 'U0ALICE' }, at(1));
  expect(await release(older), 'the change would never be shown').toBe(false);
  expect(await take(order.id), 'another one took over').toBe(false);
  expect(await release(await toShow(order.id))).toBe(true);
});

test('who waited for a change of the order shows what it came to', async () => {
  const order = await rig.keep(newOrder());
  const [taken] = await rig.whileHolding(
    `UPDATE orders SET state = 'CANCELLED', version = version + 1 WHERE id = $1`,
    [order.id],
    () => [rig.store.claimNotification(order.id, at(0), 60_000)],
    'COMMIT',
  );
  expect(taken?.order).toMatchObject({ state: 'CANCELLED', version: order.version + 1 });
});

test('what was posted is kept with letting go, and where there is more to show as well', async () => {
  const order = await rig.keep(newOrder());
  await take(order.id);
  const shown = await toShow(order.id);
  await rig.apply(order.id, { type: 'cancelled', by: 'U0ALICE' }, at(1));
  const reply = (ts: string) => ({ purpose: `reply:${ts}`, channelId: 'C1', ts });
  expect(await rig.store.releaseNotification(shown, [reply('1.1')])).toBe(false);
  expect(await rig.store.releaseNotification(await toShow(order.id), [reply('1.2'), reply('1.1')])).toBe(
    true,
  );
  expect((await toShow(order.id)).messages.map(({ ts }) => ts).sort()).toEqual(['1.1', '1.2']);
});

test('a message that is found is to be brought up to date, also while the others are', async () => {
  const { id } = await rig.keep(newOrder());
  const unnotified = async () => (await rig.due(id)).telling !== undefined;
  await take(id);
  const others = await toShow(id);
  await rig.store.adoptMessage(id, { channelId: 'C1', ts: '9.000100' }, ['card:9.000100'], at(50));
  expect(await release(others), 'it would never be brought up to date').toBe(false);
  const all = await toShow(id);
  expect(all.messages).toEqual([{ purpose: 'card:9.000100', channelId: 'C1', ts: '9.000100' }]);
  expect(await release(all)).toBe(true);
  expect(await unnotified()).toBe(false);

  await rig.store.adoptMessage(id, { channelId: 'C1', ts: '9.000200' }, ['card:9.000200'], at(50));
  expect(await unnotified(), 'recovery does not find it').toBe(true);
  expect(await take(id, 50)).toBe(true);
  expect(await release(await toShow(id))).toBe(true);
  await rig.store.adoptMessage(id, { channelId: 'C1', ts: '9.000200' }, ['card:9.000200'], at(50));
  expect(await unnotified(), 'the same one once more').toBe(false);
});

test('nobody shows an order before the moment that it is put off to', async () => {
  const { id } = await rig.keep(newOrder());
  await take(id);
  await rig.store.postponeNotification(id, at(30));
  expect(await take(id, 29.999)).toBe(false);
  await rig.apply(id, { type: 'cancelled', by: 'U0ALICE' }, at(10));
  expect(await take(id, 29.999), 'it has changed since').toBe(false);
  const shown = await rig.store.claimNotification(id, at(30), 60_000);
  expect(shown?.failedAttempts, 'how often telling has failed').toBe(1);
});

test('where a message stands is kept, the first place for each purpose', async () => {
  const { id } = await rig.keep(newOrder());
  expect(await rig.store.recordMessage(id, { purpose: 'card', channelId: 'C1', ts: '1.000100' })).toBe(true);
  expect(
    await rig.store.recordMessage(id, { purpose: 'reply:2:approved', channelId: 'C1', ts: '1.000200' }),
  ).toBe(true);
  expect(await rig.store.recordMessage(id, { purpose: 'card', channelId: 'C2', ts: '2.000100' })).toBe(false);
  const messages = (await toShow(id)).messages;
  expect(messages).toHaveLength(2);
  expect(messages).toContainEqual({ purpose: 'card', channelId: 'C1', ts: '1.000100' });
  expect(messages).toContainEqual({ purpose: 'reply:2:approved', channelId: 'C1', ts: '1.000200' });
});

test('what is asked to be told while an order is being shown is not lost', async () => {
  const order = await rig.keep(newOrder());
  await take(order.id);
  const shown = await toShow(order.id);
  await rig.store.requestTelling(order.id, at(0));
  expect(await release(shown), 'nothing else is left to show').toBe(false);
});
