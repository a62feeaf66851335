import type { CommandHint } from '../src/protocol.ts';

/* The composer's suggestions while a person types a slash command. */

export interface Suggestion {
  /** The inserted text, for example `/domain renew `. */
  insertedText: string;
  /** `/domain renew` */
  command: string;
  /** `NAME… [PERIOD]` */
  usage: string;
  description: string;
}

/** Splits a usage into its fixed words and its arguments. */
function splitUsage(hint: CommandHint): { command: string; usage: string } {
  const words = [hint.command, ...hint.usage_hint.split(/\s+/)].join(' ').trim().split(/\s+/);
  const argumentIndex = words.findIndex((word, index) => index > 0 && !/^[a-z][a-z-]*$/.test(word));
  const fixedWords = argumentIndex < 0 ? words : words.slice(0, argumentIndex);
  return { command: fixedWords.join(' '), usage: words.slice(fixedWords.length).join(' ') };
}

function createSuggestion(hint: CommandHint): Suggestion {
  const { command, usage } = splitUsage(hint);
  return {
    insertedText: `${command}${usage === '' ? '' : ' '}`,
    command,
    usage,
    description: hint.description,
  };
}

/** Commands that start with the typed text, except one that is already followed by a space. */
export function findSuggestions(typedText: string, hints: readonly CommandHint[]): Suggestion[] {
  if (!typedText.startsWith('/') || typedText.includes('\n')) return [];
  const lower = typedText.toLowerCase();
  return hints.map(createSuggestion).filter(({ command, insertedText }) => {
    if (lower.startsWith(`${command} `)) return false;
    return insertedText.startsWith(lower) || command.startsWith(lower);
  });
}

/** The longest completely typed command. */
export function findTypedCommand(typedText: string, hints: readonly CommandHint[]): Suggestion | undefined {
  const lower = `${typedText.toLowerCase()} `;
  return hints
    .map(createSuggestion)
    .filter(({ command }) => lower.startsWith(`${command} `) && command.includes(' '))
    .sort((a, b) => b.command.length - a.command.length)[0];
}

/** Whether Enter sends the text: it is a complete command, or doesn't match a known one. */
export function canSend(typedText: string, suggestions: readonly Suggestion[]): boolean {
  const trimmed = typedText.trim().toLowerCase();
  return suggestions.length === 0 || suggestions.some(({ command }) => command === trimmed);
}
