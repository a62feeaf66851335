import { DAY_MS } from '../../lib/duration.ts';
import { purge } from '../../store/purge.ts';
import { withSession } from '../../store/session.ts';
import { type Command, DRY_RUN_OPTION, printRowCounts, UsageError, withBotDatabase } from './command.ts';

/** More recent orders can still be retried, undone or reviewed. */
const MIN_AGE_DAYS = 30;

export const purgeCommand: Command = {
  usage: '--before DATE [--dry-run]',
  summary: 'delete orders that ended before a date, and older log events',
  details: `DATE is like 2023-11-25, in UTC, at least ${MIN_AGE_DAYS} days ago. The log of orders that are kept stays, and so do all hashes.\nBudget amounts of deleted orders are deleted too. With --dry-run nothing is deleted.`,
  options: { before: { type: 'string' }, ...DRY_RUN_OPTION },
  async run({ args, optionValues, env, print }) {
    if (args.length > 0) throw new UsageError('Give the date with --before.');
    const cutoff = parseDay(optionValues['before']);
    if (Date.now() - cutoff.getTime() < MIN_AGE_DAYS * DAY_MS)
      throw new UsageError(`DATE must be at least ${MIN_AGE_DAYS} days ago.`);
    const dryRun = optionValues['dry-run'] === true;
    const changes = await withBotDatabase({ env, print }, (url) =>
      withSession(url, (client) => purge(client, cutoff, { dryRun })),
    );
    const day = cutoff.toISOString().slice(0, 10);
    if (changes.length === 0) print(`Nothing ended before ${day}.`);
    else print(dryRun ? `Ended before ${day}, would be deleted:` : `Ended before ${day}, deleted:`);
    printRowCounts(changes, print);
    return undefined;
  },
};

function parseDay(text: unknown): Date {
  if (typeof text !== 'string') throw new UsageError('--before DATE is missing.');
  const day = new Date(`${text}T00:00:00Z`);
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || Number.isNaN(day.getTime()) || !day.toISOString().startsWith(text))
    throw new UsageError(`${text} isn’t a date like 2023-11-25.`);
  return day;
}
