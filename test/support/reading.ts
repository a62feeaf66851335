import { type Json, type JsonObject, LIMITS } from '@domain-steward/slack-workspace';

/*
 * The length of a message on a phone, and values that people shouldn't have to read. Lines are counted like on the page
 * about messages: 40 characters each, fields one below the other, a row of buttons as two.
 */

const LINE = 40;
const ROW_OF_BUTTONS = 2;
/** The height of a chart in lines. */
const CHART = 8;

/** The visible text of mrkdwn: names for mentions, labels for links, the fallback of dates, no markup. */
export function renderMrkdwn(mrkdwn: string): string {
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
      throw new Error(`unknown height of a block \`${String(block['type'])}\``);
  }
}

function linesOfText(mrkdwn: string): number {
  return renderMrkdwn(mrkdwn)
    .split('\n')
    .reduce((sum, line) => sum + Math.max(1, Math.ceil([...line].length / LINE)), 0);
}

/** The unusual facts of a message: each is on its own line with ⚠ or ❌. */
export function unusualFacts(blocks: readonly JsonObject[]): number {
  const text = blocks.flatMap((block) => textsOf(block)).join('\n');
  return text.split('\n').filter((line) => /^(?::warning:|:x:|:rotating_light:|⚠|❌)/u.test(line)).length;
}

/** Values that no message may contain: machine timestamps, states and field names. */
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
 * Finds unreadable values in a message. Quotations are left out: people's texts and the service's responses are shown
 * unchanged.
 * @returns one line each: the value and its context
 */
export function unreadable(text: string, blocks: readonly JsonObject[]): string[] {
  const texts = blocks.flatMap((block) => textsOf(block));
  // The lock screen text has no markup: code in the blocks is code there too.
  const codes = texts.flatMap((each) => [...each.matchAll(/`([^`]+)`/g)].map(([, inside = '']) => inside));
  const plain = codes.reduce((left, inside) => left.replaceAll(inside, ' '), text);
  return [plain, ...texts].flatMap((each) => {
    const visible = renderMrkdwn(each.replace(QUOTED, ' '));
    return UNREADABLE.flatMap(([what, pattern]) => {
      const found = pattern.exec(visible);
      return found === null ? [] : [`${what} (${found[0]}) in: ${each.slice(0, 120)}`];
    });
  });
}

/** Texts by people, the service or Slack, and texts to type. */
const QUOTED =
  /“[^”]*”|The service says:.*|Slack says \w+|Slack refused this \(\w+\)|```[\s\S]*?```|`[^`]*`|:[a-z+-][a-z0-9_+-]*:/g;

/** Every text in a block, in order; without values, ids and styles. */
export function textsOf(value: Json | undefined): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => textsOf(each));
  if (value === undefined || value === null || typeof value !== 'object') return [];
  // The service's raw response.
  if ('type' in value && value['type'] === 'rich_text_preformatted') return [];
  return Object.entries(value).flatMap(([field, inner]) => {
    // A placeholder is an example of people's input.
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
