import { dropMissing } from '../../lib/collections.ts';
import type { Dependency } from '../../names/dependents.ts';
import type { FactName } from '../../names/facts.ts';
import type { Impact, ImpactDifference, ImpactItem, Severity } from '../../names/impact.ts';
import { formatDomainName } from '../../zones/names.ts';
import { escapeText, formatCount, formatLocalTime, joinAtMost, truncateMarkup } from '../kit/blocks.ts';
import {
  FACT_LABELS,
  formatList,
  formatShortList,
  formatValue,
  UNKNOWN_REASON_TEXTS,
} from '../names/facts.view.ts';

/* Texts about the impact, for requesters and approvers. The worst items come first. Missing data is listed too. */

const SEVERITY_ICONS: Readonly<Record<Severity, string>> = {
  stops: ':x:',
  at_stake: ':warning:',
  unseen: ':grey_question:',
  note: ':information_source:',
};

const MAX_LINE_LENGTH = 400;

interface Wording {
  readonly join: (texts: readonly string[]) => string;
  readonly joinFacts: (facts: readonly FactName[]) => string;
  readonly maxNames: number;
}

const FULL_WORDING: Wording = {
  join: formatList,
  joinFacts: (facts) => facts.map((fact) => FACT_LABELS[fact]).join(', '),
  maxNames: 5,
};

/** For items that take about two lines on a phone. */
const BRIEF_WORDING: Wording = {
  join: formatShortList,
  joinFacts: (facts) =>
    joinAtMost([...new Set(facts.map((fact) => BRIEF_LABELS[fact] ?? FACT_LABELS[fact]))], 2),
  maxNames: 2,
};

const BRIEF_LABELS: Partial<Readonly<Record<FactName, string>>> = {
  a: 'website',
  aaaa: 'website',
  www_a: 'website',
  www_aaaa: 'website',
  mx: 'mail servers',
};

export function impactLines(impact: Impact | 'unseen'): string[] {
  if (impact === 'unseen') {
    return [
      '*Impact*',
      ':grey_question: Couldn’t be checked. A website, mail or other names may depend on it.',
    ];
  }
  const nothingFoundLine = `${NO_WEBSITE_OR_MAIL}, and no other watched name depends on it. I only know about redirects set here, and DNS aliases.`;
  return [
    `*Impact* as of ${formatLocalTime(impact.seenAt)}`,
    ...passedCheckLines(impact).map((line) => (line === NO_WEBSITE_OR_MAIL ? nothingFoundLine : line)),
    ...impact.items.map(itemLine),
  ];
}

const NO_WEBSITE_OR_MAIL = ':white_check_mark: No website or mail found';

/** Checks that found no problem. */
function passedCheckLines({ items, isInUse, areNewNameserversReady }: Impact): string[] {
  const areNameserversReady =
    areNewNameserversReady === 'yes' && !items.some(({ code }) => code === 'records_differ');
  return dropMissing([
    areNameserversReady &&
      ':white_check_mark: The new nameservers answer for the name with the current DNS records',
    isInUse === 'no' && NO_WEBSITE_OR_MAIL,
  ]);
}

/**
 * Unusual items, one per line. *Details* shows all items.
 * @param changes since the request
 */
export function impactWarnings(impact: Impact | 'unseen', changes?: ImpactDifference): string[] {
  if (impact === 'unseen') return [':warning: Impact couldn’t be checked'];
  const { addedItems = [], changedItems = [], removedItems = [] } = changes ?? {};
  const formatChangeLabel = (item: ImpactItem) => {
    if (addedItems.includes(item)) return '*New:* ';
    return changedItems.some(({ after }) => after === item) ? '*Now:* ' : '';
  };
  const formatLine = (item: ImpactItem, label: string) =>
    `${item.severity === 'stops' ? ':x:' : ':warning:'} ${label}${formatItem(item, BRIEF_WORDING)}`;
  return dropMissing([
    addedItems.length + changedItems.length + removedItems.length > 0 && CHANGED_HEADING,
    ...impact.items.filter(isUnusual).map((item) => formatLine(item, formatChangeLabel(item))),
    ...removedItems.filter(isUnusual).map((item) => `:warning: *Gone:* ${formatItem(item, BRIEF_WORDING)}`),
    ...passedCheckLines(impact),
  ]);
}

const CHANGED_HEADING = ':bell: *Changed since it was requested*';

/** Notes are routine, except about a missing transfer lock: anyone with the auth code can transfer the name. */
function isUnusual({ severity, code }: ImpactItem): boolean {
  return severity !== 'note' || code === 'no_transfer_lock';
}

/** One line for lists of orders. The card shows the other items. */
export function worstImpactLine(impact: Impact | 'unseen'): string {
  if (impact === 'unseen') return ':grey_question: Still checking what would stop working';
  const [worst, ...others] = impact.items;
  if (worst === undefined) return impactLines(impact).slice(1).join(' ');
  const moreText = others.length === 0 ? '' : `. And ${others.length} more.`;
  return `${truncateMarkup(itemLine(worst), MAX_LINE_LENGTH)}${moreText}`;
}

