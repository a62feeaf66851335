import { existsSync } from 'node:fs';
import { EmbeddedPostgresError, startEmbeddedPostgres } from './embedded.ts';
import { MigrationError, migrate } from './migrate.ts';

/**
 * `npm run migrate`: brings the database of `DATABASE_URL`, or the embedded one in `DATA_DIR`, to this release's
 * schema. Reads these two itself, so that it runs where the bot's other settings are not known.
 */
async function main(): Promise<void> {
  if (existsSync('.env')) process.loadEnvFile('.env');
  const say = (sentence: string) => {
    process.stdout.write(`${sentence}\n`);
  };
  const url = process.env['DATABASE_URL'];
  if (url) {
    report((await migrate({ url, log: say })).applied);
    return;
  }
  const embedded = await startEmbeddedPostgres({ dataDir: process.env['DATA_DIR'] || './data', log: say });
  try {
    report((await migrate({ url: embedded.url, log: say })).applied);
  } finally {
    await embedded.stop();
  }

  function report(applied: readonly string[]): void {
    if (applied.length === 0) say('The database is up to date: no migration was missing.');
  }
}

main().catch((error: unknown) => {
  // Ours are sentences for the operator; of anything else the trace is needed.
  const ours = error instanceof EmbeddedPostgresError || error instanceof MigrationError;
  process.stderr.write(`${ours ? error.message : String(error instanceof Error ? error.stack : error)}\n`);
  process.exitCode = 1;
});
