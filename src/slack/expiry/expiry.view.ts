import type { KnownBlock } from '@slack/types';
import type { Day } from '../../expiry/days.ts';
import { renewalOptions } from '../../expiry/deadline.ts';
import type { ListedName } from '../../expiry/expiry.ts';
import type { LineIssue } from '../../expiry/import.ts';
import type { Term } from '../../expiry/term.ts';
import type { ImportSummary, WatchRefusal } from '../../expiry/watch-list.ts';
import { dropMissing, splitIntoChunks } from '../../lib/collections.ts';
import { MAX_WATCHED } from '../../names/portfolio.ts';
import { displayName } from '../../zones/names.ts';
import {
  actions,
  button,
  code,
  context,
  count,
  day,
  escapeText,
  LIMITS,
  mention,
  quote,
  section,
} from '../kit/blocks.ts';
import { formatLineIssue, formatWatchRefusal, headingsText } from './watch-list.view.ts';

/* Texts of the watch list: dates, pages and import reports. */

/** `3 Mar 2027`. @param today omits the year of near days */
export function formatDay(calendarDay: Day, today?: Day): string {
  return day(new Date(calendarDay), today === undefined ? undefined : new Date(today));
}

/** `in 7 days`, `tomorrow`, `today`, `4 days ago`. */
export function formatDays(daysLeft: number): string {
  if (daysLeft === 0) return 'today';
  if (Math.abs(daysLeft) === 1) return daysLeft > 0 ? 'tomorrow' : 'yesterday';
  return daysLeft > 0 ? `in ${count(daysLeft, 'day')}` : `${count(-daysLeft, 'day')} ago`;
}

export const SOURCES = {
  rdap: 'registry',
  whois: 'by WHOIS',
  order: 'estimated from the last order',
  person: 'entered by a person',
} as const;

function formatSource({ domain }: ListedName): string {
  return domain.expiry === undefined ? 'date unknown' : SOURCES[domain.expiry.source];
}

/** A name's expiry and any objection to the order; undefined: nothing to say. */
export function termText(term: Term): string | undefined {
  switch (term.task) {
    case 'renew':
      return renewalTerm(term);
    case 'restore':
      return restoreTerm(term.listed);
    case 'create':
      return createTerm(term.listed);
  }
}

/** Expiry as a card line; undefined if shown as a warning or unknown. */
export function termLine(term: Term): string | undefined {
  if (term.task === 'create') return undefined;
  const { listed } = term;
  if (listed?.day === undefined) return undefined;
  const source = listed.domain.expiry?.source === 'rdap' ? '' : ` (${formatSource(listed)})`;
  if (term.task === 'renew' && isDeleted(listed)) return undefined;
  if (term.task === 'renew')
    return `Expires ${formatDay(listed.day)}${source}${term.renewedUntil === undefined ? '' : ` → ${formatDay(term.renewedUntil)}`}`;
  const { deletedAt } = listed.domain;
  const until = listed.deadline?.until;
  return deletedAt === undefined || until === undefined
    ? undefined
    : `Deleted ${day(deletedAt)} · can be restored until ${formatDay(until)}`;
}

/** Objections to an order because of its name's dates, one per line. */
export function termWarnings(term: Term): string[] {
  const { listed } = term;
  if (listed === undefined) return [':warning: Expiry unknown: it isn’t on the watch list'];
  if (term.task === 'renew' && isDeleted(listed)) return [`:warning: ${DELETED}`];
  if (listed.day === undefined) return [':warning: Expiry unknown'];
  return (termText(term)?.split('\n') ?? []).filter((line) => line.startsWith(':warning:'));
}

const DELETED = 'It was deleted, so a renewal won’t recover it';

function isDeleted({ deadline }: ListedName): boolean {
  return deadline !== undefined && !renewalOptions(deadline).renews;
}

/** `3 Mar 2027 (registry)`. */
function datedWithSource(listed: ListedName, calendarDay: Day): string {
  return `${formatDay(calendarDay)} (${formatSource(listed)})`;
}

function renewalTerm({ listed, renewedUntil }: Extract<Term, { task: 'renew' }>): string {
  if (listed === undefined) return 'Unknown: it isn’t on the watch list';
  if (isDeleted(listed)) return DELETED;
  if (listed.day === undefined || renewedUntil === undefined) return 'Unknown';
  return `${datedWithSource(listed, listed.day)}\nAfter this renewal: ${formatDay(renewedUntil)}`;
}

function restoreTerm(listed: ListedName): string {
  const { deletedAt } = listed.domain;
  if (listed.day === undefined || listed.deadline === undefined) return 'Unknown';
  const { action, until } = listed.deadline;
  const expiry = datedWithSource(listed, listed.day);
  const ended = deletedAt === undefined ? expiry : `${expiry}, deleted ${day(deletedAt)}`;
  if (action === 'none') return `${ended}\n:warning: By these dates it can no longer be restored`;
  if (deletedAt === undefined) {
    const caution =
      action !== 'check' || until === undefined
        ? ''
        : `. If it was deleted after all, it can be restored until ${formatDay(until)}`;
    return `${expiry}\n:warning: No known deletion${caution}`;
  }
  return until === undefined ? ended : `${ended}\nCan be restored until ${formatDay(until)}`;
}

