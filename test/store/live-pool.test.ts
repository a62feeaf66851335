import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase, Prisma } from '../../src/store/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { DatabaseProxy } from '../support/database-proxy.ts';

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
