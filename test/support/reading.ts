import { type Json, type JsonObject, LIMITS } from '@domain-steward/slack-workspace';

/*
 * Measures a message on a phone, and finds values that people shouldn't have to read. Lines are counted as described in
 * docs/wording.md: 40 characters each, fields stacked, a row of buttons as two.
 */

const CHARACTERS_PER_LINE = 40;
const LINES_PER_BUTTON_ROW = 2;
const LINES_PER_CHART = 8;

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

export function countPhoneLines(blocks: readonly JsonObject[]): number {
  return blocks.reduce((sum, block) => sum + countBlockLines(block), 0);
}

function countBlockLines(block: JsonObject): number {
  switch (block['type']) {
    case 'header':
      return countTextLines(joinTexts(block['text']));
    case 'section':
      return (
        (block['text'] === undefined ? 0 : countTextLines(joinTexts(block['text']))) +
        filterObjects(block['fields']).reduce((sum, field) => sum + countTextLines(joinTexts(field)), 0)
      );
    case 'context':
      return countTextLines(filterObjects(block['elements']).map(joinTexts).join(' '));
    case 'actions':
      return LINES_PER_BUTTON_ROW;
    case 'divider':
      return 1;
    case 'data_table':
      return 1 + Math.min(toList(block['rows']).length, LIMITS.dataTable.rows);
    case 'data_visualization':
      return LINES_PER_CHART;
    case 'rich_text':
      return countTextLines(textsOf(block['elements']).join(''));
    default:
      throw new Error(`unknown height of a block \`${String(block['type'])}\``);
  }
}

function countTextLines(mrkdwn: string): number {
  return renderMrkdwn(mrkdwn)
    .split('\n')
    .reduce((sum, line) => sum + Math.max(1, Math.ceil([...line].length / CHARACTERS_PER_LINE)), 0);
}

/** How many unusual facts a message has. Each has its own line, which starts with ⚠ or ❌. */
export function countUnusualFacts(blocks: readonly JsonObject[]): number {
  const text = blocks.flatMap((block) => textsOf(block)).join('\n');
  return text.split('\n').filter((line) => /^(?::warning:|:x:|:rotating_light:|⚠|❌)/u.test(line)).length;
}

/** Values that no message may contain: machine timestamps, states and field names. */
const UNREADABLE_VALUES: readonly (readonly [what: string, pattern: RegExp])[] = [
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
export function findUnreadableValues(text: string, blocks: readonly JsonObject[]): string[] {
  const texts = blocks.flatMap((block) => textsOf(block));
  // The lock screen text has no markup, so text that is code in the blocks is removed from it.
  const codes = texts.flatMap((each) => [...each.matchAll(/`([^`]+)`/g)].map(([, inside = '']) => inside));
  const plain = codes.reduce((left, inside) => left.replaceAll(inside, ' '), text);
  return [plain, ...texts].flatMap((each) => {
    const visible = renderMrkdwn(each.replace(QUOTATION, ' '));
    return UNREADABLE_VALUES.flatMap(([what, pattern]) => {
      const found = pattern.exec(visible);
      return found === null ? [] : [`${what} (${found[0]}) in: ${each.slice(0, 120)}`];
    });
  });
}

/** Texts by people, the service or Slack, and texts that people type. */
const QUOTATION =
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

function joinTexts(value: Json | undefined): string {
  return textsOf(value === undefined ? undefined : [value]).join('');
}

function toList(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function filterObjects(value: Json | undefined): JsonObject[] {
  return toList(value).filter(
    (each): each is JsonObject => typeof each === 'object' && each !== null && !Array.isArray(each),
  );
}
