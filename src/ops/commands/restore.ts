import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '@domain-steward/embedded-postgres';
import { type DatabaseSettings, readDatabaseSettings } from '../../config/environment.ts';
import { readAnchorFile, type SavedAnchor } from '../../ledger/anchor-file.ts';
import type { BackupManifest } from '../../store/backup-file.ts';
import { type RestoreResult, restoreBackup } from '../../store/restore.ts';
import { DatabaseAccessError } from '../../store/session.ts';
import { type Command, CommandError, requireOneArgument } from './command.ts';

export const restoreCommand: Command = {
  usage: 'FILE',
  summary: 'load a backup into an empty database',
  details:
    'Stop every bot first. FILE may come from an older release, and from either kind of database; - reads standard input.',
  options: {},
  async run({ args, env, print }) {
    const source = requireOneArgument(args, 'FILE');
    const settings = readDatabaseSettings(env);
    const backupStream = source === '-' ? process.stdin : (await openFile(source)).createReadStream();
    const result = await withEmptyDatabase(settings, print, (url) => restoreBackup(url, backupStream, print));
    for (const sentence of listNextSteps(result.manifest)) print(sentence);
    for (const ledger of result.ledgers)
      print(formatLedgerNotice(ledger, await readAnchorFile(settings.dataDir, ledger.teamId)));
    return undefined;
  },
};

async function openFile(path: string) {
  try {
    return await open(path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CommandError(`The backup can’t be read: ${reason}`, { cause });
  }
}

async function withEmptyDatabase<T>(
  settings: DatabaseSettings,
  print: (line: string) => void,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const { databaseUrl, dataDir } = settings;
  if (databaseUrl !== undefined)
    return addNotEmptyHint(
      work(databaseUrl.reveal()),
      'Create an empty one (createdb), and set DATABASE_URL to it.',
    );
  const embedded = await startEmbeddedPostgres({ dataDir, log: print });
  const folder = join(dataDir, 'postgres');
  const hint = `To restore the backup there, move it away first: mv '${folder}' '${folder}.before-restore'`;
  try {
    return await addNotEmptyHint(work(embedded.url), hint);
  } finally {
    await embedded.stop();
  }
}

/** Adds a hint to the error that the database isn't empty. */
async function addNotEmptyHint<T>(work: Promise<T>, hint: string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof DatabaseAccessError) || error.cause !== undefined) throw error;
    throw new CommandError(`${error.message}\n${hint}`, { cause: error });
  }
}

function listNextSteps({ takenAt, orders, keys }: BackupManifest): readonly string[] {
  return [
    `The database of ${takenAt.toISOString()} is restored. Later changes are not in it.`,
    ...(keys.length === 0 ? [] : [`Start the bot with the keys ${keys.join(', ')} in CREDENTIALS_KEYS.`]),
    ...(orders.underWay === 0
      ? []
      : [
          `Approved orders that had not ended: ${orders.underWay}. They may have been sent since: when the bot starts they become UNKNOWN and aren’t sent, and approvers settle them in their threads.`,
        ]),
    ...(orders.waiting === 0
      ? []
      : [
          `Pending orders: ${orders.waiting}. They may have been approved and carried out since: check the domain service before approving.`,
        ]),
    'Later orders are unknown here, and their cards don’t respond. Later reminders, settings, links and approvals have to be repeated, and some messages are sent twice.',
  ];
}

/** @param anchor the newest anchor in `DATA_DIR` */
function formatLedgerNotice(
  { newestSealNumber }: RestoreResult['ledgers'][number],
  anchor: SavedAnchor | undefined,
): string {
  const anchorWarning =
    anchor === undefined || anchor.n <= newestSealNumber
      ? ''
      : ` Seal ${anchor.n} was published at ${anchor.at}, according to DATA_DIR: the database will reuse that number.`;
  return `The ledger continues after seal ${newestSealNumber} and may reuse numbers: later anchors and receipts won’t match it. The log records this, and ADMINS are notified at the start. Tell the people who keep them.${anchorWarning}`;
}
