import { createServer } from 'node:net';
import { inspect } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { openProbe } from '../../src/store/probe.ts';
import { until } from '../support/demo.ts';
import { at, newOrder, type Rig, startRig } from './order-rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

function probe(url = rig.url) {
  const opened = openProbe({ url });
  onTestFinished(() => opened.close());
  return opened;
}

/** Takes a lock. @returns a function that releases it */
async function lock(table: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: rig.url });
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  return () => client.end();
}

test('the probe counts orders by state, and returns the wait of the oldest approved order', async () => {
  const probing = probe();
  expect(await probing.readOrderFigures(at(0))).toEqual({
    byState: {},
    queueAgeSeconds: 0,
    unsealedSeconds: 0,
  });
  await rig.save(newOrder());
  await rig.save(newOrder());
  await rig.save(newOrder({ state: 'APPROVED', createdAt: at(5) }));
  await rig.save(newOrder({ state: 'APPROVED', createdAt: at(3) }));
  expect(await probing.readOrderFigures(at(60))).toEqual({
    byState: { PENDING: 2, APPROVED: 2 },
    queueAgeSeconds: 57,
    unsealedSeconds: expect.any(Number),
  });
});

test('the probe responds while orders use all connections of their pool', async () => {
  const unlock = await lock('settings');
  const database = openDatabase({ url: rig.url, maxConnections: 2 });
  onTestFinished(() => database.close());
  const waiting = Array.from({ length: 4 }, () =>
    database.run({ text: 'SELECT * FROM settings', values: [] }),
  );
  await until('all connections of the pool wait for the lock', async () => {
    const [row] = await rig.sql(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    );
    return row?.['n'] === 2;
  });
  const probing = probe();
  expect(await probing.ping()).toBe(true);
  expect((await probing.readOrderFigures(at(60))).byState).toMatchObject({ APPROVED: expect.any(Number) });
  await unlock();
  await Promise.all(waiting);
});

test('the probe reports a running database while orders can’t be counted, and aborts the count', async () => {
  const unlock = await lock('orders');
  const probing = probe();
  const counting = probing.readOrderFigures(at(0)).catch((error: unknown) => error);
  expect(await probing.ping()).toBe(true);
  expect(await counting).toMatchObject({ name: 'StoreError' });
  await unlock();
});

describe('an unreachable database', () => {
  async function silentServer(): Promise<number> {
    const server = createServer((socket) => socket.on('error', () => undefined));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.close();
    });
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  test.each([
    ['is silent', silentServer],
    ['refuses connections', async () => 1],
  ])('that %s is reported as down', async (_what, portOf) => {
    const probing = probe(`postgresql://bot:hunter2@127.0.0.1:${await portOf()}/steward`);
    const begun = performance.now();
    const [up, error] = await Promise.all([
      probing.ping(),
      probing.readOrderFigures(at(0)).catch((reason: unknown) => reason),
    ]);
    expect(up).toBe(false);
    expect(error).toMatchObject({ name: 'StoreError' });
    expect(inspect(error, { depth: 10 })).not.toContain('hunter2');
    expect(performance.now() - begun, 'ms until the probe gave up').toBeLessThan(9_000);
  });
});
