import { createServer, type Server } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createLog } from '../../src/lib/log.ts';
import { openDatabase, StoreError, withStoreError } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { withSession } from '../../src/store/session.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { createTestDatabase } from '../support/database.ts';
import { newOrder, type Rig, startRig } from './order-rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

/** Starts a server that replaces the database's until the test ends. @returns its port */
async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

describe('a working database', () => {
  test('has timeouts for statements and idle transactions', async () => {
    const settings = await rig.database.prisma.$queryRaw`
      SELECT current_setting('statement_timeout') AS statement,
        current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('TimeZone') AS zone`;
    expect(settings).toEqual([{ statement: '10s', idle: '15s', zone: 'UTC' }]);
  });

  test('has its tables in the public schema, regardless of its search path', async () => {
    const { url, drop } = await createTestDatabase('empty');
    onTestFinished(drop);
    const name = new URL(url).pathname.slice(1);
    await withSession(url, async (client) => {
      await client.query(`CREATE SCHEMA bot; ALTER DATABASE ${name} SET search_path = bot, public`);
    });
    await migrate({ url });
    const database = openDatabase({ url });
    onTestFinished(() => database.close());
    expect(await database.run({ text: 'SELECT count(*) AS n FROM orders', values: [] })).toEqual([
      { n: '0' },
    ]);
    expect(await database.prisma.order.count()).toBe(0);
    const schemas = await withSession(url, async (client) => {
      const { rows } = await client.query(
        `SELECT DISTINCT schemaname FROM pg_tables WHERE schemaname IN ('bot', 'public')`,
      );
      return rows;
    });
    expect(schemas).toEqual([{ schemaname: 'public' }]);
  });

  test('gets no startup parameters that PgBouncer would refuse', async () => {
    const startupParameters: string[][] = [];
    const bouncer = createServer((socket) => {
      socket.once('data', (packet) => {
        // The packet has its length, a version, and zero-terminated names and values.
        startupParameters.push(
          packet
            .subarray(8)
            .toString()
            .split('\0')
            .filter((_, index) => index % 2 === 0),
        );
        socket.destroy();
      });
    });
    const port = await listen(bouncer);
    const url = `postgresql://bot:hunter2@127.0.0.1:${port}/steward`;
    const database = openDatabase({ url });
    onTestFinished(() => database.close());
    await expect(database.run({ text: 'SELECT 1', values: [] })).rejects.toThrow();
    await expect(migrate({ url })).rejects.toThrow();
    expect(startupParameters.length).toBeGreaterThanOrEqual(2);
    const known = ['user', 'database', 'client_encoding', 'application_name', ''];
    expect(startupParameters.flat().filter((name) => !known.includes(name))).toEqual([]);
  });

  test('is reconnected after it closes a connection', async () => {
    const { id } = await rig.save(newOrder());
    const lines: string[] = [];
    const log = createLog('warn', { write: (line: string) => lines.push(line) });
    const database = openDatabase({ url: rig.url, log, maxConnections: 1 });
    onTestFinished(() => database.close());
    const store = createOrderStore(database, BOT_SIGNER);
    const rows = await database.prisma.$queryRaw`SELECT pg_backend_pid() AS pid`;
    const [{ pid }] = z.tuple([z.object({ pid: z.number() })]).parse(rows);
    await rig.sql('SELECT pg_terminate_backend($1)', [pid]);
    await expect
      .poll(() => lines.join(''), { timeout: 10_000, message: 'the lost connection is not in the log' })
      .toContain('connection');
    expect((await store.load(id, 'system'))?.id).toBe(id);
  });
});

describe('an unreachable database', () => {
  test('that hangs is reported within seconds, without a secret', async () => {
    const port = await listen(createServer((socket) => socket.on('error', () => undefined)));
    const database = openDatabase({ url: `postgresql://bot:hunter2@127.0.0.1:${port}/steward` });
    onTestFinished(() => database.close());
    const store = createOrderStore(database, BOT_SIGNER);

    const startedAt = performance.now();
    const error = await store.load('x1', 'system').then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(performance.now() - startedAt, 'the query hung').toBeLessThan(9_000);
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ message: expect.stringMatching(/^orders\.load: the database failed/) });
    expect(inspect(error, { depth: 10 })).not.toContain('hunter2');
  });

  test('that refuses connections is reported without a secret', async () => {
    const database = openDatabase({ url: 'postgresql://bot:hunter2@127.0.0.1:1/steward' });
    onTestFinished(() => database.close());
    const failing = withStoreError('asking', () => database.prisma.setting.findMany());
    await expect(failing).rejects.toMatchObject({ name: 'StoreError', code: 'DatabaseNotReachable' });
    await expect(failing).rejects.not.toThrow(/hunter2/);
  });
});

describe('errors', () => {
  test('name the activity and the code, without the values of a query', async () => {
    const failing = withStoreError('saving a setting', () =>
      rig.database.prisma.setting.create({
        data: { key: 'k', value: 'a value', updatedBy: 'U1', updatedAt: new Date(Number.NaN) },
      }),
    );
    await expect(failing).rejects.toMatchObject({ message: 'saving a setting: the database failed' });
    const badJson = withStoreError('reading', () => rig.database.prisma.$queryRaw`SELECT '{'::jsonb`);
    await expect(badJson).rejects.toMatchObject({
      message: 'reading: the database failed (22P02)',
      code: '22P02',
    });
  });

  test('keep the activity that failed first', async () => {
    const failing = withStoreError('all of it', () =>
      withStoreError('a part of it', () => Promise.reject(new Error('disk'))),
    );
    await expect(failing).rejects.toMatchObject({ message: 'a part of it: the database failed' });
  });
});
