import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { streamBackup, takeBackup } from '../../store/backup.ts';
import { type Command, CommandError, requireOneArgument, withBotDatabase } from './command.ts';

export const backupCommand: Command = {
  usage: 'FILE',
  summary: 'back up the database, also while the bot runs',
  details:
    'FILE must not exist yet. In a folder the backup gets its own name; - writes it to standard output.\nThe keys (CREDENTIALS_KEYS) are not in it: keep them elsewhere.',
  options: {},
  async run({ args, env, print }) {
    const target = requireOneArgument(args, 'FILE');
    const writesToStdout = target === '-';
    // Standard output must contain only the backup.
    const printStatus = writesToStdout ? (line: string) => void process.stderr.write(`${line}\n`) : print;
    const path = writesToStdout ? target : await resolveBackupPath(target);
    const { takenAt, orders, keys } = await withBotDatabase({ env, print: printStatus }, (url) =>
      writesToStdout ? streamBackup(url, process.stdout) : takeBackup(url, path),
    );
    printStatus(
      `The backup${writesToStdout ? '' : ` ${path}`} is complete: the database of ${takenAt.toISOString()}.`,
    );
    printStatus(
      `To restore it you need ${keys.length === 0 ? 'no key' : `the keys ${keys.join(', ')} of CREDENTIALS_KEYS`}.`,
    );
    if (orders.underWay > 0)
      printStatus(
        `Approved orders in progress: ${orders.underWay}. After a restore, a person has to settle them.`,
      );
    return undefined;
  },
};

async function resolveBackupPath(target: string): Promise<string> {
  const stats = await stat(target).catch(() => undefined);
  if (stats === undefined) return target;
  if (!stats.isDirectory()) throw new CommandError(`${target} already exists. Nothing changed.`);
  return join(target, `domain-steward-${new Date().toISOString().replaceAll(':', '')}.sql.gz`);
}
