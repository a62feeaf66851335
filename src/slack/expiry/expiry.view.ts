import type { KnownBlock } from '@slack/types';
import type { Day } from '../../expiry/days.ts';
import { getRenewalOptions } from '../../expiry/deadline.ts';
import type { ListedName } from '../../expiry/expiry.ts';
import type { ExpiryChange } from '../../expiry/expiry-change.ts';
import type { LineIssue } from '../../expiry/import.ts';
import type { ImportSummary, WatchRefusal } from '../../expiry/watch-list.ts';
import { dropMissing, splitIntoChunks } from '../../lib/collections.ts';
import { MAX_WATCHED_NAMES } from '../../names/portfolio.ts';
import { formatDomainName } from '../../zones/names.ts';
import {
  actions,
  button,
  code,
  context,
  count,
  escapeText,
  formatUtcDate,
  LIMITS,
  mention,
  quote,
  section,
} from '../kit/blocks.ts';
import { formatLineIssue, formatWatchRefusal, headingsText } from './watch-list.view.ts';

/**
 * `3 Mar 2027`.
 * @param today if given, the year is left out for days close to it
 */
export function formatDay(calendarDay: Day, today?: Day): string {
  return formatUtcDate(new Date(calendarDay), today === undefined ? undefined : new Date(today));
}

/** `in 7 days`, `tomorrow`, `today`, `4 days ago`. */
export function formatDaysLeft(daysLeft: number): string {
  if (daysLeft === 0) return 'today';
  if (Math.abs(daysLeft) === 1) return daysLeft > 0 ? 'tomorrow' : 'yesterday';
  return daysLeft > 0 ? `in ${count(daysLeft, 'day')}` : `${count(-daysLeft, 'day')} ago`;
}

export const EXPIRY_SOURCE_TEXTS = {
  rdap: 'registry',
  whois: 'from WHOIS',
  order: 'estimated from the last order',
  person: 'entered manually',
} as const;

function formatSource({ domain }: ListedName): string {
  return domain.expiry === undefined ? 'expiry unknown' : EXPIRY_SOURCE_TEXTS[domain.expiry.source];
}

/** The expiry of a name, and how an order changes it. */
export function formatExpiryChange(change: ExpiryChange): string | undefined {
  switch (change.task) {
    case 'renew':
      return formatRenewalExpiry(change);
    case 'restore':
      return formatRestoreExpiry(change.listedName);
    case 'create':
      return formatCreateExpiry(change.listedName);
  }
}

/** The expiry line of a card. Undefined if the expiry is unknown or already shown in a warning. */
export function formatExpiryLine(change: ExpiryChange): string | undefined {
  if (change.task === 'create') return undefined;
  const { listedName } = change;
  if (listedName?.day === undefined) return undefined;
  const source = listedName.domain.expiry?.source === 'rdap' ? '' : ` (${formatSource(listedName)})`;
  if (change.task === 'renew' && isDeleted(listedName)) return undefined;
  if (change.task === 'renew')
    return `Expires ${formatDay(listedName.day)}${source}${change.renewedUntil === undefined ? '' : ` → ${formatDay(change.renewedUntil)}`}`;
  const { deletedAt } = listedName.domain;
  const until = listedName.deadline?.until;
  return deletedAt === undefined || until === undefined
    ? undefined
    : `Deleted ${formatUtcDate(deletedAt)} · can be restored until ${formatDay(until)}`;
}

/** Warnings about an order that follow from the name's dates. */
export function listExpiryWarnings(change: ExpiryChange): string[] {
  const { listedName } = change;
  if (listedName === undefined) return [':warning: Expiry unknown, because the name isn’t watched'];
  if (change.task === 'renew' && isDeleted(listedName)) return [`:warning: ${DELETED_WARNING}`];
  if (listedName.day === undefined) return [':warning: Expiry unknown'];
  return (formatExpiryChange(change)?.split('\n') ?? []).filter((line) => line.startsWith(':warning:'));
}

const DELETED_WARNING = 'It was deleted, so a renewal can’t recover it';

function isDeleted({ deadline }: ListedName): boolean {
  return deadline !== undefined && !getRenewalOptions(deadline).renews;
}

/** `3 Mar 2027 (registry)`. */
function dateWithSource(listed: ListedName, calendarDay: Day): string {
  return `${formatDay(calendarDay)} (${formatSource(listed)})`;
}

function formatRenewalExpiry({ listedName, renewedUntil }: Extract<ExpiryChange, { task: 'renew' }>): string {
  if (listedName === undefined) return 'Unknown, because the name isn’t watched';
  if (isDeleted(listedName)) return DELETED_WARNING;
  if (listedName.day === undefined || renewedUntil === undefined) return 'Unknown';
  return `${dateWithSource(listedName, listedName.day)}\nAfter this renewal: ${formatDay(renewedUntil)}`;
}

function formatRestoreExpiry(listed: ListedName): string {
  const { deletedAt } = listed.domain;
  if (listed.day === undefined || listed.deadline === undefined) return 'Unknown';
  const { action, until } = listed.deadline;
  const expiry = dateWithSource(listed, listed.day);
  const dates = deletedAt === undefined ? expiry : `${expiry}, deleted ${formatUtcDate(deletedAt)}`;
  if (action === 'none') return `${dates}\n:warning: It’s too late to restore it, according to these dates`;
  if (deletedAt === undefined) {
    const caution =
      action !== 'check' || until === undefined
        ? ''
        : `. If it was deleted, it can be restored until ${formatDay(until)}`;
    return `${expiry}\n:warning: No known deletion${caution}`;
  }
  return until === undefined ? dates : `${dates}\nCan be restored until ${formatDay(until)}`;
}

