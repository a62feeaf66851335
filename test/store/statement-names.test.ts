import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase, Prisma } from '../../src/store/database.ts';
import { createStatementNames } from '../../src/store/statement-names.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url, maxConnections: 1 });
});

afterAll(async () => {
  await database?.close();
  await testDatabase?.drop();
});

test('a statement has a unique name from its second use on', () => {
  const nameOf = createStatementNames();
  expect([nameOf('SELECT 1'), nameOf('SELECT 2')]).toEqual(['', '']);
  const names = [nameOf('SELECT 1'), nameOf('SELECT 2'), nameOf('SELECT 1'), nameOf('SELECT 2')];
  expect(names).toEqual(['s0', 's1', 's0', 's1']);
});

test('statements that never repeat, and those beyond the limit of 400, have no name', () => {
  const nameOf = createStatementNames();
  const twice = (text: string) => [nameOf(text), nameOf(text)][1];
  for (let n = 0; n < 10_000; n += 1) expect(nameOf(`SELECT ${n}`)).toBe('');
  const named = Array.from({ length: 1_000 }, (_, n) => twice(`SELECT $${n}`)).filter((name) => name !== '');
  expect(new Set(named).size).toBe(named.length);
  expect(named).toHaveLength(400);
  expect(twice('SELECT $7'), 'a named statement keeps its name').toBe('s7');
});

test('the server plans a repeated statement once, from Prisma and from SQL', async () => {
  const prepared = async () => {
    const rows = await database.run(Prisma.sql`SELECT statement FROM pg_prepared_statements`);
    return JSON.stringify(rows);
  };
  for (let n = 0; n < 2; n += 1) {
    await database.prisma.setting.findMany();
    await database.run(Prisma.sql`SELECT ${n}::int AS given`);
  }
  expect(await prepared()).toMatch(/FROM \\"public\\".\\"settings\\"/);
  expect(await prepared()).toContain('SELECT $1::int AS given');
});
