import { getEmoji } from './emoji.ts';

/*
 * Parses Slack's mrkdwn into a tree (docs.slack.dev, formatting message text). Everything except markup stays text, and
 * the tree can't contain HTML, so no message can inject any.
 */

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'bold' | 'italic' | 'strike'; children: Inline[] }
  | { kind: 'code'; text: string }
  | { kind: 'emoji'; name: string; character: string }
  | { kind: 'link'; url: string; text: string }
  | { kind: 'user' | 'channel' | 'usergroup'; id: string; label?: string }
  | { kind: 'broadcast'; range: string }
  /** `at` in seconds since 1970. */
  | { kind: 'date'; at: number; format: string; fallback: string; url?: string };

export type Paragraph =
  | { kind: 'lines'; children: Inline[] }
  | { kind: 'quote'; children: Inline[] }
  | { kind: 'preformatted'; text: string };

export interface MrkdwnOptions {
  /** Whether URLs in the text stay unlinked, as in Slack's text objects with `verbatim`. */
  verbatim?: boolean;
}

export function parseMrkdwn(text: string, options: MrkdwnOptions = {}): Paragraph[] {
  const parts = text.split(/\n?```\n?([\s\S]+?)\n?```\n?/);
  // `split` also returns what the group matched, at odd indexes.
  return parts.flatMap((part, index): Paragraph[] =>
    index % 2 === 1 ? [{ kind: 'preformatted', text: unescapeText(part) }] : parseParagraphs(part, options),
  );
}

function parseParagraphs(text: string, options: MrkdwnOptions): Paragraph[] {
  const paragraphs: Paragraph[] = [];
  let lines: string[] = [];
  let isQuote = false;
  const endParagraph = (): void => {
    const content = lines.join('\n');
    if (isQuote || content.trim() !== '') {
      paragraphs.push({ kind: isQuote ? 'quote' : 'lines', children: parseInline(content, options) });
    }
    lines = [];
  };
  for (const line of text.split('\n')) {
    const quote = /^(?:&gt;|>) ?(.*)$/.exec(line);
    if ((quote !== null) !== isQuote) endParagraph();
    isQuote = quote !== null;
    lines.push(quote?.[1] ?? line);
  }
  endParagraph();
  return paragraphs;
}

