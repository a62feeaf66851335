import type { KnownBlock } from '@slack/types';
import type { Day } from '../../expiry/days.ts';
import { waysToKeep } from '../../expiry/deadline.ts';
import type { ListedName } from '../../expiry/expiry.ts';
import type { LineIssue } from '../../expiry/import.ts';
import type { Term } from '../../expiry/term.ts';
import type { ImportSummary } from '../../expiry/watch-list.ts';
import { chunksOf, present } from '../../lib/collections.ts';
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

/*
 * The watch list as people see it: dates in words, pages of the list, the report of an import.
 */

/** A calendar day, written out: `3 Mar 2027`. @param today leaves out the year of a day that is near it */
export function formatDay(calendarDay: Day, today?: Day): string {
  return day(new Date(calendarDay), today === undefined ? undefined : new Date(today));
}

/** `in 7 days`, `tomorrow`, `today`, `4 days ago`. */
export function formatDays(daysLeft: number): string {
  if (daysLeft === 0) return 'today';
  if (Math.abs(daysLeft) === 1) return daysLeft > 0 ? 'tomorrow' : 'yesterday';
  return daysLeft > 0 ? `in ${count(daysLeft, 'day')}` : `${count(-daysLeft, 'day')} ago`;
}

const SOURCES = {
  rdap: 'registry',
  order: 'estimate from the last order',
  person: 'given by a person',
} as const;

/** Where a name's date comes from. */
function formatSource({ domain }: ListedName): string {
  return domain.expiry === undefined ? 'no date known' : SOURCES[domain.expiry.source];
}

/** When a name expires, and what speaks against the order; undefined where that tells nothing. */
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

/** When a name expires, on one line of a card; undefined where that is said as a warning, or tells nothing. */
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
    : `Deleted ${day(deletedAt)} · restorable until ${formatDay(until)}`;
}

/** What speaks against an order by the dates of its name, a line each. */
export function termWarnings(term: Term): string[] {
  const { listed } = term;
  if (listed === undefined) return [':warning: When it expires is not known: it is not on the watch list'];
  if (term.task === 'renew' && isDeleted(listed)) return [`:warning: ${DELETED}`];
  if (listed.day === undefined) return [':warning: When it expires is not known'];
  return (termText(term)?.split('\n') ?? []).filter((line) => line.startsWith(':warning:'));
}

const DELETED = "It was deleted, and a renewal doesn't bring it back";

function isDeleted({ deadline }: ListedName): boolean {
  return deadline !== undefined && !waysToKeep(deadline).renews;
}

/** `3 Mar 2027 (registry)`. */
function datedWithSource(listed: ListedName, calendarDay: Day): string {
  return `${formatDay(calendarDay)} (${formatSource(listed)})`;
}

function renewalTerm({ listed, renewedUntil }: Extract<Term, { task: 'renew' }>): string {
  if (listed === undefined) return 'Not known: the name is not on the watch list';
  if (isDeleted(listed)) return DELETED;
  if (listed.day === undefined || renewedUntil === undefined) return 'Not known';
  return `${datedWithSource(listed, listed.day)}\nAfter this renewal: ${formatDay(renewedUntil)}`;
}

function restoreTerm(listed: ListedName): string {
  const { deletedAt } = listed.domain;
  if (listed.day === undefined || listed.deadline === undefined) return 'Not known';
  const { action, until } = listed.deadline;
  const expiry = datedWithSource(listed, listed.day);
  const ended = deletedAt === undefined ? expiry : `${expiry}, deleted ${day(deletedAt)}`;
  if (action === 'none') return `${ended}\n:warning: By these dates it cannot be restored any more`;
  if (deletedAt === undefined) {
    const caution =
      action !== 'check' || until === undefined
        ? ''
        : `. In case it has been deleted after all, it can be restored until ${formatDay(until)}`;
    return `${expiry}\n:warning: No deletion of it is known${caution}`;
  }
  return until === undefined ? ended : `${ended}\nCan be restored until ${formatDay(until)}`;
}

function createTerm(listed: ListedName): string | undefined {
  if (listed.day === undefined || listed.deadline === undefined || listed.deadline.action === 'none')
    return undefined;
  return `${datedWithSource(listed, listed.day)}\n:warning: It is on the watch list, so it seems to be registered already`;
}

const SHOWN_LINES = 40;
const LINES_A_SECTION = 10;
const SHOWN_BUTTONS = 5;

