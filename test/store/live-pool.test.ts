import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type Database, openDatabase, Prisma } from '../../src/store/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { DatabaseProxy } from '../support/database-proxy.ts';

const pids = z.array(z.object({ pid: z.number() }));
const proxy = new DatabaseProxy();
let testDatabase: TestDatabase;
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: await proxy.start(testDatabase.url), checkAfterMs: 0 });
});
afterAll(async () => {
  await database.close();
  proxy.close();
  await testDatabase.drop();
});

/** As many concurrent statements as there are connections, by Prisma and SQL. */
function ask(): Promise<unknown[]> {
  return Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      n % 2 === 0 ? database.run(Prisma.sql`SELECT 1`) : database.prisma.setting.count(),
    ),
  );
}

test.each(Array.from({ length: 10 }, (_, n) => n))(
  'queries right after the database is back succeed, time %i',
  async () => {
    await ask();
    proxy.cut();
    proxy.mend();
    expect(await ask()).toHaveLength(10);
  },
);

test('queries succeed after something forgot idle connections', async () => {
  await ask();
  proxy.forget();
  expect(await ask()).toHaveLength(10);
});

test('a connection to a former server is closed, for Prisma and SQL', async () => {
  await ask();
  const former = await connections();
  database.server.addConnection({}, 'another server');
  await ask();
  const current = await connections();
  expect(former.filter((each) => current.includes(each))).toEqual([]);
});

/** The server's processes for the connections of the pool. */
async function connections(): Promise<readonly unknown[]> {
  const read = async (n: number): Promise<unknown> => {
    const statement = Prisma.sql`SELECT pg_backend_pid() AS pid, pg_sleep(0.1)::text`;
    return n % 2 === 0 ? database.run(statement) : database.prisma.$queryRaw(statement);
  };
  const rows = await Promise.all(Array.from({ length: 10 }, (_, n) => read(n)));
  return rows.flatMap((found) => pids.parse(found).map(({ pid }) => pid));
}
