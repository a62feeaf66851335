import { findVariablesWithPerson } from '../../config/environment.ts';
import { type ForgetObstacle, forgetPerson } from '../../store/forget-person.ts';
import { withSession } from '../../store/session.ts';
import {
  type Command,
  DRY_RUN_OPTION,
  printChanges,
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
  async run({ args, values, env, print }) {
    const person = requireOneArgument(args, 'ID');
    if (!/^[UW][A-Z0-9]{2,}$/.test(person)) throw new UsageError(`${person} isn’t a Slack user id (U…).`);
    const dryRun = values['dry-run'] === true;
    const result = await withBotDatabase({ env, print }, (url) =>
      withSession(url, (client) => forgetPerson(client, person, { dryRun })),
    );
    if (!result.done) {
      print(`${person} is still in use, so nothing changed:`);
      for (const obstacle of result.obstacles) print(`  ${formatObstacle(obstacle)}`);
      return 1;
    }
    if (result.changes.length === 0) print(`No data about ${person}.`);
    else print(dryRun ? `${person} would be removed from:` : `${person} is removed from:`);
    printChanges(result.changes, print);
    for (const name of findVariablesWithPerson(env, person))
      print(`${name} in the environment still names ${person}: remove them.`);
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
