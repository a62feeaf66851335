import type { Command } from '../feature.ts';
import { code, context, lines, type Message, message, section, textMessage } from './blocks.ts';
import { NOT_TOLD } from './rules.ts';

/*
 * Help, and what is said to a subcommand that nobody knows.
 */

type Described = Pick<Command, 'usage' | 'summary' | 'example' | 'needs'>;

/** Every subcommand on a line. */
export function helpOverview(commands: readonly Described[]): Message {
  return message('What /domain can do', [
    section(
      '*Domain Steward* carries out domain tasks for you. What costs money waits for an approver’s click.',
    ),
    ...lines(commands.map(({ usage, summary }) => `\`/domain ${usage}\`  ${summary}`)),
    context(
      'Start with `/domain link`.',
      'A reason for the approvers goes after two hyphens: `/domain renew cafe.rest 2 -- client paid`.',
      'An example for each: `/domain help renew`.',
      NOT_TOLD,
    ),
  ]);
}

const NEEDS: Readonly<Record<Command['needs'], string>> = {
  nothing: '',
  member: '',
  linked: 'You need a linked account: `/domain link`.',
  admin: 'For admins only.',
};

/** One subcommand with an example. */
export function helpFor({ usage, summary, example, needs }: Described): Message {
  return textMessage(
    [`*\`/domain ${usage}\`*`, `${summary}.`, `For example: \`${example}\``, NEEDS[needs]]
      .filter((line) => line !== '')
      .join('\n'),
  );
}

/** The answer to a subcommand that does not exist. */
export function unknownCommand(word: string, near: string | undefined): Message {
  return textMessage(
    `There is no ${code(`/domain ${word}`)}.${near === undefined ? '' : ` Did you mean \`/domain ${near}\`?`} \`/domain help\` lists everything.`,
  );
}