/** What was taken from a pasted list, what was not, and why. */
export function importReport(summary: ImportSummary): {
  readonly text: string;
  readonly blocks: KnownBlock[];
} {
  const { added, dated, kept, duplicates, rejected, unusedHeadings = [], lacksExpiry = false } = summary;
  const { beyondLimit, tooFarAhead, waiting } = summary;
  const taken = present([
    `${count(added, 'name')} added`,
    dated > 0 && `${count(dated, 'name')} given a new date`,
    kept > 0 && `${count(kept, 'name')} on the list already`,
    duplicates > 0 && `${count(duplicates, 'line')} repeated`,
    waiting !== undefined && `${count(waiting.payload.names.length, 'date')} waiting for confirmation`,
    tooFarAhead > 0 && `${count(tooFarAhead, 'name')} dated more than 10 years ahead, not added`,
    beyondLimit > 0 && `${count(beyondLimit, 'name')} not added`,
    `${count(rejected.length, 'line')} not taken`,
  ]).join(', ');
  const lines = rejected
    .slice(0, SHOWN_LINES)
    .map(
      ({ line, text, issue }) =>
        `Line ${line}${text === '' ? '' : ` ${code(text)}`}: ${quote(formatLineIssue(issue))}`,
    );
  const sections = chunksOf(lines, LINES_A_SECTION).map((part) => section(part.join('\n')));
  const left = rejected.length - lines.length;
  const blocks = present([
    section(`*Imported*: ${taken}.`),
    ...sections,
    left > 0 && section(`… and ${count(left, 'more line')}.`),
    beyondLimit > 0 && section(`:warning: ${formatWatchRefusal({ code: 'list_full', limit: MAX_WATCHED })}`),
    ...watchInstead(rejected),
    unusedHeadings.length > 0 && context(`Columns not used: ${quote(headingsText(unusedHeadings))}.`),
    lacksExpiry &&
      section(
        'No heading says which column is the expiry, so no dates were taken. If one is, call it “expires” and import the list again.',
      ),
    context(
      added + dated > 0
        ? 'The registries are asked for the dates now; `/domain expiring` shows them.'
        : 'Nothing changed on the watch list.',
    ),
  ]);
  return { text: `Imported: ${taken}.`, blocks };
}

/** Buttons for the domains of hosts that were not taken. */
export function watchInstead(
  rejected: readonly { readonly issue: LineIssue }[],
  date?: string,
): KnownBlock[] {
  const domains = rejected.flatMap(({ issue }) =>
    issue.code === 'invalid_name' && issue.issue.code === 'below_registered_name'
      ? [issue.issue.registered]
      : [],
  );
  const buttons = [...new Set(domains)]
    .slice(0, SHOWN_BUTTONS)
    .map((domain) => button('watch_domain', `Watch ${domain}`, present([domain, date]).join(' ')));
  return actions('watch_instead', buttons);
}

/** The progress of an import. */
export function importProgress(done: number, total: number): KnownBlock[] {
  const filled = Math.round((done / Math.max(total, 1)) * 20);
  return [
    section(
      `Importing: ${done} of ${count(total, 'name')} so far.\n${'█'.repeat(filled)}${'░'.repeat(20 - filled)}`,
    ),
    context('Close this when you like. It goes on, and the report comes to you.'),
  ];
}

/** A name inside a sentence. */
export function formatName(asciiName: string): string {
  return `*${escapeText(displayName(asciiName))}*`;
}

/** Who did something, with the reason if there is one. */
export function byWhom(userId: string, reason: string | undefined): string {
  return `${mention(userId)}${reason === undefined ? '' : `: “${quote(reason, 500)}”`}`;
}

export function expiringUsage(maxDays: number): string {
  return `Give the days as one whole number up to ${maxDays}, such as \`/domain expiring 30\`.`;
}

/** Said instead of renewing by an old reminder. */
export function renewedSinceText(name: string, until: Day): string {
  return `${formatName(name)} was renewed since this reminder: it expires on ${formatDay(until)} now. To renew it all the same, type \`/domain renew ${name}\`.`;
}

export const NOTHING_TO_RENEW =
  'Nothing of this digest is left to renew: all was renewed or decided meanwhile.';

/** Said of a reminder whose name was taken off the watch list. */
export function doNotRenewText(name: string): string {
  return `Don’t renew ${formatName(name)} now: it is at another registrar and no order explains it. Settle that first: \`/domain name ${escapeText(name)}\`.`;
}

export function unwatchedSinceText(name: string): string {
  return `${formatName(name)} is not on the watch list any more. \`/domain watch ${escapeText(name)}\` puts it back.`;
}

/** Which names a menu offers to renew. @param most how many become one order */
export function renewHint(found: number, most: number): string {
  return found > LIMITS.options
    ? `The first ${LIMITS.options} of ${found} names. One order takes at most ${most}; the rest need another one.`
    : `One order takes at most ${most} names.`;
}

export function lapseText(name: string): string {
  return `${formatName(name)} is not renewed, and lost some time after it expires.`;
}
