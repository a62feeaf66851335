import { type Json, type JsonObject, LIMITS } from '@domain-steward/slack-workspace';

/*
 * How long a message is on a phone, and what nobody should have to read in one. Lines are counted as the page on messages
 * counts them: 40 characters each, fields one below the other, a row of buttons as two.
 */

const LINE = 40;
const ROW_OF_BUTTONS = 2;
/** A chart is as high as this many lines. */
const CHART = 8;

/** What a person sees of mrkdwn: names for mentions, labels for links, the fallback of a moment, no marks. */
export function seen(mrkdwn: string): string {
  return mrkdwn
    .replace(/<!date\^[^|>]*\|([^>]*)>/g, '$1')
    .replace(
      /<(?:[@#]|!subteam\^)[^|>]+(?:\|([^>]*))?>/g,
      (_, label: string | undefined) => label ?? '@person',
    )
    .replace(/<[^|>]+\|([^>]*)>/g, '$1')
    .replace(/<([^|>]+)>/g, '$1')
    .replace(/:[a-z+-][a-z0-9_+-]*:/g, '🙂')
    .replace(/(^|\W)[*_~`]+(?=\S)|(?<=\S)[*_~`]+(?=\W|$)/g, '$1')
    .replaceAll('&amp;', '&')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>');
}

/** The lines of blocks on a phone. */
export function phoneLines(blocks: readonly JsonObject[]): number {
  return blocks.reduce((sum, block) => sum + linesOfBlock(block), 0);
}

function linesOfBlock(block: JsonObject): number {
  switch (block['type']) {
    case 'header':
      return linesOfText(textIn(block['text']));
    case 'section':
      return (
        (block['text'] === undefined ? 0 : linesOfText(textIn(block['text']))) +
        objects(block['fields']).reduce((sum, field) => sum + linesOfText(textIn(field)), 0)
      );
    case 'context':
      return linesOfText(objects(block['elements']).map(textIn).join(' '));
    case 'actions':
      return ROW_OF_BUTTONS;
    case 'divider':
      return 1;
    case 'data_table':
      return 1 + Math.min(list(block['rows']).length, LIMITS.dataTable.rows);
    case 'data_visualization':
      return CHART;
    case 'rich_text':
      return linesOfText(textsOf(block['elements']).join(''));
    default:
      throw new Error(`nobody has said how high a block \`${String(block['type'])}\` is`);
  }
}

function linesOfText(mrkdwn: string): number {
  return seen(mrkdwn)
    .split('\n')
    .reduce((sum, line) => sum + Math.max(1, Math.ceil([...line].length / LINE)), 0);
}

/** The unusual facts of a message: each stands on a line of its own with ⚠ or ❌. */
export function unusualFacts(blocks: readonly JsonObject[]): number {
  const text = blocks.flatMap((block) => textsOf(block)).join('\n');
  return text.split('\n').filter((line) => /^(?::warning:|:x:|:rotating_light:|⚠|❌)/u.test(line)).length;
}

/** What no message may have in it: moments of a wire, states and field names of programs. */
const UNREADABLE: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['a timestamp', /\b\d{4}-\d\d-\d\dT\d\d:\d\d/],
  [
    'a state of an order',
    /\b(?:DRAFT|PENDING|APPROVED|EXECUTING|SUCCEEDED|FAILED|UNKNOWN|DENIED|EXPIRED|CANCELLED)\b/,
  ],
  ['a field name', /\b[a-z]+(?:_[a-z]+)+\b(?!\.[a-z])/],
  ['a field name', /\b(?:nameServers|confirmOrder|defaultEmail|ownerc|adminc|techc|replyTo)\b/],
];

/**
 * What a person should not have to read in a message. Quotations are left out: what people typed and the service said is shown
 * as it came.
 * @returns a line each: what it is, and where it stands
 */
export function unreadable(text: string, blocks: readonly JsonObject[]): string[] {
  const texts = blocks.flatMap((block) => textsOf(block));
  // The sentence for a lock screen has no marks: what is code in the blocks is code there too.
  const codes = texts.flatMap((each) => [...each.matchAll(/`([^`]+)`/g)].map(([, inside = '']) => inside));
  const plain = codes.reduce((left, inside) => left.replaceAll(inside, ' '), text);
  return [plain, ...texts].flatMap((each) => {
    const own = seen(each.replace(QUOTED, ' '));
    return UNREADABLE.flatMap(([what, pattern]) => {
      const found = pattern.exec(own);
      return found === null ? [] : [`${what} (${found[0]}) in: ${each.slice(0, 120)}`];
    });
  });
}

/** What people typed, the service or Slack said, and what people are to type. */
const QUOTED =
  /“[^”]*”|The service says:.*|Slack says \w+|Slack refused this \(\w+\)|```[\s\S]*?```|`[^`]*`|:[a-z+-][a-z0-9_+-]*:/g;

/** Every text inside a block, in its sequence; values, ids and styles are no texts. */
export function textsOf(value: Json | undefined): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => textsOf(each));
  if (value === undefined || value === null || typeof value !== 'object') return [];
  // Response of the service, as it came.
  if ('type' in value && value['type'] === 'rich_text_preformatted') return [];
  return Object.entries(value).flatMap(([field, inner]) => {
    // A placeholder is an example of what people type.
    if (field === 'placeholder') return [];
    if (typeof inner !== 'string') return textsOf(inner);
    return ['text', 'title', 'caption', 'label', 'name'].includes(field) ? [inner] : [];
  });
}

function textIn(value: Json | undefined): string {
  return textsOf(value === undefined ? undefined : [value]).join('');
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function objects(value: Json | undefined): JsonObject[] {
  return list(value).filter(
    (each): each is JsonObject => typeof each === 'object' && each !== null && !Array.isArray(each),
  );
}
