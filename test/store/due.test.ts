import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Order } from '../../src/orders/order.ts';
import type { Subject } from '../../src/outbox/notifications.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { SUFFICIENT_APPROVAL } from '../orders/sample.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { newOrder, type Rig, secondsLater, startExecution, startRig } from './order-rig.ts';

/* Due work is claimed by one process at a time, with a lease by the database's clock. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());
beforeEach(async () => {
  await rig.sql('TRUNCATE orders, notifications CASCADE');
});

const LEASE_MS = 20_000;
const APPROVED: Partial<Order> = { state: 'APPROVED', expiresAt: undefined, remindAt: undefined };
const claimForExecution = (seconds: number, limit = 100) =>
  rig.store.claimDue('execution', secondsLater(seconds), LEASE_MS, limit);
const claimForDeadlines = (seconds: number) =>
  rig.store.claimDue('deadlines', secondsLater(seconds), LEASE_MS, 100);
const claimNotifications = async (seconds: number) =>
  (await rig.notifications.claimDueSubjects(secondsLater(seconds), LEASE_MS, 100)).map(({ id }) => id);
const orderSubject = (id: string): Subject => ({ kind: 'order', id });
/** Releases an order's messages as updated. @returns whether they show the latest version */
async function release(id: string, repeatAt?: Date): Promise<boolean> {
  const claim = await rig.notifications.loadSubject(orderSubject(id));
  if (claim === undefined) throw new Error('missing notifications');
  return rig.notifications.release(claim, { updatedMessages: [], repeatAt, isComplete: true });
}

describe('a due order', () => {
  test('is claimed by one of ten concurrent processes', async () => {
    const orders = await Promise.all(Array.from({ length: 5 }, () => rig.save(newOrder(APPROVED))));
    const claimed = await Promise.all(Array.from({ length: 10 }, () => claimForExecution(1)));
    expect(claimed.flat().toSorted()).toEqual(orders.map(({ id }) => id).toSorted());
  });

  test('stays claimed until its lease expires on the database’s clock', async () => {
    const { id } = await rig.save(newOrder(APPROVED));
    expect(await claimForExecution(1)).toEqual([id]);
    expect(await claimForExecution(10 * 86_400), 'after the bot’s clock jumps').toEqual([]);
    await rig.ageLeases(19);
    expect(await claimForExecution(1)).toEqual([]);
    await rig.ageLeases(1);
    expect(await claimForExecution(1)).toEqual([id]);
  });

  test('can be claimed again after its next change', async () => {
    const { id } = await rig.save(newOrder({ remindAt: secondsLater(600), expiresAt: secondsLater(3_600) }));
    expect(await claimForDeadlines(600)).toEqual([id]);
    await rig.apply(id, { type: 'reminded' }, secondsLater(600));
    expect(await claimForDeadlines(3_599.999)).toEqual([]);
    expect(await claimForDeadlines(3_600)).toEqual([id]);
  });

  test('is skipped while another transaction locks it', async () => {
    const [held, free] = [await rig.save(newOrder(APPROVED)), await rig.save(newOrder(APPROVED))];
    await rig.sql('BEGIN');
    await rig.sql('SELECT FROM orders WHERE id = $1 FOR UPDATE', [held.id]);
    const claimed = await claimForExecution(1).finally(() => rig.sql('COMMIT'));
    expect(claimed).toEqual([free.id]);
    expect(await claimForExecution(1)).toEqual([held.id]);
  });

  test('is claimed before orders that are due later, up to the limit', async () => {
    const ids: string[] = [];
    for (const seconds of [-3, -1, -2]) {
      const { id } = await rig.save(newOrder({ ...APPROVED, remindAt: undefined }));
      await rig.sql('UPDATE orders SET due_at = $2 WHERE id = $1', [id, secondsLater(seconds)]);
      ids.push(id);
    }
    expect(await claimForExecution(0, 2)).toEqual([ids[0], ids[2]]);
    expect(await claimForExecution(0, 2)).toEqual([ids[1]]);
  });

  test('isn’t claimed before its time', async () => {
    const order = newOrder({}, ['wait-1.rest', 'wait-2.rest', 'done.rest']);
    await startExecution(rig, order, 3);
    const retryScheduled = { type: 'retry_scheduled', workerId: 'worker', retryReason: 'busy' } as const;
    await rig.apply(order.id, { ...retryScheduled, n: 1, notBefore: secondsLater(100) }, secondsLater(4));
    await rig.apply(order.id, { ...retryScheduled, n: 2, notBefore: secondsLater(50) }, secondsLater(4));
    await rig.apply(
      order.id,
      { type: 'answered', n: 3, outcome: 'FAILED', result: { summary: { code: 'refused' } } },
      secondsLater(4),
    );
    await rig.apply(order.id, { type: 'released' }, secondsLater(5));
    expect(await claimForExecution(49.999)).toEqual([]);
    expect(await claimForExecution(50)).toEqual([order.id]);
  });

  test('is due even if its time is too far ahead because the clock was set back', async () => {
    const approved = await rig.save(newOrder(APPROVED));
    await rig.save(newOrder());
    expect(await claimForExecution(-6 * 3_600)).toEqual([approved.id]);
    await rig.ageLeases(-6 * 3_600);
    expect(await claimForExecution(-6 * 3_600), 'with a lease too far ahead').toEqual([approved.id]);
  });

  test('is neither a draft nor closed', async () => {
    await rig.save(newOrder({ state: 'DRAFT' }));
    const order = newOrder();
    await startExecution(rig, order);
    await rig.apply(
      order.id,
      { type: 'answered', n: 1, outcome: 'FAILED', result: { summary: { code: 'refused' } } },
      secondsLater(4),
    );
    expect(await claimForDeadlines(1_000_000)).toEqual([]);
    expect(await rig.store.claimDue('observation', secondsLater(1_000_000), LEASE_MS, 100)).toEqual([]);
  });
});

