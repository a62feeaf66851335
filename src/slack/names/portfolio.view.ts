import type { Button, Overflow } from '@slack/types';
import { dropMissing } from '../../lib/collections.ts';
import type { Amount } from '../../money/amount.ts';
import { FILTER_KEYS, type FilterIssue } from '../../names/filter.ts';
import { MAX_IMPORTED_NAMES, MAX_TAGS, type NameDetails, type TagIssue } from '../../names/portfolio.ts';
import type { PortfolioEntry } from '../../names/ports.ts';
import { FINDING_CODES } from '../../names/posture.ts';
import { formatDomainName } from '../../zones/names.ts';
import type { Capability } from '../capability.ts';
import { formatDaysLeft } from '../expiry/expiry.view.ts';
import { type FileDescription, fileSentText } from '../files.view.ts';
import {
  actions,
  button,
  code,
  context,
  escapeLine,
  escapeText,
  fitsMenu,
  formatCount,
  joinAtMost,
  lineSections,
  type Message,
  mention,
  message,
  overflowMenu,
  type SectionField,
  section,
  textMessage,
} from '../kit/blocks.ts';
import { amountsText } from '../money/price.view.ts';

export function channelMention(channelId: string): string {
  return `<#${channelId}>`;
}

export function detailPairs({ owner, tags = [], channel, note }: Partial<NameDetails> = {}): SectionField[] {
  return [
    ['Owner', owner && mention(owner)],
    ['Tags', tags.map(code).join(' ') || undefined],
    ['Channel', channel && channelMention(channel)],
    ['Note', note && escapeLine(note)],
  ];
}

export function editButton(name: string): Button {
  return button('name_edit', 'Edit owner or tags…', name, {
    label: `Edit owner or tags of ${formatDomainName(name)}`,
  });
}

/** Plain text, for a form field. */
export function tagIssueText(issue: TagIssue): string {
  switch (issue.code) {
    case 'invalid_tag':
      return `“${issue.tag}” isn’t a valid tag. Use letters, digits, hyphens and dots, such as client-acme.`;
    case 'tag_too_long':
      return `“${issue.tag}” is too long. Use at most 40 characters.`;
    case 'reserved_tag':
      return `“${issue.tag}” is reserved for filters. Choose another word.`;
    case 'too_many_tags':
      return `Use at most ${MAX_TAGS} tags.`;
  }
}

/** @param isSingle whether only one name was edited; the text then contains that name */
export function savedText(names: readonly string[], isSingle: boolean): string {
  const [name] = names;
  if (name === undefined) return 'Nothing changed.';
  const subject = isSingle ? escapeText(formatDomainName(name)) : formatCount(names.length, 'name');
  return `I saved the changes to ${subject}.`;
}

/** Adds a note if the file is too large for a single import. */
export function describeExport(nameCount: number): FileDescription {
  const description = `The portfolio with ${formatCount(nameCount, 'name')}`;
  const limit = MAX_IMPORTED_NAMES.toLocaleString('en');
  const note = `\`/domain names import\` accepts at most ${limit} names at a time. To import this file again, export smaller ones with a filter, such as \`zone:rest\`.`;
  return {
    description,
    reply: `${fileSentText(description)}${nameCount > MAX_IMPORTED_NAMES ? ` ${note}` : ''}`,
  };
}

