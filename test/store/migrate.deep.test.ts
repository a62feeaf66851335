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
const CLI = new URL('../../src/cli.ts', import.meta.url);

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

async function listOwnMigrations(): Promise<string[]> {
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

async function listTables(): Promise<string[]> {
  const rows = await query(
    "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_prisma_migrations' ORDER BY 1",
  );
  return rows.map((row) => String(row['tablename']));
}

describe("the project's own migrations", () => {
  test('are applied once, and a second run applies none', async () => {
    expect(await migrate({ url: database.url })).toEqual({ applied: await listOwnMigrations() });
    expect(await migrate({ url: database.url })).toEqual({ applied: [] });
  });

  test('are applied once by three replicas that start at the same time', async () => {
    const replicas = await Promise.all([1, 2, 3].map(() => migrate({ url: database.url })));
    expect(replicas.flatMap(({ applied }) => applied).sort()).toEqual(await listOwnMigrations());
  });

  test('are recorded in a form that Prisma’s own engine recognizes', async () => {
    await migrate({ url: database.url });
    const engine = await openSchemaEngine(await readFile(SCHEMA, 'utf8'), database.url);
    const diagnosis = await engine.diagnoseMigrationHistory({
      migrationsList: {
        baseDir: OWN_MIGRATIONS.pathname,
        lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
        shadowDbInitScript: '',
        migrationDirectories: await Promise.all(
          (await listOwnMigrations()).map(async (path) => {
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

  test('produce the schema of prisma/schema.prisma', async () => {
    const lastMigration = (await listOwnMigrations()).at(-1);
    const migratedSchema = await readFile(new URL(`${lastMigration}/schema.prisma`, OWN_MIGRATIONS), 'utf8');
    const missingSql = await diffSchemas(
      migratedSchema,
      await readFile(SCHEMA, 'utf8'),
      inject('postgresUrl'),
    );
    expect(missingSql, 'the schema has no migration; run npm run migration -- NAME').toBe('');
  });
});

test('semicolons in functions, strings and comments don’t split a statement', async () => {
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

test('a broken migration is reported with its line, changes nothing, and runs once it is fixed', async () => {
  await writeMigration('1_good', 'CREATE TABLE good ();');
  await writeMigration('2_bad', 'CREATE TABLE half ();\n\nALTER TABLE missing ADD COLUMN n int;');
  await expect(migrate({ url: database.url, folder })).rejects.toMatchObject({
    issue: 'failed',
    message: expect.stringMatching(/2_bad: relation "missing" does not exist.*Nothing was applied/),
  });
  expect(await listTables()).toEqual(['good']);

  await writeMigration('2_bad', 'CREATE TABLE whole ();\n\nSELECT nothing;');
  await expect(migrate({ url: database.url, folder })).rejects.toThrow(/2_bad, line 3: column "nothing"/);

  await writeMigration('2_bad', 'CREATE TABLE whole ();');
  expect(await migrate({ url: database.url, folder })).toEqual({ applied: ['2_bad'] });
  expect(await listTables()).toEqual(['good', 'whole']);
});

test('an interrupted migration changes nothing', async () => {
  await writeMigration('1_slow', 'CREATE TABLE half (); SELECT pg_sleep(60);');
  const migrating = migrate({ url: database.url, folder });
  const failed = expect(migrating).rejects.toMatchObject({ issue: 'failed' });
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
  expect(await listTables()).toEqual([]);
});

test('a database migrated by a newer release is refused', async () => {
  await writeMigration('1_now', 'CREATE TABLE now_ ();');
  await writeMigration('2_later', 'CREATE TABLE later ();');
  await migrate({ url: database.url, folder });
  await rm(join(folder, '2_later'), { recursive: true });
  await expect(migrate({ url: database.url, folder })).rejects.toMatchObject({
    issue: 'database_newer',
    message: expect.stringContaining('2_later'),
  });
});

test('a database from before the first release is refused, and not changed', async () => {
  await writeMigration('00000000000000_init', 'CREATE TABLE former ();');
  await migrate({ url: database.url, folder });
  await expect(migrate({ url: database.url })).rejects.toMatchObject({
    issue: 'before_first_release',
    message: expect.stringMatching(/00000000000000_init.*before the first release.*DATABASE_URL or DATA_DIR/),
  });
  expect(await listTables()).toEqual(['former']);
});

test('a migration that the prisma command left unfinished is refused', async () => {
  await writeMigration('1_first', 'CREATE TABLE first ();');
  await migrate({ url: database.url, folder });
  await query('UPDATE _prisma_migrations SET finished_at = NULL');
  await expect(migrate({ url: database.url, folder })).rejects.toMatchObject({
    issue: 'unfinished',
    message: expect.stringContaining('npx prisma migrate resolve --applied 1_first'),
  });
});

test('a migration that was changed after it had been applied is reported', async () => {
  await writeMigration('1_first', 'CREATE TABLE first ();');
  await migrate({ url: database.url, folder });
  await writeMigration('1_first', 'CREATE TABLE other ();');
  const logged: string[] = [];
  await migrate({ url: database.url, folder, log: (sentence) => logged.push(sentence) });
  expect(logged).toEqual(['The migration 1_first was changed after it was applied.']);
});

test('the error for an unreachable database names it without its password', async () => {
  const error = await migrate({ url: 'postgresql://steward:hunter2@127.0.0.1:1/orders' }).catch(
    (e: unknown) => e,
  );
  expect(error).toMatchObject({
    issue: 'unreachable',
    message: expect.stringMatching(/orders at 127\.0\.0\.1:1: .*ECONNREFUSED/),
  });
  expect(String(error)).not.toContain('hunter2');
});

describe('npm run migrate', () => {
  test('migrates the database of DATABASE_URL and reports the migrations', async () => {
    const env = { DATABASE_URL: database.url };
    const first = startChild(CLI, { args: ['migrate'], env, cwd: folder });
    expect(await first.ended, first.output()).toBe(0);
    for (const name of await listOwnMigrations())
      expect(first.output()).toContain(`Applied the migration ${name}.`);

    const second = startChild(CLI, { args: ['migrate'], env, cwd: folder });
    expect(await second.ended, second.output()).toBe(0);
    expect(second.output()).toContain('up to date');
  });

  test('with --serve doesn’t change the embedded database, and shows its address without the password', async () => {
    await chmod(folder, 0o755);
    const env = { DATABASE_URL: undefined, DATA_DIR: folder };
    const child = startChild(CLI, { args: ['migrate', '--serve'], env, cwd: folder });
    try {
      const [, file = '', port] = await child.waitForLine(
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

  test('reports a problem in one sentence, and exits with code 1', async () => {
    const child = startChild(CLI, {
      args: ['migrate'],
      env: { DATABASE_URL: 'postgresql://127.0.0.1:1/x' },
      cwd: folder,
    });
    expect(await child.ended).toBe(1);
    expect(child.output()).toMatch(/^connecting to the database x at 127\.0\.0\.1:1: .*\n$/);
  });
});