describe('a worker', () => {
  test('keeps its order until its lease expires, however the bot’s clock jumps', async () => {
    const order = newOrder();
    await startExecution(rig, order);
    expect(await claimForDeadlines(30 * 86_400)).toEqual([]);
    await rig.ageLeases(19);
    expect(await rig.store.extendLease(order.id, 'worker', LEASE_MS)).toBe(true);
    await rig.ageLeases(19);
    expect(await claimForDeadlines(30)).toEqual([]);
    await rig.ageLeases(1);
    expect(await claimForDeadlines(30)).toEqual([order.id]);
    expect(await rig.read(order.id)).toMatchObject({ state: 'EXECUTING', claim: undefined });
    expect(await rig.store.extendLease(order.id, 'worker', LEASE_MS), 'after the worker returns').toBe(false);
  });

  test('is replaced by only one of several processes', async () => {
    const order = newOrder();
    await startExecution(rig, order);
    await rig.ageLeases(20);
    const claimed = await Promise.all(Array.from({ length: 10 }, () => claimForDeadlines(30)));
    expect(claimed.flat()).toEqual([order.id]);
  });
});

describe('an order that can’t be sent now', () => {
  const loadLease = async (id: string) => {
    const [row] = await rig.sql(
      'SELECT extract(epoch FROM lease_until - now())::float8 AS "left", failed_attempts FROM orders WHERE id = $1',
      [id],
    );
    // The column is rounded to a millisecond.
    return { left: Math.max(0, Math.ceil(Number(row?.['left']) - 0.001)), tries: row?.['failed_attempts'] };
  };

  test('is rescheduled with growing pauses, stored in its row, until it changes', async () => {
    const { id } = await rig.save(newOrder(APPROVED));
    // Another process continues the count.
    const replica = createOrderStore(rig.database, BOT_SIGNER);
    const pauses = [];
    for (let turn = 0; turn < 7; turn += 1) {
      await (turn % 2 === 0 ? rig.store : replica).postpone(id);
      pauses.push((await loadLease(id)).left);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30]);
    expect(await claimForExecution(1)).toEqual([]);
    await rig.apply(id, { type: 'stopped', summary: { code: 'account_gone' }, by: 'U0BOB' }, secondsLater(2));
    expect(await loadLease(id)).toEqual({ left: 0, tries: 0 });
  });

  test('is released at once by a process that can’t execute it and doesn’t claim it back', async () => {
    const { id } = await rig.save(newOrder(APPROVED));
    const replica = createOrderStore(rig.database, BOT_SIGNER);
    expect(await replica.claimDue('execution', secondsLater(1), LEASE_MS, 100)).toEqual([id]);
    await replica.releaseToOthers(id);
    expect(
      await replica.claimDue('execution', secondsLater(1), LEASE_MS, 100),
      'by the same process',
    ).toEqual([]);
    expect(await claimForExecution(1), 'by another process').toEqual([id]);
  });

  test('doesn’t block others: an order behind 500 postponed ones is claimed', async () => {
    const template = await rig.save(newOrder(APPROVED));
    await rig.sql(
      `INSERT INTO orders SELECT (jsonb_populate_record(o, jsonb_build_object('id', 'many-' || k, 'delivery_id', 'many-' || k,
         'failed_attempts', 5, 'due_at', o.due_at - interval '1 h'))).* FROM orders o, generate_series(1, 500) k WHERE o.id = $1`,
      [template.id],
    );
    const claimedIds = new Set<string>();
    for (let turn = 1; turn <= 11; turn += 1) {
      for (const id of await claimForExecution(1, 48)) {
        claimedIds.add(id);
        await rig.store.postpone(id);
      }
    }
    expect(claimedIds.size, 'found in eleven turns of 48').toBe(501);
  });

  test('keeps its worker if it has one', async () => {
    const order = newOrder();
    await startExecution(rig, order);
    await rig.store.postpone(order.id);
    expect(await loadLease(order.id)).toEqual({ left: 20, tries: 0 });
  });

  test('is due at its rescheduled time, unless it has changed since', async () => {
    const before = await rig.save(newOrder({ ...APPROVED, state: 'UNKNOWN' }));
    await rig.store.postpone(before.id);
    await rig.store.reschedule(before, secondsLater(700));
    expect(await rig.findDueTimes(before.id)).toMatchObject({ work: secondsLater(700) });
    expect(await loadLease(before.id)).toEqual({ left: 0, tries: 0 });
    await rig.store.reschedule({ id: before.id, version: before.version - 1 }, undefined);
    expect(await rig.findDueTimes(before.id)).toMatchObject({ work: secondsLater(700) });
  });
});

