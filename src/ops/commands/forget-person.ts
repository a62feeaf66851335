import { listVariablesWithUserId } from '../../config/environment.ts';
import { type ForgetObstacle, forgetPerson } from '../../store/forget-person.ts';
import { withSession } from '../../store/session.ts';
import {
  type Command,
  DRY_RUN_OPTION,
  printRowCounts,
  requireOneArgument,
  UsageError,
  withBotDatabase,
} from './command.ts';

export const forgetPersonCommand: Command = {
  usage: 'ID [--dry-run]',
  summary: 'remove a person who left from all data',
  details:
    'ID is their Slack user id. Their credentials and calendar are deleted; in the log they become “former”, and its hashes stay.\nMessages in Slack stay: delete them there. With --dry-run nothing changes.',
  options: DRY_RUN_OPTION,
  async run({ args, optionValues, env, print }) {
    const userId = requireOneArgument(args, 'ID');
    if (!/^[UW][A-Z0-9]{2,}$/.test(userId)) throw new UsageError(`${userId} isn’t a Slack user id (U…).`);
    const dryRun = optionValues['dry-run'] === true;
    const result = await withBotDatabase({ env, print }, (url) =>
      withSession(url, (client) => forgetPerson(client, userId, { dryRun })),
    );
    if (!result.isDone) {
      print(`${userId} is still in use, so nothing changed:`);
      for (const obstacle of result.obstacles) print(`  ${formatObstacle(obstacle)}`);
      return 1;
    }
    if (result.changes.length === 0) print(`No data about ${userId}.`);
    else print(dryRun ? `${userId} would be removed from:` : `${userId} is removed from:`);
    printRowCounts(result.changes, print);
    for (const name of listVariablesWithUserId(env, userId))
      print(`${name} in the environment still names ${userId}: remove them.`);
    return undefined;
  },
};

function formatObstacle(obstacle: ForgetObstacle): string {
  switch (obstacle.kind) {
    case 'open_order':
      return `The order ${obstacle.orderId} names them and hasn’t ended: wait for it, or stop it.`;
    case 'setting':
      return `${obstacle.name.toUpperCase()} names them: remove them in /domain settings.`;
    case 'policy':
      return 'A policy rule names them: remove them in /domain policy.';
    case 'policy_draft':
      return 'The policy draft names them: remove them in /domain policy.';
  }
}
