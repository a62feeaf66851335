import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { candidateRanges } from '../../src/expiry/candidates.ts';
import { collectDue } from '../../src/expiry/digest.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { candidatesQuery, createReminderStore } from '../../src/store/reminders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { fillWatchList } from '../support/watch-list.ts';

const NAMES = 100_000;
const DUE_TODAY = 137;
const NOW = new Date('2027-06-15T09:00:00Z');
const OPTIONS = { now: NOW, thresholds: [60, 30, 14, 7, 3, 1], timeZone: 'UTC' };

let testDatabase: TestDatabase;
let client: pg.Client;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  client = new pg.Client({ connectionString: testDatabase.url });
  await client.connect();
  await fillWatchList(client, NOW, { names: NAMES, due: DUE_TODAY });
  database = openDatabase({ url: testDatabase.url });
});

afterAll(async () => {
  await database?.close();
  await client?.end();
  await testDatabase?.drop();
});

test(`finds what is due today among ${NAMES} names, and nothing else`, async () => {
  const { due, more } = await collectDue(createReminderStore(database), OPTIONS);
  expect({ due: due.length, more }).toEqual({ due: DUE_TODAY, more: false });
});

test('takes less than a second of database time', async () => {
  let total = 0;
  for (const range of candidateRanges(OPTIONS)) {
    const plan = await planOf(candidatesQuery({ ...range, afterName: '' }), 'ANALYZE');
    total += Number(/Execution Time: ([\d.]+) ms/.exec(plan)?.[1]);
  }
  expect(total, 'milliseconds of database time').toBeLessThan(1_000);
});

test.each(candidateRanges(OPTIONS))('finds the names for threshold $threshold by an index', async (range) => {
  const plan = await planOf(candidatesQuery({ ...range, afterName: '' }));
  expect(plan, 'the plan of the query').toMatch(/Index (Only )?Scan (using|on) domains_expires_at_/);
  expect(plan, 'the plan of the query').not.toContain('Seq Scan');
});

async function planOf(
  { text, values }: { text: string; values: unknown[] },
  analyze: 'ANALYZE' | '' = '',
): Promise<string> {
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${analyze} ${text}`, values);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}
