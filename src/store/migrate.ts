import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { z } from 'zod';
import { getErrorText } from './session.ts';
import { SET_DURABLE_COMMITS, SET_SEARCH_PATH } from './session-settings.ts';

export type MigrationIssue =
  | 'unreachable'
  | 'database_newer'
  | 'before_first_release'
  | 'unfinished'
  | 'failed'
  | 'locked';

/** The message is for the operator. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
  readonly issue: MigrationIssue;

  constructor(issue: MigrationIssue, message: string, options?: ErrorOptions) {
    super(message, options);
    this.issue = issue;
  }
}

export interface MigrateOptions {
  readonly url: string;
  /** Receives a sentence for each step. */
  readonly log?: (sentence: string) => void;
  /** The folder with the migrations. Default: the one in this package. */
  readonly folder?: string;
  /** Applies only these migrations, which must all exist. Default: all. */
  readonly migrationNames?: readonly string[];
}

interface Migration {
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the file in hexadecimal, as Prisma computes it. */
  readonly checksum: string;
}

/** The package's `prisma/migrations`, which has the same relative path from `src/store` and `dist/store`. */
const OWN_MIGRATIONS_FOLDER = fileURLToPath(new URL('../../prisma/migrations', import.meta.url));

/** Prisma's advisory lock, so that this process and `prisma migrate deploy` don't run at the same time. */
const MIGRATIONS_LOCK_ID = 72_707_369;

/** Prisma's table of applied migrations, in Prisma's format. */
const CREATE_MIGRATIONS_TABLE = `
  CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id                  VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum            VARCHAR(64) NOT NULL,
    finished_at         TIMESTAMPTZ,
    migration_name      VARCHAR(255) NOT NULL,
    logs                TEXT,
    rolled_back_at      TIMESTAMPTZ,
    started_at          TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count INTEGER NOT NULL DEFAULT 0
  )`;

const appliedRowsSchema = z.array(
  z.object({ migration_name: z.string(), checksum: z.string(), finished_at: z.date().nullable() }),
);

/**
 * Migrates a database to the schema of this release. Each migration and its row in Prisma's `_prisma_migrations` are
 * written in one transaction, so a migration is applied completely or not at all, even if the process or server dies.
 * If several replicas start at once, one applies the migrations. The others wait and find nothing to do.
 *
 * @returns the names of the migrations that this call applied, oldest first
 * @throws {MigrationError}
 */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[] }> {
  const log = options.log ?? (() => undefined);
  const allMigrations = await readMigrations(options.folder ?? OWN_MIGRATIONS_FOLDER);
  const names = options.migrationNames ?? allMigrations.map(({ name }) => name);
  const unknownName = names.find((name) => !allMigrations.some((migration) => migration.name === name));
  if (unknownName !== undefined) throw createNewerReleaseError('backup', unknownName);
  const migrations = allMigrations.filter(({ name }) => names.includes(name));
  const client = await connect(options.url);
  const applied: string[] = [];
  try {
    for (;;) {
      const logOnce = applied.length === 0 ? log : () => undefined;
      const migration = await applyNextMigration(client, migrations, logOnce);
      if (migration === undefined) return { applied };
      applied.push(migration.name);
      log(`Applied the migration ${migration.name}.`);
    }
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * Applies the oldest missing migration in one transaction.
 * @returns undefined if none is missing
 */
async function applyNextMigration(
  client: pg.Client,
  migrations: readonly Migration[],
  log: (sentence: string) => void,
): Promise<Migration | undefined> {
  try {
    await client.query("BEGIN; SET LOCAL lock_timeout = '120s'");
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATIONS_LOCK_ID]);
    await client.query('SET LOCAL lock_timeout = DEFAULT');
    const nextMigration = findNextMigration(migrations, await readAppliedMigrations(client), log);
    if (nextMigration !== undefined) await applyMigration(client, nextMigration);
    await client.query('COMMIT');
    return nextMigration;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    if (error instanceof MigrationError) throw error;
    if (error instanceof pg.DatabaseError && error.code === '55P03') {
      throw new MigrationError(
        'locked',
        'migrating the database: another process has been migrating it for two minutes. Start again when it is done',
        { cause: error },
      );
    }
    throw new MigrationError('failed', `migrating the database: ${getErrorText(error)}`, { cause: error });
  }
}

