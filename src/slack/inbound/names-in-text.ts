import { parse } from 'tldts';
import { parseDomainName } from '../../zones/names.ts';

/** A possible name: labels joined by dots, or Slack's link (`<http://cafe.rest|cafe.rest>`). */
const CANDIDATE =
  /<https?:\/\/[^>|]+(?:\|[^>]*)?>|https?:\/\/[^\s<>]+|[\p{L}\p{M}\p{Nd}](?:[\p{L}\p{M}\p{Nd}.-]*[\p{L}\p{M}\p{Nd}])?/gu;
const MAX_NAMES = 50;

/**
 * Finds domain names in a message. Returns them in ASCII, without duplicates, in order. Email addresses and URLs count
 * as their domain. Other words count only if their TLD exists, because most are file names, or sentences without a
 * space between them.
 */
export function findNames(text: string): readonly string[] {
  const found = new Set<string>();
  for (const [word] of text.matchAll(CANDIDATE)) {
    const bare = word.replace(/^<|[|>].*$/g, '');
    const isUrl = /^https?:\/\//.test(bare);
    const host = isUrl && URL.canParse(bare) ? new URL(bare).hostname : bare;
    if (!host.includes('.')) continue;
    const parsed = parseDomainName(host);
    if (parsed.ok && (isUrl || parse(parsed.value.ascii).isIcann === true))
      found.add(parsed.value.ascii.replace(/^www\./, ''));
    if (found.size >= MAX_NAMES) break;
  }
  return [...found];
}
