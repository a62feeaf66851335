import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { diffSchemas, openSchemaEngine } from '../../scripts/schema-engine.ts';
import { migrate } from '../../src/store/migrate.ts';
import { startChild } from '../support/child.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const OWN_MIGRATIONS = new URL('../../prisma/migrations/', import.meta.url);
const SCHEMA = new URL('../../prisma/schema.prisma', import.meta.url);
const CLI = new URL('../../src/store/migrate-cli.ts', import.meta.url);

let database: TestDatabase;
let folder: string;

beforeEach(async () => {
  database = await createTestDatabase('empty');
  folder = await mkdtemp(join(tmpdir(), 'domain-steward-migrations-'));
});

afterEach(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function ownMigrations(): Promise<string[]> {
  const entries = await readdir(OWN_MIGRATIONS, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

async function writeMigration(name: string, sql: string): Promise<void> {
  await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, name, 'migration.sql'), sql);
}

async function query(sql: string): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client(database.url);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

async function tables(): Promise<string[]> {
  const rows = await query(
    "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_prisma_migrations' ORDER BY 1",
  );
  return rows.map((row) => String(row['tablename']));
}

describe("the project's own migrations", () => {
  test('are applied once; a second run finds nothing to do', async () => {
    expect(await migrate({ url: database.url })).toEqual({ applied: await ownMigrations() });
    expect(await migrate({ url: database.url })).toEqual({ applied: [] });
  });

  test('are applied once by three replicas that start at the same moment', async () => {
    const replicas = await Promise.all([1, 2, 3].map(() => migrate({ url: database.url })));
    expect(replicas.flatMap(({ applied }) => applied).sort()).toEqual(await ownMigrations());
  });

  test("are recorded so that Prisma's own engine takes them for its own", async () => {
    await migrate({ url: database.url });
    const engine = await openSchemaEngine(await readFile(SCHEMA, 'utf8'), database.url);
    const diagnosis = await engine.diagnoseMigrationHistory({
      migrationsList: {
        baseDir: OWN_MIGRATIONS.pathname,
        lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
        shadowDbInitScript: '',
        migrationDirectories: await Promise.all(
          (await ownMigrations()).map(async (path) => {
            const value = await readFile(new URL(`${path}/migration.sql`, OWN_MIGRATIONS), 'utf8');
            return { path, migrationFile: { path: 'migration.sql', content: { tag: 'ok', value } } };
          }),
        ),
      },
      optInToShadowDatabase: false,
      filters: { externalTables: [], externalEnums: [] },
    });
    engine.free();
    expect(diagnosis).toEqual({
      editedMigrationNames: [],
      failedMigrationNames: [],
      hasMigrationsTable: true,
      history: null,
    });
  });

  test('lead to prisma/schema.prisma', async () => {
    const last = (await ownMigrations()).at(-1);
    const reached = await readFile(new URL(`${last}/schema.prisma`, OWN_MIGRATIONS), 'utf8');
    const missing = await diffSchemas(reached, await readFile(SCHEMA, 'utf8'), inject('postgresUrl'));
    expect(missing, 'the schema was changed without a migration: npm run migration -- NAME').toBe('');
  });
});

test('rows from before the renamed events and columns are kept, under the new words', async () => {
  const before = (await ownMigrations()).filter((name) => name < '20261122060000');
  for (const name of before) {
    await writeMigration(name, await readFile(new URL(`${name}/migration.sql`, OWN_MIGRATIONS), 'utf8'));
  }
  await migrate({ url: database.url, folder });
  await query(`
    INSERT INTO orders (id, task, state, version, requester_id, account_id, account_login, account_method, names, input,
        has_secret_input, channel_id, approvals_required, delivery_id, nudge_at, notify_lease, created_at, updated_at)
      VALUES ('O1', 'renew', 'SUCCEEDED', 7, 'U1', 'a', 'alice', 'password', '{cafe.rest}', '{}', false, 'C1', 1, 'd1',
        '2026-01-02', '2026-01-03', now(), now());
    INSERT INTO order_items (order_id, n, name, client_tid, state, result)
      VALUES ('O1', 1, 'cafe.rest', 'O1', 'SUCCEEDED', '{"summary": "done", "settledBy": "U2"}'),
        ('O1', 2, 'sushi.rest', 'O1.2', 'SUCCEEDED', '{"summary": "done"}');
    INSERT INTO order_events (order_id, version, at, actor, kind, state, detail)
      SELECT 'O1', n, now(), 'system', kind, 'PENDING', '{"through": "settled"}'::jsonb
      FROM unnest(ARRAY['requested', 'held_back', 'ran_out', 'nudged', 'doubted', 'settled', 'finished'])
        WITH ORDINALITY AS k(kind, n);
    INSERT INTO message_refs (order_id, purpose, channel_id, ts, posted_at)
      SELECT 'O1', purpose, 'C1', '1.1', now()
      FROM unnest(ARRAY['card', 'reply:3:ran_out', 'reply:6:settled', 'reply:7:finished']) AS purpose;
    INSERT INTO domains (name, added_by, added_at, next_check_at, said_threshold) VALUES ('cafe.rest', 'U1', now(), now(), 14);
  `);

  await migrate({ url: database.url });

  const events = await query('SELECT kind, detail FROM order_events ORDER BY id');
  expect(events.map(({ kind }) => kind)).toEqual([
    'requested',
    'retry_scheduled',
    'expired',
    'reminded',
    'invalidated',
    'resolved',
    'finished',
  ]);
  expect(events.map(({ detail }) => detail)).toEqual(events.map(() => ({ through: 'resolved' })));
  expect(await query('SELECT purpose FROM message_refs ORDER BY 1')).toEqual([
    { purpose: 'card' },
    { purpose: 'reply:3:expired' },
    { purpose: 'reply:6:resolved' },
    { purpose: 'reply:7:finished' },
  ]);
  expect(await query('SELECT result FROM order_items ORDER BY n')).toEqual([
    { result: { summary: 'done', resolvedBy: 'U2' } },
    { result: { summary: 'done' } },
  ]);
  expect(
    await query(
      'SELECT remind_at::date::text AS remind, notification_lease_until::date::text AS lease FROM orders',
    ),
  ).toEqual([{ remind: '2026-01-02', lease: '2026-01-03' }]);
  expect(await query('SELECT reminded_threshold FROM domains')).toEqual([{ reminded_threshold: 14 }]);
});

test('semicolons in functions, texts and comments do not cut a statement', async () => {
  await writeMigration(
    '1_trigger',
    `-- First one; then the other.
     CREATE TABLE audit (line text DEFAULT 'a;b');
     CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       RAISE EXCEPTION 'append-only; nothing is deleted';
     END $$;
     CREATE TRIGGER keep BEFORE DELETE ON audit FOR EACH ROW EXECUTE FUNCTION keep();`,
  );
  await migrate({ url: database.url, folder });
  await query('INSERT INTO audit DEFAULT VALUES');
  await expect(query('DELETE FROM audit')).rejects.toThrow('append-only; nothing is deleted');
});

test('a broken migration is named with its line, leaves nothing, and runs once it is mended', async () => {
  await writeMigration('1_good', 'CREATE TABLE good ();');
  await writeMigration('2_bad', 'CREATE TABLE half ();\n\nALTER TABLE missing ADD COLUMN n int;');
  await expect(migrate({ url: database.url, folder })).rejects.toMatchObject({
    problem: 'failed',
    message: expect.stringMatching(/2_bad: relation "missing" does not exist.*Nothing of it was kept/),
  });
  expect(await tables()).toEqual(['good']);

  await writeMigration('2_bad', 'CREATE TABLE whole ();\n\nSELECT nothing;');
  await expect(migrate({ url: database.url, folder })).rejects.toThrow(/2_bad, line 3: column "nothing"/);

  await writeMigration('2_bad', 'CREATE TABLE whole ();');
  expect(await migrate({ url: database.url, folder })).toEqual({ applied: ['2_bad'] });
  expect(await tables()).toEqual(['good', 'whole']);
});

test('a migration that is cut off in the middle leaves nothing', async () => {
  await writeMigration('1_slow', 'CREATE TABLE half (); SELECT pg_sleep(60);');
  const migrating = migrate({ url: database.url, folder });
  const failed = expect(migrating).rejects.toMatchObject({ problem: 'failed' });
  await vi.waitUntil(
    async () =>
      (
        await query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event = 'PgSleep'`,
        )
      ).length > 0,
    { interval: 20 },
  );
  await failed;
  expect(await tables()).toEqual([]);
});

test('a database that a newer release has migrated is refused', async () => {
  await writeMigration('1_now', 'CREATE TABLE now_ ();');
  await writeMigration('2_later', 'CREATE TABLE later ();');
  await migrate({ url: database.url, folder });
  await rm(join(folder, '2_later'), { recursive: true });
  await expect(migrate({ url: database.url, folder })).rejects.toMatchObject({
    problem: 'database_newer',
    message: expect.stringContaining('2_later'),
  });
});

test('a migration that the prisma command has left unfinished is refused', async () => {
  await writeMigration('1_first', 'CREATE TABLE first ();');
  await migrate({ url: database.url, folder });
  await query('UPDATE _prisma_migrations SET finished_at = NULL');
  await expect(migrate({ url: database.url, folder })).rejects.toMatchObject({
    problem: 'unfinished',
    message: expect.stringContaining('npx prisma migrate resolve --applied 1_first'),
  });
});

test('a migration that was changed after it had been applied is told', async () => {
  await writeMigration('1_first', 'CREATE TABLE first ();');
  await migrate({ url: database.url, folder });
  await writeMigration('1_first', 'CREATE TABLE other ();');
  const said: string[] = [];
  await migrate({ url: database.url, folder, log: (sentence) => said.push(sentence) });
  expect(said).toEqual(['The migration 1_first was changed after it had been applied.']);
});

test('a database out of reach is named, without its password', async () => {
  const error = await migrate({ url: 'postgresql://steward:hunter2@127.0.0.1:1/orders' }).catch(
    (e: unknown) => e,
  );
  expect(error).toMatchObject({
    problem: 'unreachable',
    message: expect.stringMatching(/orders at 127\.0\.0\.1:1: .*ECONNREFUSED/),
  });
  expect(String(error)).not.toContain('hunter2');
});

describe('npm run migrate', () => {
  test('migrates the database of DATABASE_URL and says what it did', async () => {
    const env = { DATABASE_URL: database.url };
    const first = startChild(CLI, { env, cwd: folder });
    expect(await first.ended, first.output()).toBe(0);
    for (const name of await ownMigrations())
      expect(first.output()).toContain(`Applied the migration ${name}.`);

    const second = startChild(CLI, { env, cwd: folder });
    expect(await second.ended, second.output()).toBe(0);
    expect(second.output()).toContain('up to date');
  });

  test('with --serve leaves the embedded database as it is, and says how to reach it without its password', async () => {
    await chmod(folder, 0o755);
    const env = { DATABASE_URL: undefined, DATA_DIR: folder };
    const child = startChild(CLI, { args: ['--serve'], env, cwd: folder });
    try {
      const [, file = '', port] = await child.line(
        /^PGPASSWORD="\$\(cat '(.*)'\)" psql .* -p (\d+) -U postgres/,
      );
      const password = await readFile(file, 'utf8');
      expect(child.output()).not.toContain(password);
      const client = new pg.Client(`postgresql://postgres:${password}@127.0.0.1:${port}/postgres`);
      await client.connect();
      const { rows } = await client.query("SELECT to_regclass('_prisma_migrations') AS record");
      await client.end();
      expect(rows).toEqual([{ record: null }]);
    } finally {
      await child.kill('SIGINT');
    }
    expect(await child.ended, child.output()).toBe(0);
  });

  test('says in one sentence what is wrong, and exits with 1', async () => {
    const child = startChild(CLI, { env: { DATABASE_URL: 'postgresql://127.0.0.1:1/x' }, cwd: folder });
    expect(await child.ended).toBe(1);
    expect(child.output()).toMatch(/^connecting to the database x at 127\.0\.0\.1:1: .*\n$/);
  });
});
