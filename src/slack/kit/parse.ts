import { editDistance } from '../../lib/edit-distance.ts';
import { cleanText } from '../../lib/typed-text.ts';
import { truncate } from './blocks.ts';

const MAX_REASON = 1_000;

/** What stands after `/domain`. */
export interface CommandLine {
  /** Lower case; empty when nothing was typed. */
  readonly subcommand: string;
  readonly words: readonly string[];
  /** Text after ` -- `. */
  readonly reason: string | undefined;
}

/** The separator before a reason. Phones and Macs turn two hyphens into a dash. */
const REASON = /(?:^|\s)(?:--|—|–)(?:\s+|$)/;

/** Quotation marks around a word. No name, number or option has any. */
const QUOTES = /^["“”„«»‘’‚'`]+|["“”„«»‘’‚'`]+$/g;

/** Splits the text of a slash command. */
export function parseCommandLine(typed: string): CommandLine {
  const text = cleanText(typed);
  const at = REASON.exec(text);
  const line = at === null ? text : text.slice(0, at.index);
  const reason = at === null ? undefined : text.slice(at.index + at[0].length).trim();
  const [subcommand = '', ...words] = unescapeText(withoutLinks(line))
    .split(/\s+/)
    .map((word) => word.replace(QUOTES, ''))
    .filter((word) => word !== '');
  return {
    subcommand: subcommand.toLowerCase(),
    words,
    reason: cleanReason(unescapeText(withoutMentions(reason ?? ''))),
  };
}

/** A reason without invisible characters, cut to a length; undefined when nothing is left. */
export function cleanReason(text: string): string | undefined {
  const clean = text.replace(/[\p{Cc}\p{Cs}]+/gu, ' ').trim();
  return clean === '' ? undefined : truncate(clean, MAX_REASON);
}

/**
 * Slack turns names into links with the typed text behind a bar. A mention stays, because it identifies a person.
 */
function withoutLinks(text: string): string {
  return text
    .replace(
      /<([^@#!<>|][^<>|]*)(?:\|([^<>]*))?>/g,
      (_link, address: string, typed?: string) => typed ?? address,
    )
    .replace(/<([@#!][^<>|\s]*)\|[^<>]*>/g, '<$1>');
}

/** The same for a reason: a mention becomes the text that was typed. */
function withoutMentions(text: string): string {
  return withoutLinks(
    text.replace(
      /<([@#!])([^<>|]*)(?:\|([^<>]*))?>/g,
      (_mention, kind: string, id: string, typed?: string) =>
        `${kind === '#' ? '#' : '@'}${(typed || id).replace(/^[@#]/, '')}`,
    ),
  );
}

/** Slack sends `&`, `<` and `>` as entities. */
function unescapeText(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

/** The candidate that a mistyped word most likely meant; undefined when none is near. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  // What was typed may be the beginning of the word.
  const begun = word.length >= 3 ? candidates.find((candidate) => candidate.startsWith(word)) : undefined;
  const [best] = candidates
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .sort((a, b) => a.distance - b.distance);
  const near = best !== undefined && best.distance <= Math.max(2, Math.floor(best.candidate.length / 3));
  return begun ?? (near ? best.candidate : undefined);
}

/**
 * What a line with an unknown subcommand most likely meant: a mistyped subcommand, or a name that stands before or without
 * one.
 */
export function likelyLine(
  { subcommand, words }: CommandLine,
  commands: readonly string[],
): string | undefined {
  const near = nearest(subcommand, commands);
  if (near !== undefined || !/[^.]\.[^.]/.test(subcommand)) return near;
  const verb = words.map((word) => word.toLowerCase()).find((word) => commands.includes(word));
  return `${verb ?? 'name'} ${subcommand}`;
}
