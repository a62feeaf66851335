import type { CommandHint } from '../src/protocol.ts';

/* The composer's suggestions while a person types a slash command. */

export interface Suggestion {
  /** The inserted text, for example `/domain renew `. */
  insert: string;
  /** `/domain renew` */
  command: string;
  /** `NAME… [PERIOD]` */
  usage: string;
  description: string;
}

/** Splits a usage into its fixed words and its arguments. */
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

/** The commands that start with the typed text; none once a command is complete and has arguments. */
export function suggestionsFor(typed: string, hints: readonly CommandHint[]): Suggestion[] {
  if (!typed.startsWith('/') || typed.includes('\n')) return [];
  const lower = typed.toLowerCase();
  return hints.map(suggestionOf).filter(({ command, insert }) => {
    if (lower.startsWith(`${command} `)) return false;
    return insert.startsWith(lower) || command.startsWith(lower);
  });
}

/** The longest completely typed command. */
export function typedCommand(typed: string, hints: readonly CommandHint[]): Suggestion | undefined {
  const lower = `${typed.toLowerCase()} `;
  return hints
    .map(suggestionOf)
    .filter(({ command }) => lower.startsWith(`${command} `) && command.includes(' '))
    .sort((a, b) => b.command.length - a.command.length)[0];
}

/** Whether Enter sends: the text is a complete command, or no known command. */
export function isComplete(typed: string, suggestions: readonly Suggestion[]): boolean {
  const trimmed = typed.trim().toLowerCase();
  return suggestions.length === 0 || suggestions.some(({ command }) => command === trimmed);
}
