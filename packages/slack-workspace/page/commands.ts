import type { CommandHint } from '../src/protocol.ts';

/*
 * What the composer offers while somebody types a slash command.
 */

export interface Suggestion {
  /** What is written when it is chosen, for example `/domain renew `. */
  insert: string;
  /** `/domain renew` */
  command: string;
  /** `NAME… [PERIOD]` */
  usage: string;
  description: string;
}

/** Words that are typed as they stand, and then what a person fills in. */
function splitUsage(hint: CommandHint): { command: string; usage: string } {
  const words = [hint.command, ...hint.usage_hint.split(/\s+/)].join(' ').trim().split(/\s+/);
  const first = words.findIndex((word, index) => index > 0 && !/^[a-z][a-z-]*$/.test(word));
  const literal = first < 0 ? words : words.slice(0, first);
  return { command: literal.join(' '), usage: words.slice(literal.length).join(' ') };
}

function suggestionOf(hint: CommandHint): Suggestion {
  const { command, usage } = splitUsage(hint);
  return { insert: `${command}${usage === '' ? '' : ' '}`, command, usage, description: hint.description };
}

/** The commands that go on from what was typed; none once one is typed out and its arguments follow. */
export function suggestionsFor(typed: string, hints: readonly CommandHint[]): Suggestion[] {
  if (!typed.startsWith('/') || typed.includes('\n')) return [];
  const lower = typed.toLowerCase();
  return hints.map(suggestionOf).filter(({ command, insert }) => {
    if (lower.startsWith(`${command} `)) return false;
    return insert.startsWith(lower) || command.startsWith(lower);
  });
}

/** How the command being typed goes on: the one that was typed out, the longest such. */
export function typedCommand(typed: string, hints: readonly CommandHint[]): Suggestion | undefined {
  const lower = `${typed.toLowerCase()} `;
  return hints
    .map(suggestionOf)
    .filter(({ command }) => lower.startsWith(`${command} `) && command.includes(' '))
    .sort((a, b) => b.command.length - a.command.length)[0];
}

/** Whether Enter sends: what was typed is a whole command, or no command that is known. */
export function isComplete(typed: string, suggestions: readonly Suggestion[]): boolean {
  const trimmed = typed.trim().toLowerCase();
  return suggestions.length === 0 || suggestions.some(({ command }) => command === trimmed);
}
