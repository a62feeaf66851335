import { present } from '../../collections.ts';
import type { Dependency } from '../../names/dependents.ts';
import type { Impact, ImpactDifference, ImpactItem, Severity } from '../../names/impact.ts';
import { displayName } from '../../zones/names.ts';
import { count, escapeText, firstOf, moment, truncateMarkup } from '../kit/blocks.ts';
import { FACT_LABELS, formatList, formatValue, UNSEEN_REASONS } from '../names/facts.view.ts';

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

/** What an approver has to know of an impact, a line each, the worst first. What is usual stands behind *Details*. */
export function impactWarnings(impact: Impact | 'unseen'): string[] {
  if (impact === 'unseen') return [':warning: What hangs on it could not be found out'];
  const found = impact.items
    // Whoever has the auth code can take a name away that no lock keeps.
    .filter(({ severity, code }) => severity !== 'note' || code === 'no_transfer_lock')
    .map((item) => `${item.severity === 'stops' ? ':x:' : ':warning:'} ${formatItem(item)}`);
  return [...found, ...clearLines(impact)];
}

/** The worst of an impact in one line, for lists of orders; the card has the rest. */
export function worstImpactLine(impact: Impact | 'unseen'): string {
  if (impact === 'unseen') return ':grey_question: What hangs on it was not looked at yet. See the card.';
  const [worst, ...others] = impact.items;
  if (worst === undefined) return impactLines(impact).slice(1).join(' ');
  const more = others.length === 0 ? '' : ` The card says ${others.length} more.`;
  return `${truncateMarkup(itemLine(worst), WORST_LENGTH)}${more}`;
}

/** What has changed of an impact since the order was asked for; empty when nothing has. */
export function impactChangeLines({ appeared, gone, changed }: ImpactDifference): string[] {
  const lines = [
    ...appeared.map((item) => `• New: ${formatItem(item)}`),
    ...changed.map(({ after }) => `• Now: ${formatItem(after)}`),
    ...gone.map((item) => `• No longer: ${formatItem(item)}`),
  ];
  return lines.length === 0 ? [] : [':bell: *This has changed since it was asked for*', ...lines];
}

function itemLine(item: ImpactItem): string {
  return `${ICONS[item.severity]} ${formatItem(item)}`;
}

function formatItem(item: ImpactItem): string {
  switch (item.code) {
    case 'new_nameservers_not_authoritative':
      return `${formatList(item.hosts)} ${verb(item.hosts, 'answers, but does', 'answer, but do')} not know this name: nothing on it would be found any more.`;
    case 'new_nameservers_silent':
      return `${formatList(item.hosts)} ${verb(item.hosts, 'does', 'do')} not answer at all.`;
    case 'new_nameservers_without_address':
      return `${formatList(item.hosts)} ${verb(item.hosts, 'has', 'have')} no address: there is no such server.`;
    case 'new_nameservers_unseen':
      return `${formatList(item.hosts)} could not be asked from here.`;
    case 'new_nameservers_unchecked':
      return 'The new nameservers were not asked yet whether they know this name.';
    case 'ds_does_not_fit':
      return `The name is signed (DNSSEC), and ${formatList(item.hosts)} ${verb(item.hosts, 'does', 'do')} not have the key: whoever checks it could not reach the name.`;
    case 'ds_unseen':
      return `Whether ${formatList(item.hosts)} ${verb(item.hosts, 'has', 'have')} the name’s DNSSEC key was not seen.`;
    case 'records_differ':
      return `${FACT_LABELS[item.fact]} would change: ${formatValue(item.fact, item.there)} at ${formatList(item.hosts)}, now ${formatValue(item.fact, item.now)}.`;
    case 'records_unseen':
      return `At ${formatList([item.host])} not seen: ${labels(item.facts)}.`;
    case 'mail':
      return item.severity === 'stops'
        ? `Mail stops: it goes to ${formatList(item.servers)}.`
        : `Mail runs over it, to ${formatList(item.servers)}.`;
    case 'website':
      return item.severity === 'stops'
        ? `Its website stops, at ${formatList(item.addresses)}.`
        : `A website stands on it, at ${formatList(item.addresses)}.`;
    case 'dependents':
      return `${count(item.count, item.by === 'redirects' ? 'other name' : 'other watched name')} ${dependency(item)}: ${namesOf(item)}.`;
    case 'dependents_unseen':
      return 'Whether other watched names hang on it was not seen.';
    case 'signed':
      return 'The name is signed (DNSSEC).';
    case 'no_transfer_lock':
      return 'No lock keeps it from being transferred: whoever has the auth code can take it away.';
    case 'unseen':
      return `Not seen: ${labels(item.facts)} (${UNSEEN_REASONS[item.reason]}). Something may be there.`;
  }
}

const DEPENDENTS: Readonly<Record<Dependency, readonly [one: string, several: string, stops: string]>> = {
  nameservers: ['has nameservers under it', 'have nameservers under it', 'would stop working'],
  mail: ['has mail servers under it', 'have mail servers under it', 'would get no mail'],
  redirects: ['is redirected to it', 'are redirected to it', 'would lead nowhere'],
};

/** How other names need this one, and what becomes of them. */
function dependency({ by, count: all, severity }: Extract<ImpactItem, { code: 'dependents' }>): string {
  const [one, several, stops] = DEPENDENTS[by];
  return `${all === 1 ? one : several}${severity === 'stops' ? ` and ${stops}` : ''}`;
}

const SHOWN_NAMES = 5;

/** The first of some names, and how many more there are. */
export function namesOf(found: { readonly names: readonly string[]; readonly count: number }): string {
  const names = found.names.map((name) => escapeText(displayName(name)));
  return firstOf(names, SHOWN_NAMES, found.count);
}

function labels(facts: readonly (keyof typeof FACT_LABELS)[]): string {
  return facts.map((fact) => FACT_LABELS[fact]).join(', ');
}

function verb(hosts: readonly string[], one: string, several: string): string {
  return hosts.length === 1 ? one : several;
}
