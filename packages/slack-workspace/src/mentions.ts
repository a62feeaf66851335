import { getString, isObject } from './problems.ts';
import type { Json, JsonObject } from './protocol.ts';

const MENTION_TOKEN = /<(?:@([UW][A-Z0-9]+)|!subteam\^([A-Z0-9]+)|!(here|channel|everyone))(?:\|[^>]*)?>/g;

/**
 * The recipients that a message notifies: ids of users and user groups without duplicates, `here`, `channel` and
 * `everyone`.
 *
 * Mentions are unescaped tokens in the text or in `mrkdwn` objects, and elements of rich text. Escaped tokens
 * (`&lt;@U…&gt;`) and `plain_text` objects mention nobody (docs.slack.dev, formatting message text).
 */
export function findMentions(text: string, blocks: JsonObject[]): string[] {
  const mentions = new Set<string>(findMentionTokens(text));
  for (const block of blocks) collectMentions(block, mentions);
  return [...mentions];
}

function findMentionTokens(text: string): string[] {
  return [...text.matchAll(MENTION_TOKEN)].map(
    ([, user, group, broadcast]) => user ?? group ?? broadcast ?? '',
  );
}

function collectMentions(value: Json, mentions: Set<string>): void {
  if (Array.isArray(value)) {
    for (const item of value) collectMentions(item, mentions);
    return;
  }
  if (!isObject(value)) return;
  const { type } = value;
  const text = getString(value, 'text');
  if ((type === 'mrkdwn' || type === 'markdown') && text !== undefined) {
    for (const mention of findMentionTokens(text)) mentions.add(mention);
  }
  const mention =
    type === 'user'
      ? getString(value, 'user_id')
      : type === 'usergroup'
        ? getString(value, 'usergroup_id')
        : type === 'broadcast'
          ? getString(value, 'range')
          : undefined;
  if (mention !== undefined) mentions.add(mention);
  for (const item of Object.values(value)) collectMentions(item, mentions);
}

/** Escapes `&`, `<` and `>`, as Slack does in text that people enter. */
export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
