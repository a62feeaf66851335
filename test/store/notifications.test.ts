import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ClaimedSubject, Subject } from '../../src/outbox/notifications.ts';
import { at, newOrder, type Rig, startRig } from './order-rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

const subjectOf = (id: string): Subject => ({ kind: 'order', id });

/** The current messages of an order. */
async function readAll(orderId: string): Promise<ClaimedSubject> {
  const found = await rig.notifications.read(subjectOf(orderId));
  if (found === undefined) throw new Error(`order ${orderId} has no notifications`);
  return found;
}

/** Claims an order's messages for a minute. @returns whether it succeeded */
async function tryClaim(orderId: string, seconds = 0): Promise<boolean> {
  return (await rig.notifications.claim(subjectOf(orderId), at(seconds), 60_000)) !== undefined;
}

const release = (claim: ClaimedSubject) =>
  rig.notifications.release(claim, { updated: [], repeatAt: undefined, isComplete: true });

/** The places of an order's messages. */
const listPlaces = async (orderId: string) =>
  (await readAll(orderId)).notifications.map(({ purpose, message }) => ({ purpose, ...message }));

test('one of 10 concurrent processes claims an order’s messages until release or expiry', async () => {
  const { id } = await rig.save(newOrder());
  const taken = await Promise.all(Array.from({ length: 10 }, () => tryClaim(id)));
  expect(taken.filter((each) => each)).toHaveLength(1);
  expect(await tryClaim(id)).toBe(false);
  await rig.ageLeases(60);
  expect(await tryClaim(id)).toBe(true);
  expect(await release(await readAll(id))).toBe(true);
  expect(await tryClaim(id)).toBe(true);
  expect(await tryClaim('nobody')).toBe(false);
});

test('a lease from a clock that was set back delays no one', async () => {
  const { id } = await rig.save(newOrder());
  await tryClaim(id);
  await rig.ageLeases(-6 * 3_600);
  expect(await tryClaim(id)).toBe(true);
  await rig.notifications.postpone(subjectOf(id), at(600));
  expect(await tryClaim(id), 'Slack may ask for ten minutes').toBe(false);
});

test('a process that shows an older version can’t release the messages', async () => {
  const order = await rig.save(newOrder());
  await tryClaim(order.id);
  const older = await readAll(order.id);
  await rig.apply(order.id, { type: 'cancelled', by: 'U0ALICE' }, at(1));
  expect(await release(older), 'the change would never be shown').toBe(false);
  expect(await tryClaim(order.id), 'another process took over').toBe(false);
  expect(await release(await readAll(order.id))).toBe(true);
});

test('a process that waited for a change of the order sees the result', async () => {
  const order = await rig.save(newOrder());
  const before = await readAll(order.id);
  const [taken] = await rig.whileHolding(
    `UPDATE notifications SET version = version + 1 WHERE subject_id = $1 AND purpose = 'plan'`,
    [order.id],
    () => [rig.notifications.claim(subjectOf(order.id), at(0), 60_000)],
    'COMMIT',
  );
  expect(taken).toMatchObject({ version: before.version + 1 });
});

test('updated messages are saved on release, even if there is more to show', async () => {
  const order = await rig.save(newOrder());
  await tryClaim(order.id);
  const claim = await readAll(order.id);
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
  expect((await readAll(order.id)).notifications).toMatchObject([{ purpose: 'card', shownVersion: '7' }]);
});

test('an adopted message needs an update, even while others are updated', async () => {
  const { id } = await rig.save(newOrder());
  const unnotified = async () => (await rig.findDueTimes(id)).notifications !== undefined;
  await tryClaim(id);
  const others = await readAll(id);
  await rig.notifications.adopt(
    subjectOf(id),
    { channelId: 'C1', ts: '9.000100' },
    ['card:9.000100'],
    at(50),
  );
  expect(await release(others), 'it would never be updated').toBe(false);
  const all = await readAll(id);
  expect(await listPlaces(id)).toEqual([{ purpose: 'card:9.000100', channelId: 'C1', ts: '9.000100' }]);
  expect(await release(all)).toBe(true);
  expect(await unnotified()).toBe(false);

  await rig.notifications.adopt(
    subjectOf(id),
    { channelId: 'C1', ts: '9.000200' },
    ['card:9.000200'],
    at(50),
  );
  expect(await unnotified(), 'no update is due').toBe(true);
  expect(await tryClaim(id, 50)).toBe(true);
  expect(await release(await readAll(id))).toBe(true);
  await rig.notifications.adopt(
    subjectOf(id),
    { channelId: 'C1', ts: '9.000200' },
    ['card:9.000200'],
    at(50),
  );
  expect(await unnotified(), 'the same message again').toBe(false);
});

