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
  escapeLine,
  escapeText,
  formatCount,
  formatUtcDate,
  LIMITS,
  mention,
  section,
} from '../kit/blocks.ts';
import { formatLineIssue, formatWatchRefusal, headingsText } from './watch-list.view.ts';

/**
 * `3 Mar 2027`.
 * @param today if given, the year is omitted from nearby days
 */
export function formatDay(calendarDay: Day, today?: Day): string {
  return formatUtcDate(new Date(calendarDay), today === undefined ? undefined : new Date(today));
}

/** `in 7 days`, `tomorrow`, `today`, `4 days ago`. */
export function formatDaysLeft(daysLeft: number): string {
  if (daysLeft === 0) return 'today';
  if (Math.abs(daysLeft) === 1) return daysLeft > 0 ? 'tomorrow' : 'yesterday';
  return daysLeft > 0 ? `in ${formatCount(daysLeft, 'day')}` : `${formatCount(-daysLeft, 'day')} ago`;
}

export const EXPIRY_SOURCE_TEXTS = {
  rdap: 'registry',
  whois: 'from WHOIS',
  order: 'estimated from the last order',
  person: 'entered manually',
} as const;

function formatExpirySource({ domain }: ListedName): string {
  return domain.expiry === undefined ? 'expiry unknown' : EXPIRY_SOURCE_TEXTS[domain.expiry.source];
}

/** Formats a name's expiry and how an order changes it. */
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
  if (listedName?.expiryDay === undefined) return undefined;
  const source = listedName.domain.expiry?.source === 'rdap' ? '' : ` (${formatExpirySource(listedName)})`;
  if (change.task === 'renew')
    return isDeleted(listedName)
      ? undefined
      : `Expires ${formatDay(listedName.expiryDay)}${source}${change.renewedUntil === undefined ? '' : ` → ${formatDay(change.renewedUntil)}`}`;
  const { deletedAt } = listedName.domain;
  const until = listedName.deadline?.until;
  return deletedAt === undefined || until === undefined
    ? undefined
    : `Deleted ${formatUtcDate(deletedAt)} · can be restored until ${formatDay(until)}`;
}

/** Lists warnings about an order, based on the name's dates. */
export function listExpiryWarnings(change: ExpiryChange): string[] {
  const { listedName } = change;
  if (listedName === undefined) return [':warning: Expiry unknown, because the name isn’t watched'];
  if (change.task === 'renew' && isDeleted(listedName)) return [`:warning: ${DELETED_WARNING}`];
  if (listedName.expiryDay === undefined) return [':warning: Expiry unknown'];
  return (formatExpiryChange(change)?.split('\n') ?? []).filter((line) => line.startsWith(':warning:'));
}

const DELETED_WARNING = 'It was deleted, so a renewal can’t recover it';

function isDeleted({ deadline }: ListedName): boolean {
  return deadline !== undefined && !getRenewalOptions(deadline).canRenew;
}

/** `3 Mar 2027 (registry)`. */
function formatDayWithSource(listedName: ListedName, calendarDay: Day): string {
  return `${formatDay(calendarDay)} (${formatExpirySource(listedName)})`;
}

function formatRenewalExpiry({ listedName, renewedUntil }: Extract<ExpiryChange, { task: 'renew' }>): string {
  if (listedName === undefined) return 'Unknown, because the name isn’t watched';
  if (isDeleted(listedName)) return DELETED_WARNING;
  if (listedName.expiryDay === undefined || renewedUntil === undefined) return 'Unknown';
  return `${formatDayWithSource(listedName, listedName.expiryDay)}\nAfter this renewal: ${formatDay(renewedUntil)}`;
}

