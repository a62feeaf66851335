import type { Command, CommandCall } from '../feature.ts';
import { nearest } from '../parse.ts';
import { helpFor, helpOverview, unknownCommand } from '../views/help.ts';

/*
 * Help.
 */

/** @param others all other subcommands, in the order in which help lists them */
export function createHelp(others: readonly Command[]): readonly Command[] {
  const help: Command = {
    name: 'help',
    usage: 'help [SUBCOMMAND]',
    summary: 'Show what I can do',
    example: '/domain help renew',
    needs: 'nothing',
    async run(call: CommandCall) {
      const [word] = call.words;
      const commands = [help, ...others];
      if (word === undefined) return call.respond(helpOverview(commands));
      const command = commands.find(({ name }) => name === word.toLowerCase());
      const names = commands.map(({ name }) => name);
      await call.respond(
        command === undefined ? unknownCommand(word, nearest(word.toLowerCase(), names)) : helpFor(command),
      );
    },
  };
  return [help];
}
