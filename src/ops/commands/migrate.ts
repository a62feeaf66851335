import { join } from 'node:path';
import { startEmbeddedPostgres } from '@domain-steward/embedded-postgres';
import { readDatabaseSettings } from '../../config/environment.ts';
import { migrate } from '../../store/migrate.ts';
import { type Command, UsageError, withDatabase } from './command.ts';

export const migrateCommand: Command = {
  usage: '[--serve]',
  summary: 'migrate the database to this release’s schema, without starting the bot',
  details: 'With --serve it only serves the embedded database, for psql and pg_dump, until interrupted.',
  options: { serve: { type: 'boolean', default: false } },
  async run({ args, optionValues, env, print }) {
    if (args.length > 0) throw new UsageError('migrate takes no arguments.');
    const settings = readDatabaseSettings(env);
    if (optionValues['serve'] === true) {
      await serveEmbeddedDatabase(settings.dataDir, print);
      return undefined;
    }
    await withDatabase(settings, print, async (url) => {
      const { applied } = await migrate({ url, log: print });
      if (applied.length === 0) print('The database is up to date.');
    });
    return undefined;
  },
};

async function serveEmbeddedDatabase(dataDir: string, print: (line: string) => void): Promise<void> {
  const interruption = new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, resolve);
  });
  const embedded = await startEmbeddedPostgres({ dataDir, log: print });
  try {
    const { hostname, port } = new URL(embedded.url);
    const passwordFile = join(dataDir, 'postgres', 'password');
    print(
      `Until Ctrl-C, connect with:\nPGPASSWORD="$(cat '${passwordFile}')" psql -h ${hostname} -p ${port} -U postgres postgres`,
    );
    await interruption;
  } finally {
    await embedded.stop();
  }
}