/** @param findNearest finds the most similar word, if there is one */
export function filterIssueText(
  issue: FilterIssue | { readonly code: 'unknown_owner'; readonly value: string },
  findNearest: (word: string, words: readonly string[]) => string | undefined,
): string {
  switch (issue.code) {
    case 'unknown_filter': {
      const suggestion = findNearest(issue.key, FILTER_KEYS);
      return `Unknown filter ${code(issue.key)}.${suggestion === undefined ? ` Filters: ${FILTER_KEYS.map((key) => code(`${key}:`)).join(', ')}, ${code('expiring<60')}, \`unused\`, \`lame\`, \`undated\`, \`unlocked\`, \`unsigned\`, \`cert<30\`, and any other text.` : ` Did you mean ${code(`${suggestion}:`)}?`}`;
    }
    case 'missing_value':
      return `${code(`${issue.key}:`)} needs a value right after the colon, such as ${code(FILTER_EXAMPLES[issue.key])}.`;
    case 'invalid_days':
      return `${code(issue.word)} needs a number of days, such as ${code('expiring<60')} or ${code('expiring>30')}.`;
    case 'unknown_sort':
      return `${code(issue.value)} isn’t a sort order. Use \`sort:expiry\`, \`sort:name\`, or reversed, \`sort:-name\`.`;
    case 'unknown_finding': {
      const suggestion = findNearest(issue.value, FINDING_CODES);
      return `Unknown finding ${code(issue.value)}. ${suggestion === undefined ? `Findings: ${FINDING_CODES.map(code).join(', ')}.` : `Did you mean ${code(`finding:${suggestion}`)}?`}`;
    }
    case 'too_long':
      return 'The filter is too long. Use at most 800 characters.';
    case 'unknown_owner':
      return `No owner is called “${escapeLine(issue.value, 80)}” in Slack. Use a mention, such as \`owner:@ada\`. \`owner:me\` finds your names, \`owner:none\` names without an owner, \`owner:left\` names of people who left.`;
  }
}

const FILTER_EXAMPLES: Readonly<Record<(typeof FILTER_KEYS)[number], string>> = {
  tag: 'tag:brand',
  owner: 'owner:@ada',
  zone: 'zone:rest',
  registrar: 'registrar:sandbox',
  finding: 'finding:unlocked',
  sort: 'sort:name',
};

export const NAMES_PER_PAGE = 50;

export interface NamesPage extends Capability {
  /** Empty for all names. */
  readonly filter: string;
  /** The value of the buttons for actions on all names. */
  readonly actionValue: string;
  readonly total: number;
  /** Number of names before the page. */
  readonly offset: number;
  readonly names: readonly (PortfolioEntry & {
    readonly expiry: { readonly day: string; readonly daysLeft: number } | undefined;
    readonly renewalPrice: Amount | undefined;
  })[];
  /** The cost of renewing all found names for one year, except deleted ones. */
  readonly renewalCost: { readonly sums: readonly Amount[]; readonly unpricedCount: number };
  /** How many of the found names are deleted. */
  readonly deletedCount: number;
  readonly previousPageState: string | undefined;
  readonly nextPageState: string | undefined;
  /** The reader's BCP 47 language tag. */
  readonly locale: string;
}

export function namesMessage(page: NamesPage): Message {
  const { filter, total, offset, names, actionValue } = page;
  const filterText = filter === '' ? '' : ` matching ${code(filter)}`;
  if (total === 0) {
    return filter === ''
      ? textMessage(NO_NAMES.watched)
      : textMessage(`No names match ${code(filter)}. To see all names, use \`/domain names\`.`);
  }
  const title = `${formatCount(total, 'name')}${filterText}`;
  const range = `${offset + 1}–${offset + names.length} of ${total}`;
  const costSuffix =
    page.renewalCost.sums.length === 0
      ? ''
      : `, about ${amountsText(page.renewalCost.sums, page.locale)} a year`;
  return message(`${title}${costSuffix}`, [
    section(`*${title}*${renewalText(page)}${names.length < total ? `\nShowing ${range}` : ''}`),
    ...lineSections(names.map((name) => nameLine(name, page.locale))),
    ...actions('names', [
      page.hasService && button('names_renew', 'Renew several…', actionValue, { style: 'primary' }),
      ...collapseIntoMenu([
        button('names_edit', 'Edit owner or tags…', actionValue),
        button('names_export', 'Export as CSV', actionValue),
        button('names_import', 'Import…', 'new'),
      ]),
    ]),
    ...actions('names_pages', [
      page.previousPageState !== undefined && button('names_previous', 'Previous', page.previousPageState),
      page.nextPageState !== undefined && button('names_next', 'Next', page.nextPageState),
    ]),
    context(
      `Example filter: ${code('/domain names tag:brand owner:@ada zone:rest expiring<60 unused sort:name')}`,
    ),
  ]);
}

