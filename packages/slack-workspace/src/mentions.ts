import { isObject, textOf } from './problems.ts';
import type { Json, JsonObject } from './protocol.ts';

const TOKEN = /<(?:@([UW][A-Z0-9]+)|!subteam\^([A-Z0-9]+)|!(here|channel|everyone))(?:\|[^>]*)?>/g;

/**
 * The recipients that a message notifies: ids of users and user groups without duplicates, `here`, `channel` and
 * `everyone`.
 *
 * Mentions count if they are tokens without escaping in the text or in `mrkdwn` objects, or elements of rich text.
 * Escaped text (`&lt;@U…&gt;`) and `plain_text` objects don't count (docs.slack.dev, formatting message text).
 */
export function mentionsIn(text: string, blocks: JsonObject[]): string[] {
  const mentions = new Set<string>(findMentionTokens(text));
  for (const block of blocks) collectMentions(block, mentions);
  return [...mentions];
}

function findMentionTokens(text: string): string[] {
  return [...text.matchAll(TOKEN)].map(([, user, group, broadcast]) => user ?? group ?? broadcast ?? '');
}

function collectMentions(value: Json, mentions: Set<string>): void {
  if (Array.isArray(value)) {
    for (const item of value) collectMentions(item, mentions);
    return;
  }
  if (!isObject(value)) return;
  const { type } = value;
  const text = textOf(value, 'text');
  if ((type === 'mrkdwn' || type === 'markdown') && text !== undefined) {
    for (const mention of findMentionTokens(text)) mentions.add(mention);
  }
  const mention =
    type === 'user'
      ? textOf(value, 'user_id')
      : type === 'usergroup'
        ? textOf(value, 'usergroup_id')
        : type === 'broadcast'
          ? textOf(value, 'range')
          : undefined;
  if (mention !== undefined) mentions.add(mention);
  for (const item of Object.values(value)) collectMentions(item, mentions);
}

/** Escapes `&`, `<` and `>`, as Slack does in text that people enter. */
export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