function formatCreateExpiry(listed: ListedName): string | undefined {
  if (listed.day === undefined || listed.deadline === undefined || listed.deadline.action === 'none')
    return undefined;
  return `${dateWithSource(listed, listed.day)}\n:warning: It’s watched, so it’s probably registered already`;
}

const MAX_LINES = 40;
const LINES_PER_SECTION = 10;
const MAX_BUTTONS = 5;

export function importReport(summary: ImportSummary): {
  readonly text: string;
  readonly blocks: KnownBlock[];
} {
  const { added, dated, kept, duplicates, rejected, unusedHeadings = [], lacksExpiry = false } = summary;
  const { beyondLimit, tooFarAhead, proposal } = summary;
  const counts = dropMissing([
    `${count(added, 'name')} added`,
    dated > 0 && `${count(dated, 'name')} with a new date`,
    kept > 0 && `${count(kept, 'name')} already watched`,
    duplicates > 0 && `${count(duplicates, 'line')} repeated`,
    proposal !== undefined && `${count(proposal.payload.names.length, 'date')} waiting for confirmation`,
    tooFarAhead > 0 && `${count(tooFarAhead, 'name')} not added (date more than 10 years ahead)`,
    beyondLimit > 0 && `${count(beyondLimit, 'name')} not added (list full)`,
    `${count(rejected.length, 'line')} rejected`,
  ]).join(', ');
  const lines = rejected
    .slice(0, MAX_LINES)
    .map(
      ({ line, text, issue }) =>
        `Line ${line}${text === '' ? '' : ` ${code(text)}`}: ${quote(formatLineIssue(issue))}`,
    );
  const sections = splitIntoChunks(lines, LINES_PER_SECTION).map((chunk) => section(chunk.join('\n')));
  const remaining = rejected.length - lines.length;
  const blocks = dropMissing([
    section(`*Imported*: ${counts}.`),
    ...sections,
    remaining > 0 && section(`… and ${count(remaining, 'more line')}.`),
    beyondLimit > 0 &&
      section(`:warning: ${formatWatchRefusal({ code: 'list_full', limit: MAX_WATCHED_NAMES })}`),
    ...watchDomainButtons(rejected),
    unusedHeadings.length > 0 && context(`Unused columns: ${quote(headingsText(unusedHeadings))}.`),
    lacksExpiry &&
      section(
        'I didn’t find an expiry column, so I imported no dates. Rename the column to “expires” and import the file again.',
      ),
    context(
      added + dated > 0
        ? 'I’m looking up the dates now. To see them, use `/domain expiring`.'
        : 'The watch list is unchanged.',
    ),
  ]);
  return { text: `Imported: ${counts}.`, blocks };
}

export function watchDomainButtons(
  rejected: readonly { readonly issue: LineIssue | WatchRefusal }[],
  date?: string,
): KnownBlock[] {
  const domains = rejected.flatMap(({ issue }) =>
    issue.code === 'invalid_name' && issue.issue.code === 'subdomain' ? [issue.issue.registered] : [],
  );
  const buttons = [...new Set(domains)]
    .slice(0, MAX_BUTTONS)
    .map((domain) => button('watch_domain', `Watch ${domain}`, dropMissing([domain, date]).join(' ')));
  return actions('watch_instead', buttons);
}

export function importProgressBlocks(done: number, total: number): KnownBlock[] {
  const filled = Math.round((done / Math.max(total, 1)) * 20);
  return [
    section(
      `Imported ${done.toLocaleString('en')} of ${total.toLocaleString('en')} names so far…\n${'█'.repeat(filled)}${'░'.repeat(20 - filled)}`,
    ),
    context('You can close this. The import continues, and I’ll send you the report.'),
  ];
}

export function formatName(asciiName: string): string {
  return `*${escapeText(formatDomainName(asciiName))}*`;
}

export function personWithReason(userId: string, reason: string | undefined): string {
  return `${mention(userId)}${reason === undefined ? '' : `: “${quote(reason, 500)}”`}`;
}

export function expiringUsage(maxDays: number): string {
  return `Enter a number of days up to ${maxDays}, such as \`/domain expiring 30\`.`;
}

export function alreadyRenewedText(name: string, expiry: Day): string {
  return `${formatName(name)} was renewed after this reminder and now expires ${formatDay(expiry)}. To renew it again, use \`/domain renew ${name}\`.`;
}

export const NOTHING_TO_RENEW =
  'None of this digest’s names can be renewed anymore. To see them, click *Show all*.';

export function doNotRenewText(name: string): string {
  return `Don’t renew ${formatName(name)} now. It’s at another registrar, and no one here ordered the transfer. Resolve that incident first: \`/domain name ${escapeText(name)}\`.`;
}

export function noLongerWatchedText(name: string): string {
  return `${formatName(name)} is no longer watched. To add it again, use \`/domain watch ${escapeText(name)}\`.`;
}

export function renewHint(total: number, maxPerOrder: number): string {
  return total > LIMITS.options
    ? `These are the first ${LIMITS.options} of ${total} names. An order can have at most ${maxPerOrder}. Use more orders for the others.`
    : `An order can have at most ${maxPerOrder} names.`;
}

export function newExpiryQuestion(name: string): string {
  return `When does ${formatName(name)} expire now?`;
}

export function lapseText(name: string): string {
  return `${formatName(name)} won’t be renewed or restored, so you’ll lose it after its last deadline.`;
}
