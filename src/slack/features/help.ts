import type { Command, CommandCall } from '../feature.ts';
import { nearest } from '../parse.ts';
import { code, context, type Message, say, section } from '../views/kit.ts';

/*
 * Help, and what is said to a subcommand that nobody knows.
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
      if (word === undefined) return call.tell(overview(commands));
      const command = commands.find(({ name }) => name === word.toLowerCase());
      const names = commands.map(({ name }) => name);
      await call.tell(
        command === undefined ? unknownCommand(word, nearest(word.toLowerCase(), names)) : detail(command),
      );
    },
  };
  return [help];
}

function overview(commands: readonly Command[]): Message {
  const lines = commands.map(({ usage, summary }) => `\`/domain ${usage}\`  ${summary}`);
  const half = Math.ceil(lines.length / 2);
  return {
    text: 'What /domain can do',
    blocks: [
      section(
        '*Domain Steward* carries out domain tasks for you. What costs money waits for an approver’s click.',
      ),
      section(lines.slice(0, half).join('\n')),
      section(lines.slice(half).join('\n')),
      context(
        'Start with `/domain link`.',
        'A reason for the approvers goes after two hyphens: `/domain renew cafe.rest 2 -- client paid`.',
        'An example for each: `/domain help renew`.',
      ),
    ],
  };
}

function detail(command: Command): Message {
  const needs =
    command.needs === 'linked'
      ? 'You need a linked account: `/domain link`.'
      : command.needs === 'admin'
        ? 'For admins only.'
        : undefined;
  return say(
    [`*\`/domain ${command.usage}\`*`, `${command.summary}.`, `For example: \`${command.example}\``, needs]
      .filter((line) => line !== undefined)
      .join('\n'),
  );
}

/** The answer to a subcommand that does not exist. */
export function unknownCommand(word: string, near: string | undefined): Message {
  return say(
    `There is no ${code(`/domain ${word}`)}.${near === undefined ? '' : ` Did you mean \`/domain ${near}\`?`} \`/domain help\` lists everything.`,
  );
}
