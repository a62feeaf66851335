import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { z } from 'zod';
import { readTables } from './backup.ts';
import {
  BackupFileError,
  type BackupManifest,
  BackupReader,
  buildCopyStatement,
  quoteIdentifier,
} from './backup-file.ts';
import { openDatabase } from './database.ts';
import { createLedgerStore, listLedgerTeamIds } from './ledger.ts';
import { migrate } from './migrate.ts';
import { DatabaseAccessError, inTransaction, withSession } from './session.ts';

/**
 * Loads a backup into an empty database. Creates the schema of the backup, loads all rows in one transaction,
 * and migrates to this release's schema.
 * @returns the backup's manifest and ledgers
 * @throws {DatabaseAccessError} if the database isn't empty or a bot uses it
 * @throws {BackupFileError} if the file can't be used; then nothing is restored
 */
export async function restoreBackup(
  url: string,
  file: Readable,
  log: (message: string) => void,
): Promise<RestoreResult> {
  const manifest = await withSession(url, async (client) => {
    await requireEmptyDatabase(client);
    const reader = new BackupReader(decompress(file));
    const backupManifest = await reader.readManifest();
    await migrate({ url, log, migrationNames: backupManifest.migrations });
    await inTransaction(client, { dryRun: false }, async () => {
      await loadRows(client, reader, backupManifest);
      // Lets the bot detect the restore at its next start: the row's own transaction has a different id.
      await client.query("UPDATE heartbeats SET xact_id = '0'");
    });
    await migrate({ url, log });
    await client.query('ANALYZE');
    return backupManifest;
  });
  return { manifest, ledgers: await recordRestoreInLedgers(url, manifest.takenAt) };
}

export interface RestoreResult {
  readonly manifest: BackupManifest;
  /** Ledgers that have seals, each with the number of its newest seal. */
  readonly ledgers: readonly { readonly teamId: string; readonly newestSealNumber: number }[];
}

/** Records the restore in the ledgers, because the next seals may reuse numbers. */
async function recordRestoreInLedgers(url: string, takenAt: Date): Promise<RestoreResult['ledgers']> {
  const database = openDatabase({ url, maxConnections: 1 });
  try {
    const ledgers: RestoreResult['ledgers'][number][] = [];
    for (const teamId of await listLedgerTeamIds(database)) {
      const newestSeal = await createLedgerStore(database, teamId).recordRestore(takenAt, new Date());
      ledgers.push({ teamId, newestSealNumber: newestSeal?.n ?? 0 });
    }
    return ledgers;
  } finally {
    await database.close();
  }
}

async function* decompress(file: Readable): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  // The consumer of `gunzip` gets the same error.
  pipeline(file, gunzip).catch(() => undefined);
  yield* gunzip;
}

const nameRowsSchema = z.array(z.object({ name: z.string() }));

async function requireEmptyDatabase(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'domain-steward'`,
  );
  if ((rowCount ?? 0) > 0)
    throw new DatabaseAccessError('A bot is using this database. Stop all bots, then restore.');
  for (const { name } of await readTables(client)) {
    const rows = nameRowsSchema.parse(
      (await client.query(`SELECT '${name}' AS name FROM ${quoteIdentifier(name)} LIMIT 1`)).rows,
    );
    if (rows.length > 0)
      throw new DatabaseAccessError(
        `This database is not empty: its table ${name} has rows. Restore the backup into an empty database, so that no data is lost.`,
      );
  }
}

async function loadRows(client: pg.Client, reader: BackupReader, manifest: BackupManifest): Promise<void> {
  // The backup already contains the rows that this trigger would add for unsealed events.
  await client.query('ALTER TABLE events DISABLE TRIGGER USER');
  const columnsByTable = new Map((await readTables(client)).map(({ name, columns }) => [name, columns]));
  for (const table of manifest.tables) {
    const columns = columnsByTable.get(table.name);
    if (columns === undefined || table.columns.some((column) => !columns.includes(column)))
      throw new BackupFileError(
        `This backup does not match its schema: the schema lacks the table ${table.name} or one of its columns.`,
      );
    await pipeline(
      Readable.from(reader.readRows(table)),
      client.query(copyFrom(buildCopyStatement(table, 'FROM STDIN'))),
    );
  }
  await reader.verifyTrailer();
  await client.query('ALTER TABLE events ENABLE TRIGGER USER');
  for (const [name, value] of Object.entries(manifest.sequences)) {
    await client.query('SELECT setval($1::regclass, $2::bigint, true)', [
      `public.${quoteIdentifier(name)}`,
      value,
    ]);
  }
}
