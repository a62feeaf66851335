import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { z } from 'zod';
import { type BackupManifest, type BackupTable, buildCopyStatement, writeBackup } from './backup-file.ts';
import { readSealedKeyUsages } from './sealed-keys.ts';
import { withSession } from './session.ts';

/**
 * Writes a backup to a file, which gets its final name only when it is complete and on disk. The bot can keep running,
 * because the backup is a single snapshot of the database.
 */
export async function takeBackup(url: string, path: string): Promise<BackupManifest> {
  const partialPath = `${path}.${randomUUID()}.partial`;
  // Readable only by the owner, because a backup contains personal data and encrypted secrets.
  const file = await open(partialPath, 'wx', 0o600);
  try {
    const manifest = await streamBackup(url, file.createWriteStream({ flush: true }));
    await rename(partialPath, path);
    await syncFolder(dirname(path));
    return manifest;
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(partialPath, { force: true });
    throw error;
  }
}

export function streamBackup(url: string, output: Writable): Promise<BackupManifest> {
  return withSession(url, async (client) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const manifest = await readManifest(client);
    const readRows = (table: BackupTable) => client.query(copyTo(buildCopyStatement(table, 'TO STDOUT')));
    await pipeline(writeBackup(manifest, readRows), createGzip(), output);
    await client.query('COMMIT');
    return manifest;
  });
}

/** A new file survives a crash of the machine only if its folder was also synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Prisma's table of applied migrations. A restore fills it by applying the migrations again. */
const MIGRATIONS_TABLE = '_prisma_migrations';

const manifestRowsSchema = z.tuple([
  z.object({
    takenAt: z.date(),
    migrations: z.array(z.string()),
    sequences: z.record(z.string(), z.string()),
    underWay: z.number(),
    waiting: z.number(),
  }),
]);

/**
 * The `transaction_timestamp` of the snapshot's transaction can be slightly before the snapshot, but never after it.
 */
const SELECT_MANIFEST = `
  SELECT transaction_timestamp() AS "takenAt",
    ARRAY(SELECT migration_name::text FROM ${MIGRATIONS_TABLE} WHERE rolled_back_at IS NULL AND finished_at IS NOT NULL
      ORDER BY migration_name) AS migrations,
    (SELECT coalesce(json_object_agg(sequencename, last_value::text), '{}') FROM pg_sequences
      WHERE schemaname = 'public' AND last_value IS NOT NULL) AS sequences,
    (SELECT count(*)::int FROM orders WHERE state IN ('APPROVED', 'EXECUTING')) AS "underWay",
    (SELECT count(*)::int FROM orders WHERE state = 'PENDING') AS waiting`;

async function readManifest(client: pg.Client): Promise<BackupManifest> {
  const [{ underWay, waiting, ...manifestFields }] = manifestRowsSchema.parse(
    (await client.query(SELECT_MANIFEST)).rows,
  );
  const keys = (await readSealedKeyUsages(client)).map(({ keyId }) => keyId);
  return {
    format: 1,
    ...manifestFields,
    tables: await readTables(client),
    orders: { underWay, waiting },
    keys: [...new Set(keys)].sort(),
  };
}

const tablesSchema = z.array(
  z.object({ name: z.string(), columns: z.array(z.string()), dependencies: z.array(z.string()) }),
);

const SELECT_TABLES = `
  SELECT c.relname AS name,
    ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      AND a.attgenerated = '' ORDER BY a.attnum) AS columns,
    ARRAY(SELECT f.relname::text FROM pg_constraint k JOIN pg_class f ON f.oid = k.confrelid
      WHERE k.conrelid = c.oid AND k.contype = 'f' AND f.oid <> c.oid) AS dependencies
  FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> '${MIGRATIONS_TABLE}'
  ORDER BY c.relname`;

/** Returns all tables, each after the tables that it references. */
export async function readTables(client: pg.ClientBase): Promise<BackupTable[]> {
  let remainingTables = tablesSchema.parse((await client.query(SELECT_TABLES)).rows);
  const sortedTables: BackupTable[] = [];
  while (remainingTables.length > 0) {
    const remainingNames = new Set(remainingTables.map(({ name }) => name));
    const readyTables = remainingTables.filter(
      ({ dependencies }) => !dependencies.some((name) => remainingNames.has(name)),
    );
    if (readyTables.length === 0)
      throw new Error(`tables reference each other in a cycle: ${[...remainingNames].join(', ')}`);
    sortedTables.push(...readyTables.map(({ name, columns }) => ({ name, columns })));
    remainingTables = remainingTables.filter((table) => !readyTables.includes(table));
  }
  return sortedTables;
}
