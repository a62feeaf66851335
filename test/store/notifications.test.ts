import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ClaimedSubject, Subject } from '../../src/outbox/notifications.ts';
import { newOrder, type Rig, secondsLater, startRig } from './order-rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

const orderSubject = (id: string): Subject => ({ kind: 'order', id });

async function loadMessages(orderId: string): Promise<ClaimedSubject> {
  const found = await rig.notifications.loadSubject(orderSubject(orderId));
  if (found === undefined) throw new Error(`order ${orderId} has no notifications`);
  return found;
}

/** Claims an order's messages for a minute. @returns whether it succeeded */
async function tryClaim(orderId: string, seconds = 0): Promise<boolean> {
  return (await rig.notifications.claim(orderSubject(orderId), secondsLater(seconds), 60_000)) !== undefined;
}

const release = (claim: ClaimedSubject) =>
  rig.notifications.release(claim, { updatedMessages: [], repeatAt: undefined, isComplete: true });

const listMessagePlaces = async (orderId: string) =>
  (await loadMessages(orderId)).notifications.map(({ purpose, message }) => ({ purpose, ...message }));

test('one of 10 processes claims an order’s messages until their release or the lease’s end', async () => {
  const { id } = await rig.save(newOrder());
  const claims = await Promise.all(Array.from({ length: 10 }, () => tryClaim(id)));
  expect(claims.filter((each) => each)).toHaveLength(1);
  expect(await tryClaim(id)).toBe(false);
  await rig.ageLeases(60);
  expect(await tryClaim(id)).toBe(true);
  expect(await release(await loadMessages(id))).toBe(true);
  expect(await tryClaim(id)).toBe(true);
  expect(await tryClaim('nobody')).toBe(false);
});

test('a lease that ends too late because the clock was set back doesn’t block a claim', async () => {
  const { id } = await rig.save(newOrder());
  await tryClaim(id);
  await rig.ageLeases(-6 * 3_600);
  expect(await tryClaim(id)).toBe(true);
  await rig.notifications.postponeSubject(orderSubject(id), secondsLater(600));
  expect(await tryClaim(id), 'a postponement of ten minutes was ignored').toBe(false);
});

test('a process that posted an older version can’t release the messages', async () => {
  const order = await rig.save(newOrder());
  await tryClaim(order.id);
  const older = await loadMessages(order.id);
  await rig.apply(order.id, { type: 'cancelled', by: 'U0ALICE' }, secondsLater(1));
  expect(await release(older), 'the change would never be posted').toBe(false);
  expect(await tryClaim(order.id), 'another process claimed the messages').toBe(false);
  expect(await release(await loadMessages(order.id))).toBe(true);
});

test('a claim that waits for a concurrent change gets the new version', async () => {
  const order = await rig.save(newOrder());
  const before = await loadMessages(order.id);
  const [claim] = await rig.runWhileLocked(
    `UPDATE notifications SET version = version + 1 WHERE subject_id = $1 AND purpose = 'plan'`,
    [order.id],
    () => [rig.notifications.claim(orderSubject(order.id), secondsLater(0), 60_000)],
    'COMMIT',
  );
  expect(claim).toMatchObject({ version: before.version + 1 });
});

test('a release saves updated messages, even if a newer change must be posted', async () => {
  const order = await rig.save(newOrder());
  await tryClaim(order.id);
  const claim = await loadMessages(order.id);
  await rig.notifications.recordPosted(claim, {
    purpose: 'card',
    channelId: 'C1',
    ts: '1.1',
    shownVersion: '0',
  });
  await rig.apply(order.id, { type: 'cancelled', by: 'U0ALICE' }, secondsLater(1));
  const updatedMessages = [{ purpose: 'card', shownVersion: '7' }];
  expect(
    await rig.notifications.release(claim, { updatedMessages, repeatAt: undefined, isComplete: true }),
  ).toBe(false);
  expect((await loadMessages(order.id)).notifications).toMatchObject([
    { purpose: 'card', shownVersion: '7' },
  ]);
});

test('an adopted message needs an update, even if it is adopted while others are updated', async () => {
  const { id } = await rig.save(newOrder());
  const isUpdateDue = async () => (await rig.findDueTimes(id)).notifications !== undefined;
  await tryClaim(id);
  const olderClaim = await loadMessages(id);
  await rig.notifications.adoptMessage(
    orderSubject(id),
    { channelId: 'C1', ts: '9.000100' },
    ['card:9.000100'],
    secondsLater(50),
  );
  expect(await release(olderClaim), 'the adopted message would never be updated').toBe(false);
  const currentClaim = await loadMessages(id);
  expect(await listMessagePlaces(id)).toEqual([
    { purpose: 'card:9.000100', channelId: 'C1', ts: '9.000100' },
  ]);
  expect(await release(currentClaim)).toBe(true);
  expect(await isUpdateDue()).toBe(false);

  await rig.notifications.adoptMessage(
    orderSubject(id),
    { channelId: 'C1', ts: '9.000200' },
    ['card:9.000200'],
    secondsLater(50),
  );
  expect(await isUpdateDue(), 'no update is due').toBe(true);
  expect(await tryClaim(id, 50)).toBe(true);
  expect(await release(await loadMessages(id))).toBe(true);
  await rig.notifications.adoptMessage(
    orderSubject(id),
    { channelId: 'C1', ts: '9.000200' },
    ['card:9.000200'],
    secondsLater(50),
  );
  expect(await isUpdateDue(), 'an update is due for the same message').toBe(false);
});

