import type { KnownName } from '../../names/names.ts';
import { formatList } from '../names/facts.view.ts';

export const DATELESS_STATE = 'the registry publishes no dates';

const DATE_SOURCES =
  'You can find it in the domain service’s list or on the last invoice. For many names, use `/domain import`.';

export function datelessSentences(name: string, knownName: KnownName | undefined): string[] {
  return [
    'The registry publishes no dates, so I don’t know when it expires and can’t remind you.',
    ...(knownName === undefined ? [] : [delegationSentence(knownName)]),
    `Enter the date once: \`/domain watch ${name} 2027-03-01\`. ${DATE_SOURCES} After that, renewals ordered here update it.`,
  ];
}

export const MANUAL_DATE_NOTE =
  'The registry publishes no dates, so I use yours until you renew it here. I still watch its DNS.';

function delegationSentence({ history }: KnownName): string {
  const nameserverLists = [history.parent_nameservers, history.nameservers].map(
    (fact) => fact?.current?.value,
  );
  const servers =
    nameserverLists.find((value) => value !== undefined && value.length > 0) ?? nameserverLists.find(Boolean);
  if (servers === undefined) return 'I couldn’t check DNS just now.';
  return servers.length === 0
    ? 'It isn’t in DNS either, so it may not be registered.'
    : `DNS delegates it to ${formatList(servers)}, so it’s registered.`;
}
