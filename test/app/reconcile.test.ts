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
import { gate } from '../orders/rig.ts';
import { ENOUGH } from '../orders/sample.ts';
import { at, newOrder, type Rig, startRig, T0 } from '../store/order-rig.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { until } from '../support/demo.ts';

/* The loops over due work: how a process starts work at once, and how it finds more. */

const log = pino({ level: 'silent' });
const APPROVED_BY_BOB = { ...ENOUGH, type: 'approved', by: 'U0BOB', validApprovers: ['U0BOB'] } as const;
/** Longer than any test takes. */
const NEVER_MS = 1e9;

describe('a loop', () => {
  let loop: Loop;
  afterEach(() => loop.stop());

  /** A loop over a list. @param claimable the work it finds */
  const over = (
    work: (id: string, isClaimed: boolean) => Promise<void>,
    { concurrency = 8, periodMs = NEVER_MS, claimable = [] as string[] } = {},
  ) => {
    loop = createLoop({
      name: 'test',
      concurrency,
      periodMs,
      claim: async (limit) => claimable.splice(0, limit),
      work,
      onFailed: () => undefined,
      log,
    });
    return loop;
  };

  test('starts given work at once, and finds the rest when it starts', async () => {
    const done: string[] = [];
    const work = async (id: string, isClaimed: boolean) => void done.push(`${id} ${isClaimed}`);
    over(work, { claimable: ['found'] }).add('given');
    await loop.idle();
    expect(done).toEqual(['given false']);
    loop.start();
    await until('the other is found', () => done.length === 2);
    expect(done[1]).toBe('found true');
  });

  test('finds unannounced work within a period', async () => {
    const done: string[] = [];
    const claimable: string[] = [];
    over(async (id) => void done.push(id), { claimable, periodMs: 20 }).start();
    claimable.push('lost wake-up');
    await until('it is found', () => done.length === 1);
  });

  test('works off a backlog without waiting for its period', async () => {
    const done = new Set<string>();
    const claimable = Array.from({ length: 600 }, (_, n) => `${n}`);
    over(async (id) => void done.add(id), { claimable }).start();
    await until('all are done', () => done.size === 600);
  });

  test('starts no more than it has room for; starts the same work once, and again if it was given while running', async () => {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const work = (id: string) => {
      begun.push(id);
      return new Promise<void>((resolve) => ends.push(resolve));
    };
    over(work);
    for (const id of [...Array.from({ length: 8 }, (_, n) => `${n}`), 'next', 'next', 'last']) loop.add(id);
    expect(begun).toHaveLength(8);
    ends.shift()?.();
    await until('the next one has begun', () => begun.includes('next'));
    loop.add('next');
    for (const end of ends.splice(0)) end();
    await until('all have begun', () => begun.length === 11);
    expect(begun.slice(8)).toEqual(['next', 'last', 'next']);
    for (const end of ends.splice(0)) end();
    await loop.idle();
  });

  test('claims at least one, however much it was given', async () => {
    const ends: (() => void)[] = [];
    const begun: string[] = [];
    const work = (id: string) => {
      begun.push(id);
      return new Promise<void>((resolve) => ends.push(resolve));
    };
    over(work, { concurrency: 2, claimable: ['abandoned', 'later'] });
    for (const id of ['a', 'b', 'c']) loop.add(id);
    await loop.poll();
    while (!begun.includes('abandoned')) {
      for (const end of ends.splice(0)) end();
      await until('others have begun', () => ends.length > 0);
    }
    for (const end of ends.splice(0)) end();
  });

  test('continues after failed work, and after a failed search', async () => {
    const done: string[] = [];
    let looks = 0;
    let failures = 0;
    loop = createLoop({
      name: 'test',
      concurrency: 1,
      periodMs: 10,
      claim: async () => {
        looks += 1;
        if (looks === 1) throw new Error('the database is away');
        return looks === 2 ? ['bad', 'good'] : [];
      },
      work: async (id) => {
        if (id === 'bad') throw new Error('no');
        done.push(id);
      },
      onFailed: () => {
        failures += 1;
      },
      log,
    });
    loop.start();
    await until('the good one is done', () => done.includes('good'));
    expect(failures).toBe(2);
  });

  test('stops: running work ends, and no other work starts', async () => {
    const begun: string[] = [];
    const held = gate();
    over(
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

describe('repeated work', () => {
  test('runs at start, one at a time, and once more if requested meanwhile', async () => {
    const ends: (() => void)[] = [];
    let begun = 0;
    const work = () => {
      begun += 1;
      return new Promise<void>((resolve) => ends.push(resolve));
    };
    const task = startPeriodicTask({ name: 'test', everyMs: 5, work, onEnded: () => undefined, log });
    void task.runNow();
    void task.runNow();
    expect(begun).toBe(1);
    ends.shift()?.();
    await until('it is done once more', () => begun === 2);
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
    const task = startPeriodicTask({ name: 'test', everyMs: 1, work, onEnded, log });
    await until('it is tried again', () => tries > 2);
    expect(outcomes.slice(0, 2)).toEqual(['failed', 'failed']);
    task.stop();
  });
});

describe('two processes on one database', () => {
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
  afterAll(() => rig.end());

  /** A process that records its work. */
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
      now: () => at(10),
      log,
    });
    running.push(reconciler);
    reconciler.start();
    return { store, now: () => at(10), advance: reconciler.advance };
  };
  const approved = () => newOrder({ state: 'APPROVED', expiresAt: undefined, remindAt: undefined });

  test('carry out an order once, and notify of it once', async () => {
    const orders = await Promise.all(Array.from({ length: 20 }, () => rig.keep(approved())));
    const advanced: string[] = [];
    const shown: string[] = [];
    for (let process = 0; process < 3; process += 1)
      start({
        advance: async (id) => void advanced.push(id),
        show: async (id) => void shown.push(id),
      });
    await until('all are taken', () => advanced.length >= 20 && shown.length >= 20);
    for (const { id } of orders) {
      expect(advanced.filter((each) => each === id)).toEqual([id]);
      expect(shown.filter((each) => each === id)).toEqual([id]);
    }
  });

  test('the process that changes an order advances it at once', async () => {
    const done: string[] = [];
    const [wanted, unwanted] = [await rig.keep(newOrder()), await rig.keep(newOrder())];
    const context = start(
      {
        advance: async (id) => void done.push(`advanced ${id}`),
        show: async (id) => void done.push(`shown ${id}`),
      },
      NEVER_MS,
    );
    await until('both cards are shown', () => done.length === 2);
    done.length = 0;
    await changeOrder(context, wanted.id, () => ({ event: APPROVED_BY_BOB }));
    await changeOrder(context, unwanted.id, () => ({ event: { type: 'cancelled', by: 'U0ALICE' } }));
    await until('it is done', () => done.length === 2);
    expect(done.toSorted()).toEqual([`advanced ${wanted.id}`, `shown ${unwanted.id}`]);
  });

  test('a Slack outage delays no execution', async () => {
    const held = gate();
    const advanced: string[] = [];
    const shown: string[] = [];
    start({
      advance: async (id) => void advanced.push(id),
      show: async (id) => {
        shown.push(id);
        await held.opened;
      },
    });
    for (let n = 0; n < 60; n += 1) await rig.keep(approved());
    await until('all are carried out', () => advanced.length >= 60);
    expect(shown).toHaveLength(8);
    held.open();
  });

  test('long executions delay no expiring order', async () => {
    const held = gate();
    const over: string[] = [];
    let executing = 0;
    start({
      advance: async (id) => {
        if ((await rig.read(id)).state === 'PENDING') over.push(id);
        else {
          executing += 1;
          await held.opened;
        }
      },
    });
    for (let n = 0; n < 60; n += 1) await rig.keep(approved());
    await until('there is no room for more', () => executing === 48);
    const { id } = await rig.keep(newOrder({ remindAt: undefined, expiresAt: at(9) }));
    await until('it runs out', () => over.includes(id));
    held.open();
  });

  test('hanging registries delay no execution', async () => {
    const held = gate();
    const advanced: string[] = [];
    start({
      advance: async (id) => {
        if ((await rig.read(id)).state === 'UNKNOWN') await held.opened;
        else advanced.push(id);
      },
    });
    for (let n = 0; n < 60; n += 1) {
      const { id } = await rig.keep(
        newOrder({ ...approved(), id: `unknown-${n}`, deliveryId: `u${n}`, state: 'UNKNOWN' }),
      );
      await rig.sql('UPDATE orders SET due_at = $2 WHERE id = $1', [id, T0]);
    }
    await rig.keep(approved());
    await until('it is carried out', () => advanced.length === 1);
    held.open();
  });

  test('work that keeps failing is rescheduled in its row', async () => {
    const { id } = await rig.keep(approved());
    let tries = 0;
    start({
      advance: async () => {
        tries += 1;
        throw new Error('its row cannot be read');
      },
    });
    await until('it is put off', async () => {
      const [row] = await rig.sql(
        'SELECT failed_attempts, lease_until > now() AS rests FROM orders WHERE id = $1',
        [id],
      );
      return row?.['failed_attempts'] === 1 && row['rests'] === true;
    });
    expect(tries).toBe(1);
  });
});
