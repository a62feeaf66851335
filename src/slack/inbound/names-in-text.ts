import { parse } from 'tldts';
import { parseDomainName } from '../../zones/names.ts';

/**
 * A candidate for a name: labels joined by dots, or the link that Slack makes of it (`<http://cafe.rest|cafe.rest>`).
 */
const CANDIDATE =
  /<https?:\/\/[^>|]+(?:\|[^>]*)?>|https?:\/\/[^\s<>]+|[\p{L}\p{M}\p{Nd}](?:[\p{L}\p{M}\p{Nd}.-]*[\p{L}\p{M}\p{Nd}])?/gu;
/** The most names of one message that are offered. */
const MAX_FOUND = 50;
/**
 * The domain names that a message mentions, in ASCII, each once and in their order. An e-mail address counts as its
 * domain, a web address as its host. Other words count where their ending is a zone: most are file names, or sentences
 * without a blank between them.
 */
export function namesIn(text: string): readonly string[] {
  const found = new Set<string>();
  for (const [word] of text.matchAll(CANDIDATE)) {
    const bare = word.replace(/^<|[|>].*$/g, '');
    const isAddress = /^https?:\/\//.test(bare);
    const host = isAddress && URL.canParse(bare) ? new URL(bare).hostname : bare;
    if (!host.includes('.')) continue;
    const parsed = parseDomainName(host);
    if (parsed.ok && (isAddress || parse(parsed.value.ascii).isIcann === true))
      found.add(parsed.value.ascii.replace(/^www\./, ''));
    if (found.size >= MAX_FOUND) break;
  }
  return [...found];
}