async function applyMigration(client: pg.Client, migration: Migration): Promise<void> {
  await client.query(CREATE_MIGRATIONS_TABLE);
  try {
    // A query without parameters can contain several statements, which PostgreSQL separates itself.
    await client.query(migration.sql);
  } catch (error) {
    throw new MigrationError(
      'failed',
      `applying the migration ${migration.name}${formatFailingLine(error, migration.sql)}: ${getErrorText(error)}. Nothing was applied; fix the cause and start again`,
      { cause: error },
    );
  }
  await client.query(
    `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
     VALUES ($1, $2, $3, now(), clock_timestamp(), 1)`,
    [randomUUID(), migration.checksum, migration.name],
  );
}

function findNextMigration(
  migrations: readonly Migration[],
  appliedRows: z.infer<typeof appliedRowsSchema>,
  log: (sentence: string) => void,
): Migration | undefined {
  const migrationsByName = new Map(migrations.map((migration) => [migration.name, migration]));
  const appliedNames = new Set<string>();
  const [oldestMigration] = migrations;
  for (const { migration_name: name, checksum, finished_at: finishedAt } of appliedRows) {
    const migration = migrationsByName.get(name);
    if (migration === undefined) {
      if (oldestMigration !== undefined && name < oldestMigration.name) {
        throw new MigrationError(
          'before_first_release',
          `the database has the migration ${name}, from before the first release, which can't be upgraded. Set DATABASE_URL or DATA_DIR to an empty place`,
        );
      }
      throw createNewerReleaseError('database', name);
    }
    if (finishedAt === null) {
      throw new MigrationError(
        'unfinished',
        `the prisma command started the migration ${name} and never finished. Check the database, then use: npx prisma migrate resolve --applied ${name} (or --rolled-back)`,
      );
    }
    if (migration.checksum !== checksum) log(`The migration ${name} was changed after it was applied.`);
    appliedNames.add(name);
  }
  return migrations.find((migration) => !appliedNames.has(migration.name));
}

function createNewerReleaseError(source: 'database' | 'backup', migrationName: string): MigrationError {
  return new MigrationError(
    'database_newer',
    `the ${source} has the migration ${migrationName}, which this release doesn't know: a newer release used it. Start that release, or restore the backup made before it`,
  );
}

async function readAppliedMigrations(client: pg.Client): Promise<z.infer<typeof appliedRowsSchema>> {
  const { rows: tables } = await client.query("SELECT to_regclass('_prisma_migrations') AS record");
  if (z.tuple([z.object({ record: z.string().nullable() })]).parse(tables)[0].record === null) return [];
  const { rows } = await client.query(
    `SELECT migration_name, checksum, finished_at FROM _prisma_migrations
     WHERE rolled_back_at IS NULL ORDER BY migration_name`,
  );
  return appliedRowsSchema.parse(rows);
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = await readFile(join(folder, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    application_name: 'domain-steward (migrations)',
  });
  // A running query already rejects with the error. Without a listener, the error would also end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(`${SET_SEARCH_PATH}; ${SET_DURABLE_COMMITS}`);
    return client;
  } catch (error) {
    throw new MigrationError(
      'unreachable',
      `connecting to the database ${client.database ?? ''} at ${client.host}:${client.port}: ${getErrorText(error)}`,
      { cause: error },
    );
  }
}

function formatFailingLine(error: unknown, sql: string): string {
  if (!(error instanceof pg.DatabaseError) || error.position === undefined) return '';
  return `, line ${sql.slice(0, Number(error.position) - 1).split('\n').length}`;
}
