import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  createLoop,
  createReconciler,
  type Loop,
  type Reconciler,
  startPeriodicTask,
} from '../../src/app/reconcile.ts';
import { changeOrder } from '../../src/orders/change-order.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { newGate } from '../orders/rig.ts';
import { SUFFICIENT_APPROVAL } from '../orders/sample.ts';
import { newOrder, type Rig, START_TIME, secondsLater, startRig } from '../store/order-rig.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { until } from '../support/demo.ts';

/* The loops over due work: how a process starts given work, and how it finds more. */

const log = pino({ level: 'silent' });
const APPROVED_BY_BOB = {
  ...SUFFICIENT_APPROVAL,
  type: 'approved',
  by: 'U0BOB',
  validApprovers: ['U0BOB'],
} as const;
/** Longer than any test takes. */
const NEVER_MS = 1e9;

describe('a loop', () => {
  let loop: Loop;
  afterEach(() => loop.stop());

  /** @param claimable the work that the loop finds */
  const createTestLoop = (
    handle: (id: string, isClaimed: boolean) => Promise<void>,
    { concurrency = 8, periodMs = NEVER_MS, claimable = [] as string[] } = {},
  ) => {
    loop = createLoop({
      name: 'test',
      concurrency,
      periodMs,
      claim: async (limit) => claimable.splice(0, limit),
      handle,
      onFailed: () => undefined,
      log,
    });
    return loop;
  };

  test('runs added work immediately, and finds other work when it starts', async () => {
    const done: string[] = [];
    const work = async (id: string, isClaimed: boolean) => void done.push(`${id} ${isClaimed}`);
    createTestLoop(work, { claimable: ['found'] }).add('given');
    await loop.idle();
    expect(done).toEqual(['given false']);
    loop.start();
    await until('the other work is found', () => done.length === 2);
    expect(done[1]).toBe('found true');
  });

  test('finds unannounced work within a period', async () => {
    const done: string[] = [];
    const claimable: string[] = [];
    createTestLoop(async (id) => void done.push(id), { claimable, periodMs: 20 }).start();
    claimable.push('lost wake-up');
    await until('the work is found', () => done.length === 1);
  });

  test('processes a backlog without waiting for its period', async () => {
    const done = new Set<string>();
    const claimable = Array.from({ length: 600 }, (_, n) => `${n}`);
    createTestLoop(async (id) => void done.add(id), { claimable }).start();
    await until('all work is done', () => done.size === 600);
  });

  test('limits its concurrency, deduplicates queued work, and reruns work added meanwhile', async () => {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const work = (id: string) => {
      begun.push(id);
      return new Promise<void>((resolve) => ends.push(resolve));
    };
    createTestLoop(work);
    for (const id of [...Array.from({ length: 8 }, (_, n) => `${n}`), 'next', 'next', 'last']) loop.add(id);
    expect(begun).toHaveLength(8);
    ends.shift()?.();
    await until('the next work has begun', () => begun.includes('next'));
    loop.add('next');
    for (const end of ends.splice(0)) end();
    await until('all work has begun', () => begun.length === 11);
    expect(begun.slice(8)).toEqual(['next', 'last', 'next']);
    for (const end of ends.splice(0)) end();
    await loop.idle();
  });

  test('claims at least one piece of work, however much was added', async () => {
    const ends: (() => void)[] = [];
    const begun: string[] = [];
    const work = (id: string) => {
      begun.push(id);
      return new Promise<void>((resolve) => ends.push(resolve));
    };
    createTestLoop(work, { concurrency: 2, claimable: ['abandoned', 'later'] });
    for (const id of ['a', 'b', 'c']) loop.add(id);
    await loop.poll();
    while (!begun.includes('abandoned')) {
      for (const end of ends.splice(0)) end();
      await until('other work has begun', () => ends.length > 0);
    }
    for (const end of ends.splice(0)) end();
  });

  test('continues after failed work and failed claims', async () => {
    const done: string[] = [];
    let searches = 0;
    let failures = 0;
    loop = createLoop({
      name: 'test',
      concurrency: 1,
      periodMs: 10,
      claim: async () => {
        searches += 1;
        if (searches === 1) throw new Error('the database is away');
        return searches === 2 ? ['bad', 'good'] : [];
      },
      handle: async (id) => {
        if (id === 'bad') throw new Error('no');
        done.push(id);
      },
      onFailed: () => {
        failures += 1;
      },
      log,
    });
    loop.start();
    await until('the good work is done', () => done.includes('good'));
    expect(failures).toBe(2);
  });

  test('starts no work after it is stopped, and lets running work end', async () => {
    const begun: string[] = [];
    const held = newGate();
    createTestLoop(
      async (id) => {
        begun.push(id);
        await held.opened;
      },
      { concurrency: 1, claimable: ['found'] },
    );
    loop.add('first');
    loop.add('second');
    loop.stop();
    loop.add('third');
    await loop.poll();
    held.open();
    await loop.idle();
    expect(begun).toEqual(['first']);
  });
});

describe('a periodic task', () => {
  test('runs at start, never concurrently, and once more if requested while running', async () => {
    const ends: (() => void)[] = [];
    let begun = 0;
    const work = () => {
      begun += 1;
      return new Promise<void>((resolve) => ends.push(resolve));
    };
    const task = startPeriodicTask({ name: 'test', periodMs: 5, work, onEnded: () => undefined, log });
    void task.runNow();
    void task.runNow();
    expect(begun).toBe(1);
    ends.shift()?.();
    await until('the task runs once more', () => begun === 2);
    task.stop();
    ends.shift()?.();
    await task.idle();
    expect(begun).toBe(2);
  });

  test('continues after a failure', async () => {
    let tries = 0;
    const work = async () => {
      tries += 1;
      throw new Error('no');
    };
    const outcomes: string[] = [];
    const onEnded = (outcome: string) => void outcomes.push(outcome);
    const task = startPeriodicTask({ name: 'test', periodMs: 1, work, onEnded, log });
    await until('the task is retried', () => tries > 2);
    expect(outcomes.slice(0, 2)).toEqual(['failed', 'failed']);
    task.stop();
  });
});

