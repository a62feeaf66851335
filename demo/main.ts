import { existsSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { EmbeddedPostgresError, startEmbeddedPostgres } from '@domain-steward/embedded-postgres';
import { z } from 'zod';
import { createLog, type Log } from '#src/lib/log.ts';
import type { Demo, DemoOptions } from './demo.ts';
import { pageDir } from './page-files.ts';

/*
 * `npm run demo`: the bot with a sandbox of the domain service and a local workspace, in one process. No settings are
 * needed; `PORT`, `DATA_DIR` and `LOG_LEVEL` are used when set. With `--watch` there is no domain service.
 */

const environmentSchema = z.object({
  PORT: z.coerce.number().int().min(0).max(65_535).default(3000),
  DATA_DIR: z.string().default('./data'),
  LOG_LEVEL: z.string().default('error'),
});

async function main(): Promise<void> {
  if (existsSync('.env')) process.loadEnvFile('.env');
  const settings = environmentSchema.safeParse(process.env);
  if (!settings.success) {
    process.stderr.write(`PORT, DATA_DIR or LOG_LEVEL is invalid:\n${z.prettifyError(settings.error)}\n`);
    process.exit(1);
  }
  const { PORT, DATA_DIR, LOG_LEVEL } = settings.data;
  const log = createLog(LOG_LEVEL);
  // A library's error must not end a running demo.
  process.on('unhandledRejection', (err) => log.error({ err }, 'unhandled rejection'));
  const watchOnly = process.argv.includes('--watch');
  const stopRequested = new AbortController();
  const starting = start({
    signal: stopRequested.signal,
    port: PORT,
    dataDir: join(resolve(DATA_DIR), watchOnly ? 'demo-watch' : 'demo'),
    log,
    pageDir,
    lived: !watchOnly,
    watchOnly,
  });
  // Installed before the start is complete, so that an interrupted start is cleaned up too.
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.once(name, () => {
      stopRequested.abort();
      starting
        .then(
          (demo) => demo.stop(),
          () => undefined,
        )
        .then(
          () => process.exit(0),
          () => process.exit(1),
        );
    });
  }
  const demo = await starting.catch((error: unknown) => {
    if (stopRequested.signal.aborted) process.exit(0);
    throw error;
  });
  process.stdout.write(
    `\nDomain Steward, to try: open ${demo.url}${watchOnly ? '#as=U0ADA' : ''}\n\n${watchOnly ? WATCH_ONLY : WITH_SERVICE} The page shows the way. Ctrl+C ends the demo and keeps what you did.\n  To start over, delete the folder ${watchOnly ? 'demo-watch' : 'demo'} in DATA_DIR (./data).\n\n`,
  );
}

const WITH_SERVICE =
  '  You are Alice. Type /domain link, then /domain renew cafe.rest 2 -- client paid.\n  Switch to Bob to approve.';
const WATCH_ONLY = '  You are Ada. Type /domain watch cafe.rest olive.rest pantry.rest.\n ';

/** Starts the demo. The database is created while everything else is loaded. */
async function start(options: DemoOptions & { readonly log: Log }): Promise<Pick<Demo, 'url' | 'stop'>> {
  // The parent folder may be the bot's own, so its permissions must not be changed.
  await mkdir(options.dataDir, { recursive: true });
  await chmod(options.dataDir, 0o700);
  const [{ startDemo }, postgres] = await Promise.all([
    import('./demo.ts'),
    startEmbeddedPostgres({
      dataDir: options.dataDir,
      log: (sentence) => options.log.info(sentence),
      // Faster; losing demo data in a crash of the machine is acceptable.
      settings: { fsync: 'off', full_page_writes: 'off' },
    }),
  ]);
  try {
    const demo = await startDemo({ ...options, databaseUrl: postgres.url });
    return { url: demo.url, stop: () => demo.stop().finally(() => postgres.stop()) };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
});

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'EADDRINUSE')
    return 'The port is in use by another program. Choose another one: PORT=3001 npm run demo';
  return (error instanceof EmbeddedPostgresError ? error.message : error.stack) ?? error.message;
}