/** `bar.rest · 30 Nov (5 days) · €18.00 · @ada · brand`. */
function nameLine(
  { name, expiry, owner, ownerLeftAt, tags, renewalPrice, deletedAt }: NamesPage['names'][number],
  locale: string,
): string {
  return dropMissing([
    `*${escapeText(formatDomainName(name))}*`,
    ...(deletedAt === undefined
      ? [
          expiry === undefined
            ? 'expiry unknown'
            : `${expiry.day} (${formatDaysLeft(expiry.daysLeft).replace(/^in /, '')})`,
          renewalPrice === undefined ? 'no price' : amountsText([renewalPrice], locale),
        ]
      : ['deleted']),
    owner !== undefined && `${mention(owner)}${ownerLeftAt === undefined ? '' : ' (left)'}`,
    tags.length > 0 && tags.map(code).join(' '),
  ]).join(' · ');
}

function collapseIntoMenu(buttons: readonly Button[]): readonly (Button | Overflow)[] {
  return fitsMenu(buttons) ? dropMissing([overflowMenu('names_more', buttons)]) : buttons;
}

function renewalText({ renewalCost, deletedCount, total, locale }: NamesPage): string {
  const { sums, unpricedCount } = renewalCost;
  const unpricedNote =
    unpricedCount === 0 ? '' : `, not counting ${formatCount(unpricedCount, 'name')} without a price`;
  const otherNames = total - deletedCount === 1 ? 'the other one' : 'the others';
  const subject = total === 1 ? 'it' : deletedCount === 0 ? 'all of them' : otherNames;
  const lines = dropMissing([
    deletedCount > 0 &&
      `${deletedCount === 1 ? '1 is' : `${deletedCount} are`} deleted and can’t be renewed.`,
    sums.length > 0 &&
      `Renewing ${subject} for 1 year would cost about ${amountsText(sums, locale)}${unpricedNote}.`,
  ]);
  return lines.map((line) => `\n${line}`).join('');
}

/** For forms that have room for only some of the found names. */
export function incompleteFormText(shownCount: number, total: number): string {
  return `*This form has the first ${shownCount} of ${total} names.* For the others, use a filter or \`/domain names import\`.`;
}

export type OwnersIssue =
  | { readonly code: 'not_members'; readonly owners: readonly string[] }
  | { readonly code: 'too_many_new'; readonly limit: number }
  /** Slack couldn't look up some of the owners. */
  | { readonly code: 'unconfirmed' };

const MAX_SHOWN_OWNERS = 5;

/** Plain text, for a form field. */
export function ownersIssueText(issue: OwnersIssue): string {
  switch (issue.code) {
    case 'not_members':
      return `Nothing changed. Owners must be members of this workspace, not guests, bots or deactivated accounts. Replace ${joinAtMost(issue.owners, MAX_SHOWN_OWNERS)}.`;
    case 'too_many_new':
      return `Nothing changed. You can add at most ${issue.limit} new owners at a time, because I look up each in Slack. Split the list.`;
    case 'unconfirmed':
      return 'Nothing changed. Slack can’t confirm right now that these people are members. Try again in a minute.';
  }
}

export const NO_NAMES = {
  watched: 'No names are watched yet. Add names with `/domain import`.',
  toRenew: 'None of these names can be renewed. They were renewed, will lapse, or can’t be saved anymore.',
  toEdit: 'None of these names is watched anymore. To watch a name, use `/domain watch`.',
  toExport: 'No names match, so there’s nothing to export. Change the filter.',
} as const;
