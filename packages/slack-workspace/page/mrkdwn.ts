import { emojiOf } from './emoji.ts';

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

export interface ReadingOptions {
  /** Doesn't link URLs in the text, as for blocks with `verbatim`. */
  verbatim?: boolean;
}

export function readMrkdwn(text: string, options: ReadingOptions = {}): Paragraph[] {
  const parts = text.split(/\n?```\n?([\s\S]+?)\n?```\n?/);
  // `split` with a group returns the group's matches at every second place.
  return parts.flatMap((part, index): Paragraph[] =>
    index % 2 === 1 ? [{ kind: 'preformatted', text: unescaped(part) }] : paragraphs(part, options),
  );
}

function paragraphs(text: string, options: ReadingOptions): Paragraph[] {
  const found: Paragraph[] = [];
  let lines: string[] = [];
  let quoted = false;
  const end = (): void => {
    const joined = lines.join('\n');
    if (quoted || joined.trim() !== '') {
      found.push({ kind: quoted ? 'quote' : 'lines', children: readInline(joined, options) });
    }
    lines = [];
  };
  for (const line of text.split('\n')) {
    const quote = /^(?:&gt;|>) ?(.*)$/.exec(line);
    if ((quote !== null) !== quoted) end();
    quoted = quote !== null;
    lines.push(quote?.[1] ?? line);
  }
  end();
  return found;
}

/** The first of a range of private-use characters. Each is a placeholder for a parsed piece. */
const HOLDER = 0xe000;
const HOLDERS = /[\ue000-\uf8ff]/;
const HOLDERS_COUNT = 0xf8ff - HOLDER;
const PIECES = /`(?!\u2060)([^`\n]+)(?<!\u2060)`|<([^<>\n]+)>|:([a-z0-9_+-]+):/g;
const PIECES_AND_ADDRESSES =
  /`(?!\u2060)([^`\n]+)(?<!\u2060)`|<([^<>\n]+)>|:([a-z0-9_+-]+):|(https?:\/\/[^\s<>|`]*[^\s<>|`.,;:!?)\ue000-\uf8ff])/g;

/** Parses one run of text: code, links, mentions, dates and emoji first, then bold and other styles. */
export function readInline(text: string, options: ReadingOptions = {}): Inline[] {
  const pieces: Inline[] = [];
  const held = text
    .replace(new RegExp(HOLDERS, 'g'), '')
    .replace(
      options.verbatim === true ? PIECES : PIECES_AND_ADDRESSES,
      (whole: string, code?: string, token?: string, emoji?: string, address?: unknown) => {
        const piece = pieceOf(code, token, emoji, typeof address === 'string' ? address : undefined);
        if (piece === undefined || pieces.length >= HOLDERS_COUNT) return whole;
        pieces.push(piece);
        return String.fromCharCode(HOLDER + pieces.length - 1);
      },
    );
  return styled(held, pieces);
}

function pieceOf(
  code: string | undefined,
  token: string | undefined,
  emoji: string | undefined,
  address: string | undefined,
): Inline | undefined {
  if (code !== undefined) return { kind: 'code', text: unescaped(code) };
  if (token !== undefined) return tokenOf(token);
  if (address !== undefined) return { kind: 'link', url: unescaped(address), text: unescaped(address) };
  const character = emoji === undefined ? undefined : emojiOf(emoji);
  return character === undefined || emoji === undefined
    ? undefined
    : { kind: 'emoji', name: emoji, character };
}

/** Parses the content between `<` and `>`. */
function tokenOf(token: string): Inline | undefined {
  const bar = token.indexOf('|');
  const target = bar < 0 ? token : token.slice(0, bar);
  const label = bar < 0 ? undefined : unescaped(token.slice(bar + 1));
  const named = label === undefined || label === '' ? {} : { label };
  if (/^@[UW]/.test(target)) return { kind: 'user', id: target.slice(1), ...named };
  if (/^#[CGD]/.test(target)) return { kind: 'channel', id: target.slice(1), ...named };
  const group = /^!subteam\^(\w+)$/.exec(target)?.[1];
  if (group !== undefined) return { kind: 'usergroup', id: group, ...named };
  const date = /^!date\^(-?\d+)\^([^^]+)(?:\^(.+))?$/.exec(target);
  if (date) {
    const [, at, format = '', url] = date;
    return {
      kind: 'date',
      at: Number(at),
      format: unescaped(format),
      fallback: label ?? '',
      ...(url !== undefined && isAddress(url) && { url }),
    };
  }
  if (/^!(here|channel|everyone)$/.test(target)) return { kind: 'broadcast', range: target.slice(1) };
  const url = unescaped(target);
  return isAddress(url) ? { kind: 'link', url, text: label ?? url.replace(/^mailto:/, '') } : undefined;
}

/** Refuses URLs that run code. */
export function isAddress(url: string): boolean {
  return /^(https?:\/\/|mailto:)/i.test(url);
}

const STYLES = [
  { kind: 'bold', mark: '\\*' },
  { kind: 'italic', mark: '_' },
  { kind: 'strike', mark: '~' },
] as const;

/*
 * A mark opens before a character and not after a letter, and closes the other way round. Apps put a word joiner beside
 * a mark so that Slack doesn't parse it.
 */
const MARKED = new RegExp(
  STYLES.map(
    ({ mark }) =>
      `(?<![\\p{L}\\p{N}${mark}])${mark}(?![\\s\\u2060${mark}])([^${mark}\\n]+?)(?<![\\s\\u2060])${mark}(?![\\p{L}\\p{N}${mark}])`,
  ).join('|'),
  'gu',
);

function styled(held: string, pieces: readonly Inline[]): Inline[] {
  const found: Inline[] = [];
  let from = 0;
  for (const match of held.matchAll(MARKED)) {
    found.push(...filledIn(held.slice(from, match.index), pieces));
    const place = match.slice(1).findIndex((inner) => inner !== undefined);
    const { kind } = STYLES[place] ?? STYLES[0];
    found.push({ kind, children: styled(match[place + 1] ?? '', pieces) });
    from = match.index + match[0].length;
  }
  found.push(...filledIn(held.slice(from), pieces));
  return found;
}

function filledIn(held: string, pieces: readonly Inline[]): Inline[] {
  return held
    .split(/([\ue000-\uf8ff])/)
    .filter((part) => part !== '')
    .map((part) => (HOLDERS.test(part) ? pieces[part.charCodeAt(0) - HOLDER] : undefined) ?? textPiece(part));
}

function textPiece(text: string): Inline {
  return { kind: 'text', text: unescaped(text) };
}

function unescaped(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}
