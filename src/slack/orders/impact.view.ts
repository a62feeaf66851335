import { present } from '../../lib/collections.ts';
import type { Dependency } from '../../names/dependents.ts';
import type { FactName } from '../../names/facts.ts';
import type { Impact, ImpactDifference, ImpactItem, Severity } from '../../names/impact.ts';
import { displayName } from '../../zones/names.ts';
import { count, escapeText, firstOf, moment, truncateMarkup } from '../kit/blocks.ts';
import { briefList, FACT_LABELS, formatList, formatValue, UNSEEN_REASONS } from '../names/facts.view.ts';

/*
 * The impact on a name in sentences, for those who ask and decide: the worst first, and what was not seen as not seen.
 */

const ICONS: Readonly<Record<Severity, string>> = {
  stops: ':x:',
  at_stake: ':warning:',
  unseen: ':grey_question:',
  note: ':information_source:',
};

/** The length of an impact's worst line. */
const WORST_LENGTH = 400;

/** How much is said of an item: all of it, or what fits into two lines of a phone. */
interface Wording {
  readonly list: (texts: readonly string[]) => string;
  readonly facts: (facts: readonly FactName[]) => string;
  readonly most: number;
}

const WHOLE: Wording = {
  list: formatList,
  facts: (facts) => facts.map((fact) => FACT_LABELS[fact]).join(', '),
  most: 5,
};

const BRIEF: Wording = {
  list: briefList,
  facts: (facts) => firstOf([...new Set(facts.map((fact) => BRIEF_LABELS[fact] ?? FACT_LABELS[fact]))], 2),
  most: 2,
};

/** Facts that are one thing for people. */
const BRIEF_LABELS: Partial<Readonly<Record<FactName, string>>> = {
  a: 'website',
  aaaa: 'website',
  www_a: 'website',
  www_aaaa: 'website',
  mx: 'mail servers',
};

/** The impact on a name, one line per item under a title. */
export function impactLines(impact: Impact | 'unseen'): string[] {
  if (impact === 'unseen') {
    return [
      '*What hangs on it*',
      ':grey_question: That could not be found out. Mail, a website or other names may.',
    ];
  }
  const nothing = `${NOTHING_ON_IT}: no website, no mail, no other watched name. Of redirects that lead to it I know those that I have set and aliases in the DNS.`;
  return [
    `*What hangs on it* as seen ${moment(impact.seenAt)}`,
    ...clearLines(impact).map((line) => (line === NOTHING_ON_IT ? nothing : line)),
    ...impact.items.map(itemLine),
  ];
}

const NOTHING_ON_IT = ':white_check_mark: Nothing was seen that lives on it';

/** What was looked for and is well. */
function clearLines({ items, isInUse, areNewNameserversReady }: Impact): string[] {
  const areReady = areNewNameserversReady === 'yes' && !items.some(({ code }) => code === 'records_differ');
  return present([
    areReady && ':white_check_mark: The new nameservers answer for the name, with what the DNS shows now',
    isInUse === 'no' && NOTHING_ON_IT,
  ]);
}

/**
 * What people have to know of an impact before they decide, a line each, the worst first. What is usual stands behind *Details*.
 * @param since what has changed since it was asked for
 */
export function impactWarnings(impact: Impact | 'unseen', since?: ImpactDifference): string[] {
  if (impact === 'unseen') return [':warning: What hangs on it could not be found out'];
  const { appeared = [], changed = [], gone = [] } = since ?? {};
  const news = (item: ImpactItem) => {
    if (appeared.includes(item)) return '*New:* ';
    return changed.some(({ after }) => after === item) ? '*Now:* ' : '';
  };
  const line = (item: ImpactItem, before: string) =>
    `${item.severity === 'stops' ? ':x:' : ':warning:'} ${before}${formatItem(item, BRIEF)}`;
  return present([
    appeared.length + changed.length + gone.length > 0 && CHANGED,
    ...impact.items.filter(decides).map((item) => line(item, news(item))),
    ...gone.filter(decides).map((item) => `:warning: *No longer:* ${formatItem(item, BRIEF)}`),
    ...clearLines(impact),
  ]);
}

const CHANGED = ':bell: *Changed since it was asked for*';

/** Whoever has the auth code can take a name away that no lock keeps. Other notes are usual. */
function decides({ severity, code: item }: ImpactItem): boolean {
  return severity !== 'note' || item === 'no_transfer_lock';
}

/** The worst of an impact in one line, for lists of orders; the card has the rest. */
export function worstImpactLine(impact: Impact | 'unseen'): string {
  if (impact === 'unseen') return ':grey_question: What hangs on it was not looked at yet.';
  const [worst, ...others] = impact.items;
  if (worst === undefined) return impactLines(impact).slice(1).join(' ');
  const more = others.length === 0 ? '' : `. And ${others.length} more.`;
  return `${truncateMarkup(itemLine(worst), WORST_LENGTH)}${more}`;
}

