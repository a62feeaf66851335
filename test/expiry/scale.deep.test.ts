import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listCandidateRanges } from '../../src/expiry/candidates.ts';
import { collectDueReminders } from '../../src/expiry/digest.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { selectCandidates } from '../../src/store/reminder-statements.ts';
import { createReminderStore } from '../../src/store/reminders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { fillWatchList } from '../support/watch-list.ts';

const NAME_COUNT = 100_000;
const DUE_COUNT = 137;
const NOW = new Date('2027-06-15T09:00:00Z');
const OPTIONS = { now: NOW, thresholds: [60, 30, 14, 7, 3, 1], timeZone: 'UTC' };

let testDatabase: TestDatabase;
let client: pg.Client;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  client = new pg.Client({ connectionString: testDatabase.url });
  await client.connect();
  await fillWatchList(client, NOW, { names: NAME_COUNT, due: DUE_COUNT });
  database = openDatabase({ url: testDatabase.url });
});

afterAll(async () => {
  await database?.close();
  await client?.end();
  await testDatabase?.drop();
});

test(`a digest finds exactly the due names among ${NAME_COUNT}`, async () => {
  const { due, hasMore } = await collectDueReminders(createReminderStore(database, 'T0STEWARD'), OPTIONS);
  expect({ due: due.length, hasMore }).toEqual({ due: DUE_COUNT, hasMore: false });
});

test('the query for due names takes less than a second of database time', async () => {
  const plan = await explainQuery('ANALYZE');
  const total = Number(/Execution Time: ([\d.]+) ms/.exec(plan)?.[1]);
  expect(total, 'milliseconds of database time').toBeLessThan(1_000);
});

test('ranges of any size are streamed completely, a thousand names at a time', async () => {
  const at = (days: number) => new Date(NOW.getTime() + days * 86_400_000);
  const ranges = [
    { threshold: -10, from: at(3), until: at(12) },
    { threshold: 7, from: at(10), until: at(11) },
    { threshold: 7, from: at(5), until: at(25) },
  ];
  const streamed: string[] = [];
  let largest = 0;
  for await (const batch of createReminderStore(database, 'T0STEWARD').streamCandidates(ranges)) {
    largest = Math.max(largest, batch.length);
    streamed.push(...batch.map(({ name }) => name));
  }
  const expected: string[] = [];
  for (const { threshold, from, until } of ranges) {
    const { rows } = await client.query<{ name: string }>(
      `SELECT name FROM domains WHERE expires_at >= $1 AND expires_at < $2 AND reminded_threshold > $3
       ORDER BY expires_at, name`,
      [from, until, threshold],
    );
    expected.push(...rows.map(({ name }) => name));
  }
  expect(expected.length).toBeGreaterThan(5_000);
  expect(streamed).toEqual(expected);
  expect(largest, 'names in memory at once').toBeLessThanOrEqual(1_001);
});

test('the query for due names uses the index', async () => {
  expectIndexScan(await explainQuery());
});

// PostgreSQL may use a generic plan for a named statement.
test('the generic plan of the query uses the index', async () => {
  const { text } = selectCandidates([]);
  expectIndexScan(await explain(`EXPLAIN (GENERIC_PLAN) ${text}`));
});

function expectIndexScan(plan: string): void {
  expect(plan, 'the plan of the query').toMatch(/Index (Only )?Scan (using|on) domains_expires_at_/);
  expect(plan, 'the plan of the query').toContain(
    'Index Cond: ((expires_at >= step.since) AND (expires_at < step.until) AND (reminded_threshold > step.threshold))',
  );
}

async function explainQuery(analyze: 'ANALYZE' | '' = ''): Promise<string> {
  const { text, values } = selectCandidates(
    listCandidateRanges(OPTIONS).map((range) => ({ ...range, afterName: '' })),
  );
  return explain(`EXPLAIN ${analyze} ${text}`, values);
}

async function explain(text: string, values?: unknown[]): Promise<string> {
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(text, values);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}