describe('processes on one database', () => {
  const LEASE_MS = 20_000;
  let rig: Rig;
  const running: Reconciler[] = [];
  beforeAll(async () => {
    rig = await startRig();
  });
  afterEach(async () => {
    for (const each of running) each.stop();
    await Promise.all(running.splice(0).map((each) => each.idle()));
    await rig.sql('TRUNCATE orders, notifications CASCADE');
  });
  afterAll(() => rig.close());

  /** Starts a process. */
  const start = (
    { advance, show }: Partial<Record<'advance' | 'show', (orderId: string) => Promise<void>>> = {},
    periodMs = 50,
  ) => {
    const store = createOrderStore(rig.database, BOT_SIGNER);
    const nothing = async () => undefined;
    const reconciler = createReconciler({
      store,
      notifications: rig.notifications,
      advance: advance ?? nothing,
      notify: async ({ id }) => show?.(id),
      canRefresh: () => true,
      leaseMs: LEASE_MS,
      notificationLeaseMs: LEASE_MS,
      periodMs,
      onFailed: () => undefined,
      now: () => secondsLater(10),
      log,
    });
    running.push(reconciler);
    reconciler.start();
    return { store, now: () => secondsLater(10), advance: reconciler.advance };
  };
  const newApprovedOrder = () => newOrder({ state: 'APPROVED', expiresAt: undefined, remindAt: undefined });

  test('advance each order once, and notify once', async () => {
    const orders = await Promise.all(Array.from({ length: 20 }, () => rig.save(newApprovedOrder())));
    const advanced: string[] = [];
    const shown: string[] = [];
    for (let process = 0; process < 3; process += 1)
      start({
        advance: async (id) => void advanced.push(id),
        show: async (id) => void shown.push(id),
      });
    await until('all orders are advanced and shown', () => advanced.length >= 20 && shown.length >= 20);
    for (const { id } of orders) {
      expect(advanced.filter((each) => each === id)).toEqual([id]);
      expect(shown.filter((each) => each === id)).toEqual([id]);
    }
  });

  test('advance an order immediately in the process that changed it', async () => {
    const done: string[] = [];
    const [toApprove, toCancel] = [await rig.save(newOrder()), await rig.save(newOrder())];
    const context = start(
      {
        advance: async (id) => void done.push(`advanced ${id}`),
        show: async (id) => void done.push(`shown ${id}`),
      },
      NEVER_MS,
    );
    await until('both cards are shown', () => done.length === 2);
    done.length = 0;
    await changeOrder(context, toApprove.id, () => ({ event: APPROVED_BY_BOB }));
    await changeOrder(context, toCancel.id, () => ({ event: { type: 'cancelled', by: 'U0ALICE' } }));
    await until('both orders are handled', () => done.length === 2);
    expect(done.toSorted()).toEqual([`advanced ${toApprove.id}`, `shown ${toCancel.id}`]);
  });

  test('execute orders during a Slack outage', async () => {
    const held = newGate();
    const advanced: string[] = [];
    const shown: string[] = [];
    start({
      advance: async (id) => void advanced.push(id),
      show: async (id) => {
        shown.push(id);
        await held.opened;
      },
    });
    for (let n = 0; n < 60; n += 1) await rig.save(newApprovedOrder());
    await until('all orders are executed', () => advanced.length >= 60);
    expect(shown).toHaveLength(8);
    held.open();
  });

  test('expire orders during long executions', async () => {
    const held = newGate();
    const expired: string[] = [];
    let executing = 0;
    start({
      advance: async (id) => {
        if ((await rig.read(id)).state === 'PENDING') expired.push(id);
        else {
          executing += 1;
          await held.opened;
        }
      },
    });
    for (let n = 0; n < 60; n += 1) await rig.save(newApprovedOrder());
    await until('all execution slots are taken', () => executing === 48);
    const { id } = await rig.save(newOrder({ remindAt: undefined, expiresAt: secondsLater(9) }));
    await until('the order is due to expire', () => expired.includes(id));
    held.open();
  });

  test('execute orders while registries hang', async () => {
    const held = newGate();
    const advanced: string[] = [];
    start({
      advance: async (id) => {
        if ((await rig.read(id)).state === 'UNKNOWN') await held.opened;
        else advanced.push(id);
      },
    });
    for (let n = 0; n < 60; n += 1) {
      const { id } = await rig.save(
        newOrder({ ...newApprovedOrder(), id: `unknown-${n}`, deliveryId: `u${n}`, state: 'UNKNOWN' }),
      );
      await rig.sql('UPDATE orders SET due_at = $2 WHERE id = $1', [id, START_TIME]);
    }
    await rig.save(newApprovedOrder());
    await until('the approved order is executed', () => advanced.length === 1);
    held.open();
  });

  test('reschedule failing work in its row', async () => {
    const { id } = await rig.save(newApprovedOrder());
    let tries = 0;
    start({
      advance: async () => {
        tries += 1;
        throw new Error('unreadable row');
      },
    });
    await until('the order is rescheduled', async () => {
      const [row] = await rig.sql(
        'SELECT failed_attempts, lease_until > now() AS rests FROM orders WHERE id = $1',
        [id],
      );
      return row?.['failed_attempts'] === 1 && row['rests'] === true;
    });
    expect(tries).toBe(1);
  });
});