/** Changes since the request; empty if there are none. */
export function impactChangeLines({ addedItems, removedItems, changedItems }: ImpactDifference): string[] {
  const lines = [
    ...addedItems.map((item) => `• New: ${formatItem(item)}`),
    ...changedItems.map(({ after }) => `• Now: ${formatItem(after)}`),
    ...removedItems.map((item) => `• Gone: ${formatItem(item)}`),
  ];
  return lines.length === 0 ? [] : [CHANGED_HEADING, ...lines];
}

function itemLine(item: ImpactItem): string {
  return `${SEVERITY_ICONS[item.severity]} ${formatItem(item)}`;
}

function formatItem(item: ImpactItem, wording = FULL_WORDING): string {
  const { join, joinFacts, maxNames } = wording;
  switch (item.code) {
    case 'new_nameservers_not_authoritative':
      return `${join(item.hosts)} ${chooseVerb(item.hosts, 'doesn’t', 'don’t')} answer for this name: it will stop working`;
    case 'new_nameservers_silent':
      return `${join(item.hosts)} ${chooseVerb(item.hosts, 'doesn’t', 'don’t')} answer at all`;
    case 'new_nameservers_without_address':
      return `${join(item.hosts)} ${chooseVerb(item.hosts, 'has', 'have')} no IP address, so ${chooseVerb(item.hosts, 'it', 'they')} can’t be reached`;
    case 'new_nameservers_unseen':
      return `${join(item.hosts)} couldn’t be checked from here`;
    case 'new_nameservers_unchecked':
      return 'The new nameservers weren’t checked for this name yet';
    case 'ds_mismatch':
      return `${join(item.hosts)} ${chooseVerb(item.hosts, 'doesn’t', 'don’t')} have its DNSSEC key, so DNSSEC would break`;
    case 'ds_unseen':
      return `Couldn’t check whether ${join(item.hosts)} ${chooseVerb(item.hosts, 'has', 'have')} its DNSSEC key`;
    case 'records_differ': {
      const formatValues = (values: readonly string[]) => formatValue(item.fact, values, join);
      const hostsSuffix = wording === FULL_WORDING ? ` at ${join(item.hosts)}` : '';
      return `${FACT_LABELS[item.fact]} would change: ${formatValues(item.now)} → ${formatValues(item.onNewServer)}${hostsSuffix}`;
    }
    case 'records_unseen':
      return `Couldn’t check at ${join([item.host])}: ${joinFacts(item.facts)}`;
    case 'mail':
      return `${item.severity === 'stops' ? 'Mail will stop working' : 'Mail uses this name'} (${join(item.servers)})`;
    case 'website':
      return `${item.severity === 'stops' ? 'The website will stop working' : 'A website uses this name'} (${join(item.addresses)})`;
    case 'dependents':
      return dependentsText(item, maxNames);
    case 'dependents_unseen':
      return 'Couldn’t check whether other watched names depend on it';
    case 'signed':
      return 'DNSSEC is on';
    case 'no_transfer_lock':
      return 'No transfer lock: anyone with the auth code can transfer it away';
    case 'unseen': {
      const consequence = wording === FULL_WORDING ? ', so something may depend on it' : '';
      return `Couldn’t check: ${joinFacts(item.facts)} (${UNKNOWN_REASON_TEXTS[item.reason]})${consequence}`;
    }
  }
}

/** How other names depend on this one, and what happens to them. */
const DEPENDENCY_TEXTS: Readonly<Record<Dependency, readonly [one: string, several: string, stops: string]>> =
  {
    nameservers: ['has nameservers under this name', 'have nameservers under this name', 'will stop working'],
    mail: ['has mail servers under this name', 'have mail servers under this name', 'will lose mail'],
    redirects: ['redirects to this name', 'redirect to this name', 'will break'],
  };

/** Everyone can read this, so redirects of private orders are only counted. */
function dependentsText(item: DependentsItem, maxNames: number): string {
  const { count: total, privateCount: hiddenCount, severity } = item;
  const visibleItem = { ...item, count: total - hiddenCount };
  const orderText = hiddenCount === 1 ? 'a private order' : 'private orders';
  const effect = severity === 'stops' ? 'will break' : hiddenCount === 1 ? 'points to it' : 'point to it';
  return dropMissing([
    visibleItem.count > 0 && `${dependentNames(visibleItem, maxNames)} ${formatDependency(visibleItem)}`,
    hiddenCount > 0 && `${formatCount(hiddenCount, 'redirect')} of ${orderText} ${effect}`,
  ]).join('; ');
}

type DependentsItem = Extract<ImpactItem, { code: 'dependents' }>;

function formatDependency({ by: kind, count: total, severity }: DependentsItem): string {
  const [singular, plural, effect] = DEPENDENCY_TEXTS[kind];
  const description = total === 1 ? singular : plural;
  return severity === 'stops' ? `${effect}: ${total === 1 ? 'it' : 'they'} ${description}` : description;
}

export function dependentNames(
  dependents: { readonly names: readonly string[]; readonly count: number },
  maxNames: number,
): string {
  const names = dependents.names.map((name) => escapeText(formatDomainName(name)));
  return joinAtMost(names, maxNames, dependents.count);
}

function chooseVerb(hosts: readonly string[], singular: string, plural: string): string {
  return hosts.length === 1 ? singular : plural;
}
