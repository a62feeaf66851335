import { purge } from '../../store/purge.ts';
import { withSession } from '../../store/session.ts';
import { type Command, DRY_RUN, printChanges, UsageError, withBotDatabase } from './command.ts';

/** Within this time an order may be asked for again, undone or reviewed. */
const MIN_AGE_DAYS = 30;
const DAY_MS = 86_400_000;

export const purgeCommand: Command = {
  usage: '--before DATE [--dry-run]',
  summary: 'delete orders that ended before a day, and the log of before it',
  details: `DATE is like 2023-11-25, in UTC, at least ${MIN_AGE_DAYS} days ago. The log of orders that are kept stays, and so do the hashes of all of it.\nWhat orders of this year took out of budgets goes with them. With --dry-run nothing is deleted.`,
  options: { before: { type: 'string' }, ...DRY_RUN },
  async run({ args, values, env, print }) {
    if (args.length > 0) throw new UsageError('The day is given with --before.');
    const before = dayOf(values['before']);
    if (Date.now() - before.getTime() < MIN_AGE_DAYS * DAY_MS)
      throw new UsageError(`DATE must be at least ${MIN_AGE_DAYS} days ago.`);
    const dryRun = values['dry-run'] === true;
    const changes = await withBotDatabase({ env, print }, (url) =>
      withSession(url, (client) => purge(client, before, { dryRun })),
    );
    const day = before.toISOString().slice(0, 10);
    if (changes.length === 0) print(`Nothing ended before ${day}.`);
    else
      print(dryRun ? `What ended before ${day} would be deleted:` : `What ended before ${day} is deleted:`);
    printChanges(changes, print);
    return undefined;
  },
};

function dayOf(text: unknown): Date {
  if (typeof text !== 'string') throw new UsageError('--before DATE is missing.');
  const day = new Date(`${text}T00:00:00Z`);
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || Number.isNaN(day.getTime()) || !day.toISOString().startsWith(text))
    throw new UsageError(`${text} is no day like 2023-11-25.`);
  return day;
}
