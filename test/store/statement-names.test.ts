import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase, Prisma } from '../../src/store/database.ts';
import { createStatementNamer } from '../../src/store/statement-names.ts';
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

test('a statement has a unique name from its second use', () => {
  const getName = createStatementNamer();
  expect([getName('SELECT 1'), getName('SELECT 2')]).toEqual(['', '']);
  const names = [getName('SELECT 1'), getName('SELECT 2'), getName('SELECT 1'), getName('SELECT 2')];
  expect(names).toEqual(['s0', 's1', 's0', 's1']);
});

test('statements that never repeat, and those beyond the limit of 400, have no name', () => {
  const getName = createStatementNamer();
  const getSecondName = (text: string) => [getName(text), getName(text)][1];
  for (let n = 0; n < 10_000; n += 1) expect(getName(`SELECT ${n}`)).toBe('');
  const named = Array.from({ length: 1_000 }, (_, n) => getSecondName(`SELECT $${n}`)).filter(
    (name) => name !== '',
  );
  expect(new Set(named).size).toBe(named.length);
  expect(named).toHaveLength(400);
  expect(getSecondName('SELECT $7'), 'a named statement keeps its name').toBe('s7');
});

test('the server plans a repeated statement once, from Prisma and from SQL', async () => {
  const listPreparedStatements = async () => {
    const rows = await database.run(Prisma.sql`SELECT statement FROM pg_prepared_statements`);
    return JSON.stringify(rows);
  };
  for (let n = 0; n < 2; n += 1) {
    await database.prisma.setting.findMany();
    await database.run(Prisma.sql`SELECT ${n}::int AS given`);
  }
  expect(await listPreparedStatements()).toMatch(/FROM \\"public\\".\\"settings\\"/);
  expect(await listPreparedStatements()).toContain('SELECT $1::int AS given');
});
