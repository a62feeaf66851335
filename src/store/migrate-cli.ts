import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { EmbeddedPostgresError, startEmbeddedPostgres } from '@domain-steward/embedded-postgres';
import { MigrationError, migrate } from './migrate.ts';

/**
 * `npm run migrate`: brings the database of `DATABASE_URL`, or the embedded one in `DATA_DIR`, to this release's
 * schema. With `--serve` it only serves the embedded one as it is, for `pg_dump` and `psql`, until it is
 * interrupted. It reads these two variables itself, so that it runs where the bot's other settings are not known.
 */
async function main(): Promise<void> {
  if (existsSync('.env')) process.loadEnvFile('.env');
  const { values } = parseArgs({ options: { serve: { type: 'boolean', default: false } } });
  const url = process.env['DATABASE_URL'];
  if (url && !values.serve) {
    await migrateAndReport(url);
    return;
  }
  const dataDir = process.env['DATA_DIR'] || './data';
  const embedded = await startEmbeddedPostgres({ dataDir, log: print });
  try {
    if (values.serve) await serve(embedded.url, dataDir);
    else await migrateAndReport(embedded.url);
  } finally {
    await embedded.stop();
  }
}

async function migrateAndReport(url: string): Promise<void> {
  const { applied } = await migrate({ url, log: print });
  if (applied.length === 0) print('The database is up to date: no migration was missing.');
}

async function serve(url: string, dataDir: string): Promise<void> {
  const interrupted = new Promise((done) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, done);
  });
  const { hostname, port } = new URL(url);
  const password = join(resolve(dataDir), 'postgres', 'password');
  print(
    `Until Ctrl-C, reach it like this:\nPGPASSWORD="$(cat '${password}')" psql -h ${hostname} -p ${port} -U postgres postgres`,
  );
  await interrupted;
}

function print(sentence: string): void {
  process.stdout.write(`${sentence}\n`);
}

main().catch((error: unknown) => {
  // Errors of ours have a sentence for the operator; of others the stack is needed.
  const ours = error instanceof EmbeddedPostgresError || error instanceof MigrationError;
  process.stderr.write(`${ours ? error.message : String(error instanceof Error ? error.stack : error)}\n`);
  process.exitCode = 1;
});
