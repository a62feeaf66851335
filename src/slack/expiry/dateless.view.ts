import type { KnownName } from '../../names/names.ts';
import { formatList } from '../names/facts.view.ts';

/* Names whose registry publishes no date of expiry: what is known otherwise, and what to do. */

/** Used in lists. */
export const DATELESS_STATE = 'its registry tells no dates';

/** Where to find a date that the registry does not publish. */
const WHERE =
  'The domain service’s own list or its last invoice has the date: `/domain import` takes many names with their dates.';

/** What a person is told about a name without a known date. */
export function datelessSentences(name: string, known: KnownName | undefined): string[] {
  return [
    'Its registry tells no dates, so I cannot find out when it expires, and remind nobody of it.',
    ...(known === undefined ? [] : [inDns(known)]),
    `Give the date once: \`/domain watch ${name} 2027-03-01\`. ${WHERE} Renewals through me move it from then on.`,
  ];
}

/** What a person is told who entered the date. */
export const DATE_OF_A_PERSON =
  'Its registry tells no dates, so this one counts until a renewal through me moves it. What the DNS shows of the name I look at all the same.';

function inDns({ history }: KnownName): string {
  const values = [history.parent_nameservers, history.nameservers].map((known) => known?.current?.value);
  const servers = values.find((value) => value !== undefined && value.length > 0) ?? values.find(Boolean);
  if (servers === undefined) return 'Nor could I see it in the DNS just now.';
  return servers.length === 0
    ? 'The DNS does not know it either: it may not be registered.'
    : `The DNS shows it at ${formatList(servers)}, so it is registered.`;
}