function formatRestoreExpiry(listedName: ListedName): string {
  const { deletedAt } = listedName.domain;
  if (listedName.expiryDay === undefined || listedName.deadline === undefined) return 'Unknown';
  const { action, until } = listedName.deadline;
  const expiry = formatDayWithSource(listedName, listedName.expiryDay);
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

function formatCreateExpiry(listedName: ListedName): string | undefined {
  if (
    listedName.expiryDay === undefined ||
    listedName.deadline === undefined ||
    listedName.deadline.action === 'none'
  )
    return undefined;
  return `${formatDayWithSource(listedName, listedName.expiryDay)}\n:warning: It’s watched, so it’s probably registered already`;
}

const MAX_REJECTED_LINES = 40;
const LINES_PER_SECTION = 10;
const MAX_BUTTONS = 5;

export function buildImportReport(summary: ImportSummary): {
  readonly text: string;
  readonly blocks: KnownBlock[];
} {
  const {
    addedCount,
    datedCount,
    unchangedCount,
    duplicateCount,
    rejected,
    unusedHeadings = [],
    lacksExpiry = false,
  } = summary;
  const { beyondLimitCount, tooFarAheadCount, proposal } = summary;
  const countsText = dropMissing([
    `${formatCount(addedCount, 'name')} added`,
    datedCount > 0 && `${formatCount(datedCount, 'name')} with a new date`,
    unchangedCount > 0 && `${formatCount(unchangedCount, 'name')} already watched`,
    duplicateCount > 0 && `${formatCount(duplicateCount, 'line')} repeated`,
    proposal !== undefined &&
      `${formatCount(proposal.payload.names.length, 'date')} waiting for confirmation`,
    tooFarAheadCount > 0 &&
      `${formatCount(tooFarAheadCount, 'name')} not added (date more than 10 years ahead)`,
    beyondLimitCount > 0 && `${formatCount(beyondLimitCount, 'name')} not added (list full)`,
    `${formatCount(rejected.length, 'line')} rejected`,
  ]).join(', ');
  const lines = rejected
    .slice(0, MAX_REJECTED_LINES)
    .map(
      ({ line, text, issue }) =>
        `Line ${line}${text === '' ? '' : ` ${code(text)}`}: ${escapeLine(formatLineIssue(issue))}`,
    );
  const sections = splitIntoChunks(lines, LINES_PER_SECTION).map((chunk) => section(chunk.join('\n')));
  const remainingCount = rejected.length - lines.length;
  const blocks = dropMissing([
    section(`*Imported*: ${countsText}.`),
    ...sections,
    remainingCount > 0 && section(`… and ${formatCount(remainingCount, 'more line')}.`),
    beyondLimitCount > 0 &&
      section(`:warning: ${formatWatchRefusal({ code: 'list_full', limit: MAX_WATCHED_NAMES })}`),
    ...watchDomainButtons(rejected),
    unusedHeadings.length > 0 && context(`Unused columns: ${escapeLine(headingsText(unusedHeadings))}.`),
    lacksExpiry &&
      section(
        'I didn’t find an expiry column, so I imported no dates. Rename the column to “expires” and import the file again.',
      ),
    context(
      addedCount + datedCount > 0
        ? 'I’m looking up the dates now. To see them, use `/domain expiring`.'
        : 'The watch list is unchanged.',
    ),
  ]);
  return { text: `Imported: ${countsText}.`, blocks };
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

export function importProgressBlocks(importedCount: number, total: number): KnownBlock[] {
  const filledLength = Math.round((importedCount / Math.max(total, 1)) * 20);
  return [
    section(
      `Imported ${importedCount.toLocaleString('en')} of ${total.toLocaleString('en')} names so far…\n${'█'.repeat(filledLength)}${'░'.repeat(20 - filledLength)}`,
    ),
    context('You can close this. The import continues, and I’ll send you the report.'),
  ];
}

export function formatName(asciiName: string): string {
  return `*${escapeText(formatDomainName(asciiName))}*`;
}

export function personWithReason(userId: string, reason: string | undefined): string {
  return `${mention(userId)}${reason === undefined ? '' : `: “${escapeLine(reason, 500)}”`}`;
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