/** What has changed of an impact since the order was asked for; empty when nothing has. */
export function impactChangeLines({ appeared, gone, changed }: ImpactDifference): string[] {
  const lines = [
    ...appeared.map((item) => `• New: ${formatItem(item)}`),
    ...changed.map(({ after }) => `• Now: ${formatItem(after)}`),
    ...gone.map((item) => `• No longer: ${formatItem(item)}`),
  ];
  return lines.length === 0 ? [] : [CHANGED, ...lines];
}

function itemLine(item: ImpactItem): string {
  return `${ICONS[item.severity]} ${formatItem(item)}`;
}

function formatItem(item: ImpactItem, wording = WHOLE): string {
  const { list, facts, most } = wording;
  switch (item.code) {
    case 'new_nameservers_not_authoritative':
      return `${list(item.hosts)} ${verb(item.hosts, 'does', 'do')} not know this name: it would lead nowhere`;
    case 'new_nameservers_silent':
      return `${list(item.hosts)} ${verb(item.hosts, 'does', 'do')} not answer at all`;
    case 'new_nameservers_without_address':
      return `${list(item.hosts)} ${verb(item.hosts, 'has', 'have')} no address: there is no such server`;
    case 'new_nameservers_unseen':
      return `${list(item.hosts)} could not be asked from here`;
    case 'new_nameservers_unchecked':
      return 'The new nameservers were not asked yet whether they know this name';
    case 'ds_does_not_fit':
      return `${list(item.hosts)} ${verb(item.hosts, 'lacks', 'lack')} its DNSSEC key: it would not be trusted`;
    case 'ds_unseen':
      return `Whether ${list(item.hosts)} ${verb(item.hosts, 'has', 'have')} its DNSSEC key was not seen`;
    case 'records_differ': {
      const value = (is: readonly string[]) => formatValue(item.fact, is, list);
      const where = wording === WHOLE ? ` at ${list(item.hosts)}` : '';
      return `${FACT_LABELS[item.fact]} would change: ${value(item.now)} → ${value(item.there)}${where}`;
    }
    case 'records_unseen':
      return `At ${list([item.host])} not seen: ${facts(item.facts)}`;
    case 'mail':
      return `${item.severity === 'stops' ? 'Mail stops: it goes' : 'Mail runs over it,'} to ${list(item.servers)}`;
    case 'website':
      return `${item.severity === 'stops' ? 'Its website stops' : 'A website stands on it'}, at ${list(item.addresses)}`;
    case 'dependents':
      return dependentsText(item, most);
    case 'dependents_unseen':
      return 'Whether other watched names hang on it was not seen';
    case 'signed':
      return 'The name is signed (DNSSEC)';
    case 'no_transfer_lock':
      return 'No lock keeps it: whoever has the auth code can take it away';
    case 'unseen': {
      const something = wording === WHOLE ? '. Something may be there' : '';
      return `Not seen: ${facts(item.facts)} (${UNSEEN_REASONS[item.reason]})${something}`;
    }
  }
}

/** What other names need of this one, and what becomes of them. */
const DEPENDENTS: Readonly<Record<Dependency, readonly [one: string, several: string, stops: string]>> = {
  nameservers: ['has nameservers under it', 'have nameservers under it', 'would stop working'],
  mail: ['has mail servers under it', 'have mail servers under it', 'would get no mail'],
  redirects: ['is redirected to it', 'are redirected to it', 'would lead nowhere'],
};

/** Names that private orders redirect aren't said: everybody reads it. */
function dependentsText(item: DependentsItem, most: number): string {
  const { count: all, privateCount: hidden, severity } = item;
  const shown = { ...item, count: all - hidden };
  const order = hidden === 1 ? 'a private order' : 'private orders';
  const stops = severity === 'stops' ? 'would lead nowhere' : hidden === 1 ? 'leads to it' : 'lead to it';
  return present([
    shown.count > 0 && `${namesOf(shown, most)} ${dependency(shown)}`,
    hidden > 0 && `${count(hidden, 'redirect')} of ${order} ${stops}`,
  ]).join('; ');
}

type DependentsItem = Extract<ImpactItem, { code: 'dependents' }>;

function dependency({ by, count: all, severity }: DependentsItem): string {
  const [one, several, stops] = DEPENDENTS[by];
  const needs = all === 1 ? one : several;
  return severity === 'stops' ? `${stops}: ${all === 1 ? 'it' : 'they'} ${needs}` : needs;
}

/** The first of some names, and how many more there are. */
export function namesOf(
  found: { readonly names: readonly string[]; readonly count: number },
  most: number,
): string {
  const names = found.names.map((name) => escapeText(displayName(name)));
  return firstOf(names, most, found.count);
}

function verb(hosts: readonly string[], one: string, several: string): string {
  return hosts.length === 1 ? one : several;
}