test('postponed messages can’t be claimed before their time', async () => {
  const { id } = await rig.save(newOrder());
  await tryClaim(id);
  await rig.notifications.postponeSubject(orderSubject(id), secondsLater(30));
  expect(await tryClaim(id, 29.999)).toBe(false);
  await rig.apply(id, { type: 'cancelled', by: 'U0ALICE' }, secondsLater(10));
  expect(await tryClaim(id, 29.999), 'a change of the order made its messages due').toBe(false);
  const claim = await rig.notifications.claim(orderSubject(id), secondsLater(30), 60_000);
  expect(claim?.attempts, 'failed attempts').toBe(1);
});

test('only the first place of a message is saved for each purpose', async () => {
  const { id } = await rig.save(newOrder());
  expect(
    await rig.notifications.recordPosted(orderSubject(id), {
      purpose: 'card',
      channelId: 'C1',
      ts: '1.000100',
      shownVersion: '0',
    }),
  ).toBe(true);
  expect(
    await rig.notifications.recordPosted(orderSubject(id), {
      purpose: 'reply:2:approved',
      channelId: 'C1',
      ts: '1.000200',
      shownVersion: '0',
    }),
  ).toBe(true);
  expect(
    await rig.notifications.recordPosted(orderSubject(id), {
      purpose: 'card',
      channelId: 'C2',
      ts: '2.000100',
      shownVersion: '0',
    }),
  ).toBe(false);
  const messages = await listMessagePlaces(id);
  expect(messages).toHaveLength(2);
  expect(messages).toContainEqual({ purpose: 'card', channelId: 'C1', ts: '1.000100' });
  expect(messages).toContainEqual({ purpose: 'reply:2:approved', channelId: 'C1', ts: '1.000200' });
});

test('an update requested during another update isn’t lost', async () => {
  const order = await rig.save(newOrder());
  await tryClaim(order.id);
  const claim = await loadMessages(order.id);
  await rig.store.queueMessageUpdate(order.id, secondsLater(0));
  expect(await release(claim), 'the requested update would be lost').toBe(false);
});

describe('a refresh of pending orders', () => {
  beforeEach(() => rig.sql('TRUNCATE orders, notifications CASCADE'));
  const claimDue = async (isBackground: boolean) =>
    (await rig.notifications.claimDueSubjects(secondsLater(100), 0, 100, isBackground)).map(({ id }) => id);
  const saveUpToDateOrder = async () => {
    const { id } = await rig.save(newOrder());
    await tryClaim(id);
    expect(await release(await loadMessages(id))).toBe(true);
    return id;
  };

  test('comes after urgent notifications, and yields when a person acts', async () => {
    const [idle, cancelled] = [await saveUpToDateOrder(), await saveUpToDateOrder()];
    const { id: unposted } = await rig.save(newOrder());
    await rig.store.queuePendingMessageUpdates(secondsLater(1));
    expect((await claimDue(true)).toSorted()).toEqual([idle, cancelled].toSorted());
    expect(await claimDue(false), 'its card is not posted yet').toEqual([unposted]);
    await rig.apply(cancelled, { type: 'cancelled', by: 'U0ALICE' }, secondsLater(2));
    expect(await claimDue(true)).toEqual([idle]);
    expect((await claimDue(false)).toSorted()).toEqual([cancelled, unposted].toSorted());
    await rig.notifications.requestUpdate(orderSubject(idle), secondsLater(3));
    expect(await claimDue(true)).toEqual([]);
  });

  test('ignores closed orders, and ends when all messages are updated', async () => {
    const [closed, pending] = [await saveUpToDateOrder(), await saveUpToDateOrder()];
    await rig.apply(closed, { type: 'cancelled', by: 'U0ALICE' }, secondsLater(1));
    await rig.store.queuePendingMessageUpdates(secondsLater(2));
    expect(await claimDue(true)).toEqual([pending]);
    const claim = await loadMessages(pending);
    expect(claim.isBackground).toBe(true);
    await rig.notifications.release(claim, {
      updatedMessages: [],
      repeatAt: secondsLater(50),
      isComplete: false,
    });
    expect(await claimDue(true), 'after an incomplete update').toEqual([pending]);
    await rig.notifications.release(claim, {
      updatedMessages: [],
      repeatAt: secondsLater(60),
      isComplete: true,
    });
    expect(await claimDue(false), 'due to be repeated').toContain(pending);
  });
});
