import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '@domain-steward/embedded-postgres';
import { type DatabaseSettings, readDatabaseSettings } from '../../config/environment.ts';
import { type RememberedAnchor, readAnchorFile } from '../../ledger/anchor-file.ts';
import type { Manifest } from '../../store/backup-file.ts';
import { type Restored, restoreBackup } from '../../store/restore.ts';
import { DatabaseAccessError } from '../../store/session.ts';
import { type Command, CommandError, onlyArgument } from './command.ts';

export const restoreCommand: Command = {
  usage: 'FILE',
  summary: 'load a backup into an empty database',
  details:
    'Stop every bot first. FILE may come from an older release, and from either kind of database; - reads standard input.',
  options: {},
  async run({ args, env, print }) {
    const source = onlyArgument(args, 'FILE');
    const settings = readDatabaseSettings(env);
    const file = source === '-' ? process.stdin : (await opened(source)).createReadStream();
    const restored = await withEmptyDatabase(settings, print, (url) => restoreBackup(url, file, print));
    for (const sentence of afterwards(restored.head)) print(sentence);
    for (const ledger of restored.ledgers)
      print(sentenceOfLedger(ledger, await readAnchorFile(settings.dataDir, ledger.teamId)));
    return undefined;
  },
};

async function opened(path: string) {
  try {
    return await open(path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CommandError(`The backup cannot be read: ${reason}`, { cause });
  }
}

async function withEmptyDatabase<T>(
  settings: DatabaseSettings,
  print: (line: string) => void,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const { databaseUrl, dataDir } = settings;
  if (databaseUrl !== undefined)
    return explained(work(databaseUrl.reveal()), 'Make an empty one (createdb), and set DATABASE_URL to it.');
  const embedded = await startEmbeddedPostgres({ dataDir, log: print });
  const folder = join(dataDir, 'postgres');
  const how = `To put the backup in its place, move it away first: mv '${folder}' '${folder}.before-restore'`;
  try {
    return await explained(work(embedded.url), how);
  } finally {
    await embedded.stop();
  }
}

/** Says what to do about a database that is not empty. */
async function explained<T>(work: Promise<T>, how: string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof DatabaseAccessError) || error.cause !== undefined) throw error;
    throw new CommandError(`${error.message}\n${how}`, { cause: error });
  }
}

/** What the bot's promises need to be known after a restore. */
function afterwards({ takenAt, orders, keys }: Manifest): readonly string[] {
  return [
    `The database of ${takenAt.toISOString()} is back. What happened since is not in it.`,
    ...(keys.length === 0 ? [] : [`Start the bot with the keys ${keys.join(', ')} in CREDENTIALS_KEYS.`]),
    ...(orders.underWay === 0
      ? []
      : [
          `Orders that were approved and had not ended: ${orders.underWay}. They may have gone out since: at the start they become UNKNOWN, nothing of them is sent, and approvers settle them in their threads.`,
        ]),
    ...(orders.waiting === 0
      ? []
      : [
          `Orders that wait for approval: ${orders.waiting}. They may have been approved and carried out since: approvers look at the domain service before they press.`,
        ]),
    'Orders that were asked for since are unknown here: their cards answer nothing. Reminders, settings, links and approvals of since have to be given again, and some messages come twice.',
  ];
}

/** @param left the newest anchor that has left, as `DATA_DIR` remembers */
function sentenceOfLedger({ seal }: Restored['ledgers'][number], left: RememberedAnchor | undefined): string {
  const newest =
    left === undefined || left.n <= seal
      ? ''
      : ` Seal ${left.n} had left by ${left.at}, as DATA_DIR remembers: the database will have another one with that number.`;
  return `The ledger goes on after seal ${seal}, with numbers that may have been given before: anchors and receipts of since do not fit it. Its log says so, and ADMINS are told at the start. Tell whoever keeps them.${newest}`;
}