test('an order isn’t shown before its rescheduled time', async () => {
  const { id } = await rig.save(newOrder());
  await tryClaim(id);
  await rig.notifications.postpone(subjectOf(id), at(30));
  expect(await tryClaim(id, 29.999)).toBe(false);
  await rig.apply(id, { type: 'cancelled', by: 'U0ALICE' }, at(10));
  expect(await tryClaim(id, 29.999), 'it has changed since').toBe(false);
  const claim = await rig.notifications.claim(subjectOf(id), at(30), 60_000);
  expect(claim?.attempts, 'failed attempts').toBe(1);
});

test('the first place of a message is saved for each purpose', async () => {
  const { id } = await rig.save(newOrder());
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
  const messages = await listPlaces(id);
  expect(messages).toHaveLength(2);
  expect(messages).toContainEqual({ purpose: 'card', channelId: 'C1', ts: '1.000100' });
  expect(messages).toContainEqual({ purpose: 'reply:2:approved', channelId: 'C1', ts: '1.000200' });
});

test('a message requested while an order is being shown isn’t lost', async () => {
  const order = await rig.save(newOrder());
  await tryClaim(order.id);
  const shown = await readAll(order.id);
  await rig.store.requestNotification(order.id, at(0));
  expect(await release(shown), 'nothing else is left to show').toBe(false);
});

describe('a refresh of pending orders', () => {
  beforeEach(() => rig.sql('TRUNCATE orders, notifications CASCADE'));
  const listDue = async (isBackground: boolean) =>
    (await rig.notifications.claimDue(at(100), 0, 100, isBackground)).map(({ id }) => id);
  /** An order whose messages are up to date. */
  const saveShownOrder = async () => {
    const { id } = await rig.save(newOrder());
    await tryClaim(id);
    expect(await release(await readAll(id))).toBe(true);
    return id;
  };

  test('comes after urgent notifications, and yields when a person acts', async () => {
    const [idle, acted] = [await saveShownOrder(), await saveShownOrder()];
    const { id: fresh } = await rig.save(newOrder());
    await rig.store.refreshPending(at(1));
    expect((await listDue(true)).toSorted()).toEqual([idle, acted].toSorted());
    expect(await listDue(false), 'its card is not posted yet').toEqual([fresh]);
    await rig.apply(acted, { type: 'cancelled', by: 'U0ALICE' }, at(2));
    expect(await listDue(true)).toEqual([idle]);
    expect((await listDue(false)).toSorted()).toEqual([acted, fresh].toSorted());
    await rig.notifications.requestUpdate(subjectOf(idle), at(3));
    expect(await listDue(true)).toEqual([]);
  });

  test('ignores closed orders, and ends once everything was shown', async () => {
    const [closed, pending] = [await saveShownOrder(), await saveShownOrder()];
    await rig.apply(closed, { type: 'cancelled', by: 'U0ALICE' }, at(1));
    await rig.store.refreshPending(at(2));
    expect(await listDue(true)).toEqual([pending]);
    const claim = await readAll(pending);
    expect(claim.isBackground).toBe(true);
    await rig.notifications.release(claim, { updated: [], repeatAt: at(50), isComplete: false });
    expect(await listDue(true), 'not all was shown').toEqual([pending]);
    await rig.notifications.release(claim, { updated: [], repeatAt: at(60), isComplete: true });
    expect(await listDue(false), 'a reminder').toContain(pending);
  });
});