/** The first of the private-use characters that are placeholders for parsed pieces. */
const FIRST_PLACEHOLDER = 0xe000;
const PLACEHOLDER_PATTERN = /[\ue000-\uf8ff]/;
const MAX_PLACEHOLDERS = 0xf8ff - FIRST_PLACEHOLDER;
const PIECE_PATTERN = /`(?!\u2060)([^`\n]+)(?<!\u2060)`|<([^<>\n]+)>|:([a-z0-9_+-]+):/g;
const PIECE_OR_URL_PATTERN =
  /`(?!\u2060)([^`\n]+)(?<!\u2060)`|<([^<>\n]+)>|:([a-z0-9_+-]+):|(https?:\/\/[^\s<>|`]*[^\s<>|`.,;:!?)\ue000-\uf8ff])/g;

/** Parses one run of text: code, links, mentions, dates and emoji first, then bold and other styles. */
export function parseInline(text: string, options: MrkdwnOptions = {}): Inline[] {
  const pieces: Inline[] = [];
  const textWithPlaceholders = text
    .replace(new RegExp(PLACEHOLDER_PATTERN, 'g'), '')
    .replace(
      options.verbatim === true ? PIECE_PATTERN : PIECE_OR_URL_PATTERN,
      (whole: string, code?: string, token?: string, emoji?: string, address?: unknown) => {
        const piece = parsePiece(code, token, emoji, typeof address === 'string' ? address : undefined);
        if (piece === undefined || pieces.length >= MAX_PLACEHOLDERS) return whole;
        pieces.push(piece);
        return String.fromCharCode(FIRST_PLACEHOLDER + pieces.length - 1);
      },
    );
  return parseStyles(textWithPlaceholders, pieces);
}

function parsePiece(
  code: string | undefined,
  token: string | undefined,
  emoji: string | undefined,
  address: string | undefined,
): Inline | undefined {
  if (code !== undefined) return { kind: 'code', text: unescapeText(code) };
  if (token !== undefined) return parseToken(token);
  if (address !== undefined) return { kind: 'link', url: unescapeText(address), text: unescapeText(address) };
  const character = emoji === undefined ? undefined : getEmoji(emoji);
  return character === undefined || emoji === undefined
    ? undefined
    : { kind: 'emoji', name: emoji, character };
}

/** Parses the content between `<` and `>`. */
function parseToken(token: string): Inline | undefined {
  const bar = token.indexOf('|');
  const target = bar < 0 ? token : token.slice(0, bar);
  const label = bar < 0 ? undefined : unescapeText(token.slice(bar + 1));
  const optionalLabel = label === undefined || label === '' ? {} : { label };
  if (/^@[UW]/.test(target)) return { kind: 'user', id: target.slice(1), ...optionalLabel };
  if (/^#[CGD]/.test(target)) return { kind: 'channel', id: target.slice(1), ...optionalLabel };
  const group = /^!subteam\^(\w+)$/.exec(target)?.[1];
  if (group !== undefined) return { kind: 'usergroup', id: group, ...optionalLabel };
  const date = /^!date\^(-?\d+)\^([^^]+)(?:\^(.+))?$/.exec(target);
  if (date) {
    const [, at, format = '', url] = date;
    return {
      kind: 'date',
      at: Number(at),
      format: unescapeText(format),
      fallback: label ?? '',
      ...(url !== undefined && isLinkableUrl(url) && { url }),
    };
  }
  if (/^!(here|channel|everyone)$/.test(target)) return { kind: 'broadcast', range: target.slice(1) };
  const url = unescapeText(target);
  return isLinkableUrl(url) ? { kind: 'link', url, text: label ?? url.replace(/^mailto:/, '') } : undefined;
}

/** Whether a URL can be linked. URLs that run code can't. */
export function isLinkableUrl(url: string): boolean {
  return /^(https?:\/\/|mailto:)/i.test(url);
}

const STYLES = [
  { kind: 'bold', mark: '\\*' },
  { kind: 'italic', mark: '_' },
  { kind: 'strike', mark: '~' },
] as const;

/*
 * An opening mark can't follow a letter or digit or precede a space. A closing mark can't follow a space or precede a
 * letter or digit. Apps escape a mark with a word joiner next to it.
 */
const STYLED_TEXT = new RegExp(
  STYLES.map(
    ({ mark }) =>
      `(?<![\\p{L}\\p{N}${mark}])${mark}(?![\\s\\u2060${mark}])([^${mark}\\n]+?)(?<![\\s\\u2060])${mark}(?![\\p{L}\\p{N}${mark}])`,
  ).join('|'),
  'gu',
);

function parseStyles(textWithPlaceholders: string, pieces: readonly Inline[]): Inline[] {
  const inlines: Inline[] = [];
  let plainStart = 0;
  for (const match of textWithPlaceholders.matchAll(STYLED_TEXT)) {
    inlines.push(...replacePlaceholders(textWithPlaceholders.slice(plainStart, match.index), pieces));
    const styleIndex = match.slice(1).findIndex((inner) => inner !== undefined);
    const { kind } = STYLES[styleIndex] ?? STYLES[0];
    inlines.push({ kind, children: parseStyles(match[styleIndex + 1] ?? '', pieces) });
    plainStart = match.index + match[0].length;
  }
  inlines.push(...replacePlaceholders(textWithPlaceholders.slice(plainStart), pieces));
  return inlines;
}

function replacePlaceholders(textWithPlaceholders: string, pieces: readonly Inline[]): Inline[] {
  return textWithPlaceholders
    .split(/([\ue000-\uf8ff])/)
    .filter((part) => part !== '')
    .map(
      (part) =>
        (PLACEHOLDER_PATTERN.test(part) ? pieces[part.charCodeAt(0) - FIRST_PLACEHOLDER] : undefined) ??
        createTextPiece(part),
    );
}

function createTextPiece(text: string): Inline {
  return { kind: 'text', text: unescapeText(text) };
}

function unescapeText(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}
