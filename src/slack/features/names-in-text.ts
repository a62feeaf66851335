import { parseDomainName } from '../../zones/names.ts';

/** What may be a name: labels parted by dots, and the link that Slack makes of it (`<http://cafe.rest|cafe.rest>`). */
const CANDIDATE =
  /<https?:\/\/[^>|]+(?:\|[^>]*)?>|https?:\/\/[^\s<>]+|[\p{L}\p{M}\p{Nd}](?:[\p{L}\p{M}\p{Nd}.-]*[\p{L}\p{M}\p{Nd}])?/gu;
/** Names of one message that are offered. */
const MAX_FOUND = 50;
/** Endings that are files far more often than names. */
const NOT_NAMES = /\.(?:csv|pdf|png|jpe?g|docx?|xlsx?|txt|html?|zip|js|ts|json|ya?ml)$/;

/**
 * The domain names that a message mentions, in ASCII, each once and in its order. Addresses of mail lead to their domain;
 * of web addresses the host counts.
 */
export function namesIn(text: string): readonly string[] {
  const found = new Set<string>();
  for (const [word] of text.matchAll(CANDIDATE)) {
    const bare = word.replace(/^<|[|>].*$/g, '');
    const isAddress = /^https?:\/\//.test(bare);
    const host = isAddress && URL.canParse(bare) ? new URL(bare).hostname : bare;
    if (!host.includes('.')) continue;
    const parsed = parseDomainName(host);
    if (parsed.ok && parsed.value.zone.length > 1 && !NOT_NAMES.test(parsed.value.ascii))
      found.add(parsed.value.ascii.replace(/^www\./, ''));
    if (found.size >= MAX_FOUND) break;
  }
  return [...found];
}
