import { computeEditDistance } from '../../lib/edit-distance.ts';
import { cleanText } from '../../lib/entered-text.ts';
import { truncate } from './blocks.ts';

const MAX_REASON_LENGTH = 1_000;

export interface CommandLine {
  /** In lower case; empty if nothing was entered. */
  readonly subcommand: string;
  readonly words: readonly string[];
  /** Text after ` -- `. */
  readonly reason: string | undefined;
}

/** Splits off a time at the end of a command, as in `cafe.rest 2 at 2026-12-06 02:00`. */
export function splitTime(words: readonly string[]): {
  readonly words: readonly string[];
  readonly sendAt: string | undefined;
} {
  const atIndex = words.findLastIndex((word) => word.toLowerCase() === 'at');
  return atIndex === -1
    ? { words, sendAt: undefined }
    : { words: words.slice(0, atIndex), sendAt: words.slice(atIndex + 1).join(' ') };
}

/** Separates a reason from the command. Phones and Macs turn two hyphens into a dash. */
const REASON_SEPARATOR = /(?:^|\s)(?:--|—|–)(?:\s+|$)/;

/** Quotation marks around a word. Names, numbers and options never contain them. */
const QUOTES = /^["“”„«»‘’‚'`]+|["“”„«»‘’‚'`]+$/g;

export function parseCommandLine(input: string): CommandLine {
  const text = cleanText(input);
  const separator = REASON_SEPARATOR.exec(text);
  const commandText = separator === null ? text : text.slice(0, separator.index);
  const reason = separator === null ? '' : text.slice(separator.index + separator[0].length).trim();
  const [subcommand = '', ...words] = unescapeText(unwrapLinks(commandText))
    .split(/\s+/)
    .map((word) => word.replace(QUOTES, ''))
    .filter((word) => word !== '');
  return {
    subcommand: subcommand.toLowerCase(),
    words,
    reason: cleanReason(unescapeText(unwrapMentions(reason))),
  };
}

/** @returns undefined if nothing is left */
export function cleanReason(text: string): string | undefined {
  const clean = text.replace(/[\p{Cc}\p{Cs}]+/gu, ' ').trim();
  return clean === '' ? undefined : truncate(clean, MAX_REASON_LENGTH);
}

/** Slack turns names into links, with the entered text after a bar. Keeps mentions, which identify people. */
function unwrapLinks(text: string): string {
  return text
    .replace(
      /<([^@#!<>|][^<>|]*)(?:\|([^<>]*))?>/g,
      (_link, address: string, label?: string) => label ?? address,
    )
    .replace(/<([@#!][^<>|\s]*)\|[^<>]*>/g, '<$1>');
}

/** Replaces links and mentions with the entered text. */
function unwrapMentions(text: string): string {
  return unwrapLinks(
    text.replace(
      /<([@#!])([^<>|]*)(?:\|([^<>]*))?>/g,
      (_mention, kind: string, id: string, label?: string) =>
        `${kind === '#' ? '#' : '@'}${(label || id).replace(/^[@#]/, '')}`,
    ),
  );
}

/** Slack sends `&`, `<` and `>` as entities. */
function unescapeText(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

/** @returns the candidate that is most similar to a mistyped word; undefined if none is similar enough */
export function findNearest(word: string, candidates: readonly string[]): string | undefined {
  const prefixMatch =
    word.length >= 3 ? candidates.find((candidate) => candidate.startsWith(word)) : undefined;
  const [closest] = candidates
    .map((candidate) => ({ candidate, distance: computeEditDistance(word, candidate) }))
    .sort((a, b) => a.distance - b.distance);
  const isSimilar =
    closest !== undefined && closest.distance <= Math.max(2, Math.floor(closest.candidate.length / 3));
  return prefixMatch ?? (isSimilar ? closest.candidate : undefined);
}

/**
 * Suggests a command line for an unknown subcommand. It may be a typo, or a domain name that was entered
 * before the subcommand or without one.
 */
export function suggestCommandLine(
  { subcommand, words }: CommandLine,
  commands: readonly string[],
): string | undefined {
  const nearest = findNearest(subcommand, commands);
  if (nearest !== undefined || !/[^.]\.[^.]/.test(subcommand)) return nearest;
  const command = words.map((word) => word.toLowerCase()).find((word) => commands.includes(word));
  return `${command ?? 'name'} ${subcommand}`;
}
