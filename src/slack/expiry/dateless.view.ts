import type { KnownName } from '../../names/names.ts';
import { formatList } from '../names/facts.view.ts';

/* Names whose registry publishes no expiry date. */

export const DATELESS_STATE = 'its registry publishes no dates';

const WHERE =
  'The domain service’s list or last invoice has the date. `/domain import` takes many names with dates.';

export function datelessSentences(name: string, known: KnownName | undefined): string[] {
  return [
    'Its registry publishes no dates, so I can’t find out when it expires, and there are no reminders.',
    ...(known === undefined ? [] : [inDns(known)]),
    `Enter the date once: \`/domain watch ${name} 2027-03-01\`. ${WHERE} Renewals through me update it.`,
  ];
}

export const DATE_OF_A_PERSON =
  'Its registry publishes no dates, so this one is used until a renewal through me updates it. I still watch its DNS.';

function inDns({ history }: KnownName): string {
  const values = [history.parent_nameservers, history.nameservers].map((known) => known?.current?.value);
  const servers = values.find((value) => value !== undefined && value.length > 0) ?? values.find(Boolean);
  if (servers === undefined) return 'I couldn’t check it in DNS just now.';
  return servers.length === 0
    ? 'DNS doesn’t have it either: it may not be registered.'
    : `DNS shows it at ${formatList(servers)}, so it’s registered.`;
}
