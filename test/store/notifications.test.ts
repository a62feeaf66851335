import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ClaimedSubject, Subject } from '../../src/outbox/notifications.ts';
import { at, newOrder, type Rig, startRig } from './order-rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.end());

const subjectOf = (id: string): Subject => ({ kind: 'order', id });

/** The current messages of an order. */
async function toShow(orderId: string): Promise<ClaimedSubject> {
  const found = await rig.notifications.read(subjectOf(orderId));
  if (found === undefined) throw new Error(`order ${orderId} has no notifications`);
  return found;
}

/** Claims an order's messages for a minute. @returns whether it succeeded */
async function take(orderId: string, seconds = 0): Promise<boolean> {
  return (await rig.notifications.claim(subjectOf(orderId), at(seconds), 60_000)) !== undefined;
}

const release = (claim: ClaimedSubject) =>
  rig.notifications.release(claim, { updated: [], repeatAt: undefined, isComplete: true });

/** The places of an order's messages. */
const placesOf = async (orderId: string) =>
  (await toShow(orderId)).notifications.map(({ purpose, message }) => ({ purpose, ...message }));

test('one of 10 concurrent processes has an order’s messages, until it releases them or its lease expires', async () => {
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

test('a time that must be from a clock that was set back delays nobody', async () => {
  const { id } = await rig.keep(newOrder());
  await take(id);
  await rig.passLeases(-6 * 3_600);
  expect(await take(id)).toBe(true);
  await rig.notifications.postpone(subjectOf(id), at(600));
  expect(await take(id), 'ten minutes are what Slack may ask for').toBe(false);
});

test('a process that shows an older version doesn’t release the messages', async () => {
  const order = await rig.keep(newOrder());
  await take(order.id);
  const older = await toShow(order.id);
  await rig.apply(order.id, { type: 'cancelled', by: 'U0ALICE' }, at(1));
  expect(await release(older), 'the change would never be shown').toBe(false);
  expect(await take(order.id), 'another one took over').toBe(false);
  expect(await release(await toShow(order.id))).toBe(true);
});

test('a process that waited for a change of the order shows its result', async () => {
  const order = await rig.keep(newOrder());
  const before = await toShow(order.id);
  const [taken] = await rig.whileHolding(
    `UPDATE notifications SET version = version + 1 WHERE subject_id = $1 AND purpose = 'plan'`,
    [order.id],
    () => [rig.notifications.claim(subjectOf(order.id), at(0), 60_000)],
    'COMMIT',
  );
  expect(taken).toMatchObject({ version: before.version + 1 });
});

test('updated messages are saved on release, even if there is more to show', async () => {
  const order = await rig.keep(newOrder());
  await take(order.id);
  const claim = await toShow(order.id);
  await rig.notifications.recordPosted(claim, {
    purpose: 'card',
    channelId: 'C1',
    ts: '1.1',
    shownVersion: '0',
  });
  await rig.apply(order.id, { type: 'cancelled', by: 'U0ALICE' }, at(1));
  const updated = [{ purpose: 'card', shownVersion: '7' }];
  expect(await rig.notifications.release(claim, { updated, repeatAt: undefined, isComplete: true })).toBe(
    false,
  );
  expect((await toShow(order.id)).notifications).toMatchObject([{ purpose: 'card', shownVersion: '7' }]);
});

test('a message that is found needs an update, even while others are updated', async () => {
  const { id } = await rig.keep(newOrder());
  const unnotified = async () => (await rig.due(id)).notifications !== undefined;
  await take(id);
  const others = await toShow(id);
  await rig.notifications.adopt(
    subjectOf(id),
    { channelId: 'C1', ts: '9.000100' },
    ['card:9.000100'],
    at(50),
  );
  expect(await release(others), 'it would never be brought up to date').toBe(false);
  const all = await toShow(id);
  expect(await placesOf(id)).toEqual([{ purpose: 'card:9.000100', channelId: 'C1', ts: '9.000100' }]);
  expect(await release(all)).toBe(true);
  expect(await unnotified()).toBe(false);

  await rig.notifications.adopt(
    subjectOf(id),
    { channelId: 'C1', ts: '9.000200' },
    ['card:9.000200'],
    at(50),
  );
  expect(await unnotified(), 'recovery does not find it').toBe(true);
  expect(await take(id, 50)).toBe(true);
  expect(await release(await toShow(id))).toBe(true);
  await rig.notifications.adopt(
    subjectOf(id),
    { channelId: 'C1', ts: '9.000200' },
    ['card:9.000200'],
    at(50),
  );
  expect(await unnotified(), 'the same one once more').toBe(false);
});

test('an order isn’t shown before its rescheduled time', async () => {
  const { id } = await rig.keep(newOrder());
  await take(id);
  await rig.notifications.postpone(subjectOf(id), at(30));
  expect(await take(id, 29.999)).toBe(false);
  await rig.apply(id, { type: 'cancelled', by: 'U0ALICE' }, at(10));
  expect(await take(id, 29.999), 'it has changed since').toBe(false);
  const claim = await rig.notifications.claim(subjectOf(id), at(30), 60_000);
  expect(claim?.attempts, 'how often it has failed').toBe(1);
});

test('a message’s place is saved, the first one for each purpose', async () => {
  const { id } = await rig.keep(newOrder());
  expect(
    await rig.notifications.recordPosted(subjectOf(id), {
      purpose: 'card',
      channelId: 'C1',
      ts: '1.000100',
      shownVersion: '0',
    }),
  ).toBe(true);
  expect(
    await rig.notifications.recordPosted(subjectOf(id), {
      purpose: 'reply:2:approved',
      channelId: 'C1',
      ts: '1.000200',
      shownVersion: '0',
    }),
  ).toBe(true);
  expect(
    await rig.notifications.recordPosted(subjectOf(id), {
      purpose: 'card',
      channelId: 'C2',
      ts: '2.000100',
      shownVersion: '0',
    }),
  ).toBe(false);
  const messages = await placesOf(id);
  expect(messages).toHaveLength(2);
  expect(messages).toContainEqual({ purpose: 'card', channelId: 'C1', ts: '1.000100' });
  expect(messages).toContainEqual({ purpose: 'reply:2:approved', channelId: 'C1', ts: '1.000200' });
});

test('a request for a message while an order is being shown isn’t lost', async () => {
  const order = await rig.keep(newOrder());
  await take(order.id);
  const shown = await toShow(order.id);
  await rig.store.requestNotification(order.id, at(0));
  expect(await release(shown), 'nothing else is left to show').toBe(false);
});

describe('a refresh of pending orders', () => {
  beforeEach(() => rig.sql('TRUNCATE orders, notifications CASCADE'));
  const claimed = async (isBackground: boolean) =>
    (await rig.notifications.claimDue(at(100), 0, 100, isBackground)).map(({ id }) => id);
  /** An order whose messages are up to date. */
  const shown = async () => {
    const { id } = await rig.keep(newOrder());
    await take(id);
    expect(await release(await toShow(id))).toBe(true);
    return id;
  };

  test('comes after everything that people wait for, and yields when a person acts', async () => {
    const [idle, acted] = [await shown(), await shown()];
    const { id: fresh } = await rig.keep(newOrder());
    await rig.store.refreshPending(at(1));
    expect((await claimed(true)).toSorted()).toEqual([idle, acted].toSorted());
    expect(await claimed(false), 'its card is not posted yet').toEqual([fresh]);
    await rig.apply(acted, { type: 'cancelled', by: 'U0ALICE' }, at(2));
    expect(await claimed(true)).toEqual([idle]);
    expect((await claimed(false)).toSorted()).toEqual([acted, fresh].toSorted());
    await rig.notifications.requestUpdate(subjectOf(idle), at(3));
    expect(await claimed(true)).toEqual([]);
  });

  test('ignores closed orders, and what comes after it is no refresh', async () => {
    const [closed, pending] = [await shown(), await shown()];
    await rig.apply(closed, { type: 'cancelled', by: 'U0ALICE' }, at(1));
    await rig.store.refreshPending(at(2));
    expect(await claimed(true)).toEqual([pending]);
    const claim = await toShow(pending);
    expect(claim.isBackground).toBe(true);
    await rig.notifications.release(claim, { updated: [], repeatAt: at(50), isComplete: false });
    expect(await claimed(true), 'not all was shown').toEqual([pending]);
    await rig.notifications.release(claim, { updated: [], repeatAt: at(60), isComplete: true });
    expect(await claimed(false), 'a reminder').toContain(pending);
  });
});