function createTerm(listed: ListedName): string | undefined {
  if (listed.day === undefined || listed.deadline === undefined || listed.deadline.action === 'none')
    return undefined;
  return `${datedWithSource(listed, listed.day)}\n:warning: It’s on the watch list, so it’s probably registered already`;
}

const SHOWN_LINES = 40;
const LINES_A_SECTION = 10;
const SHOWN_BUTTONS = 5;

export function importReport(summary: ImportSummary): {
  readonly text: string;
  readonly blocks: KnownBlock[];
} {
  const { added, dated, kept, duplicates, rejected, unusedHeadings = [], lacksExpiry = false } = summary;
  const { beyondLimit, tooFarAhead, waiting } = summary;
  const taken = dropMissing([
    `${count(added, 'name')} added`,
    dated > 0 && `${count(dated, 'name')} with a new date`,
    kept > 0 && `${count(kept, 'name')} already on the list`,
    duplicates > 0 && `${count(duplicates, 'line')} repeated`,
    waiting !== undefined && `${count(waiting.payload.names.length, 'date')} waiting for confirmation`,
    tooFarAhead > 0 && `${count(tooFarAhead, 'name')} dated more than 10 years ahead, not added`,
    beyondLimit > 0 && `${count(beyondLimit, 'name')} not added`,
    `${count(rejected.length, 'line')} rejected`,
  ]).join(', ');
  const lines = rejected
    .slice(0, SHOWN_LINES)
    .map(
      ({ line, text, issue }) =>
        `Line ${line}${text === '' ? '' : ` ${code(text)}`}: ${quote(formatLineIssue(issue))}`,
    );
  const sections = splitIntoChunks(lines, LINES_A_SECTION).map((part) => section(part.join('\n')));
  const left = rejected.length - lines.length;
  const blocks = dropMissing([
    section(`*Imported*: ${taken}.`),
    ...sections,
    left > 0 && section(`… and ${count(left, 'more line')}.`),
    beyondLimit > 0 && section(`:warning: ${formatWatchRefusal({ code: 'list_full', limit: MAX_WATCHED })}`),
    ...watchInstead(rejected),
    unusedHeadings.length > 0 && context(`Unused columns: ${quote(headingsText(unusedHeadings))}.`),
    lacksExpiry &&
      section(
        'No column was recognized as the expiry, so no dates were imported. Rename it to “expires” and import again.',
      ),
    context(
      added + dated > 0
        ? 'I’m looking up the dates now; `/domain expiring` shows them.'
        : 'Nothing changed on the watch list.',
    ),
  ]);
  return { text: `Imported: ${taken}.`, blocks };
}

export function watchInstead(
  rejected: readonly { readonly issue: LineIssue | WatchRefusal }[],
  date?: string,
): KnownBlock[] {
  const domains = rejected.flatMap(({ issue }) =>
    issue.code === 'invalid_name' && issue.issue.code === 'below_registered_name'
      ? [issue.issue.registered]
      : [],
  );
  const buttons = [...new Set(domains)]
    .slice(0, SHOWN_BUTTONS)
    .map((domain) => button('watch_domain', `Watch ${domain}`, dropMissing([domain, date]).join(' ')));
  return actions('watch_instead', buttons);
}

export function importProgress(done: number, total: number): KnownBlock[] {
  const filled = Math.round((done / Math.max(total, 1)) * 20);
  return [
    section(
      `Importing: ${done} of ${count(total, 'name')} so far.\n${'█'.repeat(filled)}${'░'.repeat(20 - filled)}`,
    ),
    context('You can close this. The import continues, and I’ll send you the report.'),
  ];
}

/** Inside a sentence. */
export function formatName(asciiName: string): string {
  return `*${escapeText(displayName(asciiName))}*`;
}

export function deciderText(userId: string, reason: string | undefined): string {
  return `${mention(userId)}${reason === undefined ? '' : `: “${quote(reason, 500)}”`}`;
}

export function expiringUsage(maxDays: number): string {
  return `Give a whole number of days up to ${maxDays}, such as \`/domain expiring 30\`.`;
}

export function renewedSinceText(name: string, until: Day): string {
  return `${formatName(name)} was renewed since this reminder and now expires on ${formatDay(until)}. To renew it anyway, use \`/domain renew ${name}\`.`;
}

export const NOTHING_TO_RENEW = 'Nothing in this digest is left to renew.';

export function doNotRenewText(name: string): string {
  return `Don’t renew ${formatName(name)} now: it moved to another registrar without an order. Settle that first: \`/domain name ${escapeText(name)}\`.`;
}

export function unwatchedSinceText(name: string): string {
  return `${formatName(name)} is no longer watched. \`/domain watch ${escapeText(name)}\` adds it again.`;
}

/** @param most names per order */
export function renewHint(found: number, most: number): string {
  return found > LIMITS.options
    ? `The first ${LIMITS.options} of ${found} names. One order takes at most ${most}; use another order for the rest.`
    : `One order takes at most ${most} names.`;
}

export function renewedElsewhereText(name: string): string {
  return `When does ${formatName(name)} expire now?`;
}

export function lapseText(name: string): string {
  return `${formatName(name)} won’t be renewed, and is lost some time after it expires.`;
}