describe('changes not yet shown in Slack', () => {
  test('are due for one process at a time until they are shown, except for drafts', async () => {
    const order = await rig.save(newOrder());
    await rig.save(newOrder({ state: 'DRAFT' }));
    expect(await claimNotifications(-1)).toEqual([]);
    const claimed = await Promise.all(Array.from({ length: 5 }, () => claimNotifications(0)));
    expect(claimed.flat()).toEqual([order.id]);
    expect(
      await rig.notifications.claim(orderSubject(order.id), secondsLater(0), LEASE_MS),
      'by another process, by ID',
    ).toBeUndefined();
    await rig.ageLeases(20);
    expect(await claimNotifications(0), 'the lease has expired').toEqual([order.id]);

    await rig.notifications.postponeSubject(orderSubject(order.id), secondsLater(200));
    expect(await claimNotifications(199.999), 'while Slack is unavailable').toEqual([]);
    expect(await claimNotifications(200)).toEqual([order.id]);
    expect(await release(order.id)).toBe(true);
    expect(await claimNotifications(1_000)).toEqual([]);

    await rig.apply(order.id, { type: 'cancelled', by: 'U0ALICE' }, secondsLater(1_000));
    expect(await claimNotifications(1_000)).toEqual([order.id]);
  });

  test('aren’t due at night if only people in quiet hours still need a message', async () => {
    const order = await rig.save(newOrder());
    const releaseUntil = async (repeatAt: Date) => expect(await release(order.id, repeatAt)).toBe(true);
    await releaseUntil(secondsLater(9 * 3_600));
    expect(await claimNotifications(0)).toEqual([]);
    expect(
      await rig.notifications.claim(orderSubject(order.id), secondsLater(0), LEASE_MS),
      'by ID',
    ).toBeUndefined();
    expect(await claimNotifications(9 * 3_600), 'in the morning').toEqual([order.id]);

    await releaseUntil(secondsLater(20 * 3_600));
    expect(await claimNotifications(9 * 3_600), 'a wait longer than a night').toEqual([order.id]);
    await releaseUntil(secondsLater(18 * 3_600));
    await rig.store.queueMessageUpdate(order.id, secondsLater(9 * 3_600));
    expect(await claimNotifications(9 * 3_600), 'a new message is needed').toEqual([order.id]);
  });

  test('are due from the first unshown change', async () => {
    const order = newOrder({}, ['a.rest', 'b.rest']);
    await rig.save(order);
    expect(await release(order.id)).toBe(true);
    await rig.apply(
      order.id,
      { type: 'approved', by: 'U0BOB', ...SUFFICIENT_APPROVAL, validApprovers: ['U0BOB'] },
      secondsLater(10),
    );
    await rig.apply(order.id, { type: 'claimed', workerId: 'w' }, secondsLater(100), { leaseMs: LEASE_MS });
    expect((await rig.findDueTimes(order.id)).notifications, 'three seconds after the approval').toEqual(
      secondsLater(13),
    );
  });

  test('are posted again on request', async () => {
    const order = await rig.save(newOrder());
    expect(await release(order.id)).toBe(true);
    await rig.store.queueMessageUpdate(order.id, secondsLater(5));
    expect(await claimNotifications(5)).toEqual([order.id]);
  });
});
