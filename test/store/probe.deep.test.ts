import { createServer } from 'node:net';
import { inspect } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { openProbe } from '../../src/store/probe.ts';
import { until } from '../support/demo.ts';
import { newOrder, type Rig, secondsLater, startRig } from './order-rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

function openTestProbe(url = rig.url) {
  const opened = openProbe({ url });
  onTestFinished(() => opened.close());
  return opened;
}

/** @returns a function that releases the lock */
async function lockTable(table: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: rig.url });
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  return () => client.end();
}

test('the probe counts orders by state, and measures how long the oldest approved order waits', async () => {
  const probing = openTestProbe();
  expect(await probing.readOrderFigures(secondsLater(0))).toEqual({
    byState: {},
    queueAgeSeconds: 0,
    unsealedSeconds: 0,
  });
  await rig.save(newOrder());
  await rig.save(newOrder());
  await rig.save(newOrder({ state: 'APPROVED', createdAt: secondsLater(5) }));
  await rig.save(newOrder({ state: 'APPROVED', createdAt: secondsLater(3) }));
  expect(await probing.readOrderFigures(secondsLater(60))).toEqual({
    byState: { PENDING: 2, APPROVED: 2 },
    queueAgeSeconds: 57,
    unsealedSeconds: expect.any(Number),
  });
});

test('the probe responds while orders use all connections of their pool', async () => {
  const unlock = await lockTable('settings');
  const database = openDatabase({ url: rig.url, maxConnections: 2 });
  onTestFinished(() => database.close());
  const blockedQueries = Array.from({ length: 4 }, () =>
    database.run({ text: 'SELECT * FROM settings', values: [] }),
  );
  await until('all connections of the pool wait for the lock', async () => {
    const [row] = await rig.sql(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    );
    return row?.['n'] === 2;
  });
  const probing = openTestProbe();
  expect(await probing.ping()).toBe(true);
  expect((await probing.readOrderFigures(secondsLater(60))).byState).toMatchObject({
    APPROVED: expect.any(Number),
  });
  await unlock();
  await Promise.all(blockedQueries);
});

test('the probe reports a running database while orders can’t be counted, and aborts the count', async () => {
  const unlock = await lockTable('orders');
  const probing = openTestProbe();
  const counting = probing.readOrderFigures(secondsLater(0)).catch((error: unknown) => error);
  expect(await probing.ping()).toBe(true);
  expect(await counting).toMatchObject({ name: 'StoreError' });
  await unlock();
});

describe('an unreachable database', () => {
  async function startSilentServer(): Promise<number> {
    const server = createServer((socket) => socket.on('error', () => undefined));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.close();
    });
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  test.each([
    ['is silent', startSilentServer],
    ['refuses connections', async () => 1],
  ])('that %s is reported as down', async (_what, getPort) => {
    const probing = openTestProbe(`postgresql://bot:hunter2@127.0.0.1:${await getPort()}/steward`);
    const startedAt = performance.now();
    const [up, error] = await Promise.all([
      probing.ping(),
      probing.readOrderFigures(secondsLater(0)).catch((reason: unknown) => reason),
    ]);
    expect(up).toBe(false);
    expect(error).toMatchObject({ name: 'StoreError' });
    expect(inspect(error, { depth: 10 })).not.toContain('hunter2');
    expect(performance.now() - startedAt, 'milliseconds until the probe gave up').toBeLessThan(9_000);
  });
});
