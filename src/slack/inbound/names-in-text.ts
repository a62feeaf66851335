import { parse } from 'tldts';
import { parseDomainName } from '../../zones/names.ts';

/** A possible name: labels joined by dots, a URL, or Slack's link (`<http://cafe.rest|cafe.rest>`). */
const CANDIDATE_PATTERN =
  /<https?:\/\/[^>|]+(?:\|[^>]*)?>|https?:\/\/[^\s<>]+|[\p{L}\p{M}\p{Nd}](?:[\p{L}\p{M}\p{Nd}.-]*[\p{L}\p{M}\p{Nd}])?/gu;
const MAX_NAMES = 50;

/**
 * Finds the domain names in a message, also in email addresses and URLs. Names outside URLs count only if
 * their TLD exists, because most others are file names, or sentences without a space between them.
 * @returns names in ASCII, without duplicates, in the message's order
 */
export function findNames(text: string): readonly string[] {
  const names = new Set<string>();
  for (const [word] of text.matchAll(CANDIDATE_PATTERN)) {
    const address = word.replace(/^<|[|>].*$/g, '');
    const isUrl = /^https?:\/\//.test(address);
    const host = isUrl && URL.canParse(address) ? new URL(address).hostname : address;
    if (!host.includes('.')) continue;
    const parsed = parseDomainName(host);
    if (parsed.ok && (isUrl || parse(parsed.value.ascii).isIcann === true))
      names.add(parsed.value.ascii.replace(/^www\./, ''));
    if (names.size >= MAX_NAMES) break;
  }
  return [...names];
}
