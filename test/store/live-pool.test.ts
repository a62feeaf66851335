import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type Database, openDatabase, Prisma } from '../../src/store/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { DatabaseProxy } from '../support/database-proxy.ts';

const pidRowsSchema = z.array(z.object({ pid: z.number() }));
const proxy = new DatabaseProxy();
let testDatabase: TestDatabase;
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: await proxy.start(testDatabase.url), testAfterIdleMs: 0 });
});
afterAll(async () => {
  await database.close();
  proxy.close();
  await testDatabase.drop();
});

/** Runs one statement per connection at the same time, half of them with Prisma. */
function runQueries(): Promise<unknown[]> {
  return Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      n % 2 === 0 ? database.run(Prisma.sql`SELECT 1`) : database.prisma.setting.count(),
    ),
  );
}

test.each(Array.from({ length: 10 }, (_, n) => n))(
  'queries succeed right after the database is back, run %i',
  async () => {
    await runQueries();
    proxy.cut();
    proxy.restore();
    expect(await runQueries()).toHaveLength(10);
  },
);

test('queries succeed after a firewall dropped idle connections', async () => {
  await runQueries();
  proxy.forget();
  expect(await runQueries()).toHaveLength(10);
});

test('connections to a former server are closed, for Prisma and SQL', async () => {
  await runQueries();
  const formerPids = await listServerPids();
  database.server.addConnection({}, 'another server');
  await runQueries();
  const currentPids = await listServerPids();
  expect(formerPids.filter((each) => currentPids.includes(each))).toEqual([]);
});

/** Lists the IDs of the server processes that handle the pool's connections. */
async function listServerPids(): Promise<readonly unknown[]> {
  const readPid = async (n: number): Promise<unknown> => {
    const statement = Prisma.sql`SELECT pg_backend_pid() AS pid, pg_sleep(0.1)::text`;
    return n % 2 === 0 ? database.run(statement) : database.prisma.$queryRaw(statement);
  };
  const rows = await Promise.all(Array.from({ length: 10 }, (_, n) => readPid(n)));
  return rows.flatMap((found) => pidRowsSchema.parse(found).map(({ pid }) => pid));
}
