import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { groupBy } from '../../src/lib/collections.ts';
import { forgetPerson } from '../../src/store/forget-person.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { dumpDatabase } from '../support/demo.ts';

/*
 * Every column that can hold text has a person's ID: alone, in a sentence, and as a JSON key and value.
 */

const FORGOTTEN_PERSON = 'U0GONE';
/** A person who is named in these columns can't be forgotten. */
const REFUSED_COLUMNS = ['settings.value', 'policy_versions.rules', 'policy_drafts.rules'];

/** Columns with IDs, codes and hashes that the bot generates, and with roles of the database. */
const GENERATED_COLUMN =
  /\.(id|team_id|order_id|incident_id|endpoint_id|statement_hash)$|^(seals|anchors|ledger_entries|unsealed_events)\.|^events\.(kind|subject_kind|forgotten_by)$|^observations\.(name|origin)$/;

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const columnRows = z.array(z.object({ table: z.string(), column: z.string(), type: z.string() }));
const quoteText = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** Returns a SQL value that names the person in every way its type allows. @param n makes rows differ */
function createContent(column: string, type: string, person: string, n: number): string {
  if (REFUSED_COLUMNS.includes(column)) return "'{}'";
  if (GENERATED_COLUMN.test(column) && type === 'text') return `'id${n}'`;
  const sentence = n === 0 ? person : `ask <@${person}>,\n${person} knows (${n})`;
  const json = JSON.stringify({ by: person, [person]: [{ said: sentence }], [`${person}2`]: `${person}2` });
  switch (type) {
    case 'text':
      return quoteText(sentence);
    case 'json':
    case 'jsonb':
      return quoteText(json);
    case 'ARRAY':
      return `ARRAY[${quoteText(person)}, ${quoteText(sentence)}]`;
    case 'bytea':
      return "'\\x00'";
    case 'boolean':
      return 'false';
    case 'date':
    case 'timestamp with time zone':
      return 'now()';
    case 'integer':
    case 'bigint':
      return String(1_000 + n);
    default:
      throw new Error(`no value for the type ${type}`);
  }
}

async function fillTables(person: string, firstRow: number): Promise<void> {
  const { rows } = await client.query(
    `SELECT table_name AS table, column_name AS column, data_type AS type FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name <> '_prisma_migrations' ORDER BY 1, ordinal_position`,
  );
  const tables = groupBy(columnRows.parse(rows), ({ table }) => table);
  // This disables foreign keys and triggers, because the rows don't refer to each other.
  await client.query('SET session_replication_role = replica');
  for (const [table, columns] of tables)
    for (const n of table === 'installation' ? [] : [firstRow, firstRow + 1]) {
      const values = columns.map(({ column, type }) =>
        table === 'accounts' && column === 'team_key'
          ? 'NULL'
          : createContent(`${table}.${column}`, type, person, n),
      );
      await client.query(
        `INSERT INTO "${table}" (${columns.map(({ column }) => `"${column}"`).join(', ')}) VALUES (${values.join(', ')})`,
      );
    }
  await client.query('SET session_replication_role = origin');
}

test('no stored row names a forgotten person', async () => {
  for (const [n, person] of [FORGOTTEN_PERSON, 'U0NEXT'].entries()) {
    await fillTables(person, n * 2);
    const personPattern = new RegExp(`(?<![A-Z0-9])${person}(?![A-Z0-9])`);
    const listRowsWithPerson = async () =>
      (await dumpDatabase(database.url)).split('\n').filter((row) => personPattern.test(row));
    expect((await listRowsWithPerson()).length).toBeGreaterThan(60);
    const dryRunResult = await forgetPerson(client, person, { dryRun: true });
    expect(await forgetPerson(client, person, { dryRun: false })).toEqual(dryRunResult);
    expect(dryRunResult).toMatchObject({ isDone: true });
    expect(await listRowsWithPerson()).toEqual([]);
    expect(await dumpDatabase(database.url), 'an ID with the same prefix stays').toContain(`${person}2`);
  }
});

test('a person named in another person’s open order can’t be forgotten yet', async () => {
  await client.query(`SET session_replication_role = replica`);
  await client.query(`UPDATE orders SET closed_at = NULL, reason = 'Dora (U0DORA) knows' WHERE id = 'id0'`);
  await client.query('SET session_replication_role = origin');
  expect(await forgetPerson(client, 'U0DORA', { dryRun: false })).toEqual({
    isDone: false,
    obstacles: [{ kind: 'open_order', orderId: 'id0' }],
  });
});
