import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { backupTo, takeBackup } from '../../store/backup.ts';
import { type Command, CommandError, requireOneArgument, withBotDatabase } from './command.ts';

export const backupCommand: Command = {
  usage: 'FILE',
  summary: 'back up the database, also while the bot runs',
  details:
    'FILE must not exist yet. In a folder the backup gets its own name; - writes it to standard output.\nThe keys (CREDENTIALS_KEYS) are not in it: keep them elsewhere.',
  options: {},
  async run({ args, env, print }) {
    const target = requireOneArgument(args, 'FILE');
    const toStdout = target === '-';
    // Standard output must contain only the backup.
    const say = toStdout ? (line: string) => void process.stderr.write(`${line}\n`) : print;
    const path = toStdout ? target : await findFreePath(target);
    const { takenAt, orders, keys } = await withBotDatabase({ env, print: say }, (url) =>
      toStdout ? backupTo(url, process.stdout) : takeBackup(url, path),
    );
    say(`The backup${toStdout ? '' : ` ${path}`} is complete: the database of ${takenAt.toISOString()}.`);
    say(
      `To restore it you need ${keys.length === 0 ? 'no key' : `the keys ${keys.join(', ')} of CREDENTIALS_KEYS`}.`,
    );
    if (orders.underWay > 0)
      say(`Approved orders in progress: ${orders.underWay}. After a restore, a person has to settle them.`);
    return undefined;
  },
};

async function findFreePath(target: string): Promise<string> {
  const found = await stat(target).catch(() => undefined);
  if (found === undefined) return target;
  if (!found.isDirectory()) throw new CommandError(`${target} already exists. Nothing changed.`);
  return join(target, `domain-steward-${new Date().toISOString().replaceAll(':', '')}.sql.gz`);
}
