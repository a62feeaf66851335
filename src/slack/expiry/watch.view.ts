import { countDaysBetween, type Day, getExpiryDay } from '../../expiry/days.ts';
import type { NamesToWatchProblem } from '../../expiry/import.ts';
import type { WatchedDomain } from '../../expiry/ports.ts';
import type { AddNameOutcome } from '../../expiry/watch-list.ts';
import { dropMissing } from '../../lib/collections.ts';
import { isDateless } from '../../names/dates.ts';
import { getRegistrarName } from '../../names/facts.ts';
import type { KnownName } from '../../names/names.ts';
import { type Finding, getLevel } from '../../names/posture.ts';
import { formatCalendarDay } from '../../zones/calendar-day.ts';
import {
  actions,
  button,
  code,
  escapeLine,
  escapeText,
  formatCount,
  formatUtcDate,
  lineSections,
  type Message,
  message,
  section,
} from '../kit/blocks.ts';
import { formatUnreliableDateReason } from '../names/doubt.view.ts';
import { findingText } from '../names/posture.view.ts';
import { DATELESS_STATE, datelessSentences, MANUAL_DATE_NOTE } from './dateless.view.ts';
import {
  EXPIRY_SOURCE_TEXTS,
  formatDay,
  formatDaysLeft,
  formatName,
  watchDomainButtons,
} from './expiry.view.ts';
import { formatWatchRefusal } from './watch-list.view.ts';

const WATCH_USAGE =
  'Enter up to 50 names, such as `/domain watch cafe.rest bar.rest`, or one name with its expiry date: `/domain watch cafe.rest 2027-03-01`.';
export const UNWATCH_USAGE = 'Enter one name, such as `/domain unwatch cafe.rest`.';

export function watchProblemText(problem: NamesToWatchProblem): string {
  switch (problem.code) {
    case 'no_names':
      return WATCH_USAGE;
    case 'too_many_names':
      return `Nothing was added, because you can add at most ${problem.limit} names at a time. For more names, use \`/domain import\`.`;
    case 'date_with_many_names':
      return 'Nothing was added, because you can enter a date only for a single name. For many names with dates, use `/domain import`.';
  }
}

export function lookingUpText(nameCount: number): string {
  return `:hourglass_flowing_sand: Looking up ${formatCount(nameCount, 'name')}. Results will appear here within 30 seconds.`;
}

export interface WatchResult {
  readonly text: string;
  readonly outcome: AddNameOutcome;
  readonly knownName?: KnownName | undefined;
  /** Worst first. */
  readonly findings?: readonly Finding[] | undefined;
}

interface WatchReplyContext {
  /** The date as entered. */
  readonly enteredDate: string | undefined;
  /** Sentences that say who must confirm changed dates. */
  readonly confirmationTexts: readonly string[];
  readonly hasReminders: boolean;
  readonly isAdmin: boolean;
  readonly timeZone: string;
  readonly now: Date;
}

/** Shows one line per name, or more details if there is only one name. */
export function watchResultMessage(
  results: readonly WatchResult[],
  replyContext: WatchReplyContext,
): Message {
  const { enteredDate, confirmationTexts, hasReminders, isAdmin } = replyContext;
  const isList = results.length > 1;
  const lineGroups = results.map((result) => resultLines(result, replyContext, isList));
  const watchedCount = results.filter(({ outcome }) => outcome.ok).length;
  const refusals = results.flatMap(({ outcome }) => (outcome.ok ? [] : [{ issue: outcome.refusal }]));
  const offersReminders = watchedCount > 0 && !hasReminders;
  return message(isList ? `${formatCount(watchedCount, 'name')} watched` : (lineGroups[0]?.join(' ') ?? ''), [
    isList && section(`*${formatCount(watchedCount, 'name')} watched*`),
    ...lineSections([...lineGroups.flat(), ...confirmationTexts]),
    ...watchDomainButtons(refusals, enteredDate),
    offersReminders &&
      section(
        isAdmin
          ? 'There’s no reminder channel yet.'
          : 'You won’t get reminders, because there’s no reminder channel. Ask an admin to set one with `/domain settings`.',
      ),
    ...actions('reminders', [
      offersReminders &&
        isAdmin &&
        button('reminders_here', 'Send reminders here', 'here', { style: 'primary' }),
    ]),
  ]);
}

function resultLines(
  { text, outcome, knownName, findings = [] }: WatchResult,
  replyContext: WatchReplyContext,
  isList: boolean,
): string[] {
  if (!outcome.ok) {
    const refusalText = escapeText(formatWatchRefusal(outcome.refusal));
    return [
      isList ? `:x: ${code(text)}: ${refusalText}` : `I added nothing to the watch list. ${refusalText}`,
    ];
  }
  const { domain, wasWatched, ignoredDate, proposal } = outcome;
  // The confirmation sentence already describes the change.
  if (!isList && proposal !== undefined) return [];
  const { timeZone, now } = replyContext;
  const lastDay = domain.expiry && getExpiryDay(domain.expiry.at, domain.expiry.source, timeZone);
  const daysLeft =
    lastDay === undefined ? undefined : countDaysBetween(formatCalendarDay(now, timeZone), lastDay);
  const registrar =
    getRegistrarName(knownName?.history.registrar?.current?.value ?? []) ?? domain.whois?.registrar;
  const problems = problemTexts(findings);
  if (!isList) {
    const isDeleted = findings.some(({ code: findingCode }) => findingCode === 'expired');
    const watchedName = { domain, wasWatched, lastDay, daysLeft, knownName, ignoredDate, isDeleted, now };
    const details = dropMissing([registrar && `Registrar: ${registrar}`, ...problems]).join(' · ');
    return dropMissing([watchedNameText(watchedName), details !== '' && details]);
  }
  const expiryText =
    lastDay === undefined || daysLeft === undefined || domain.expiry === undefined
      ? `expiry unknown${isDateless(domain) ? `: ${DATELESS_STATE}` : ''}`
      : `${daysLeft < 0 ? 'expired' : 'expires'} ${formatDay(lastDay)} (${formatDaysLeft(daysLeft)}), ${domain.expiry.source === 'rdap' ? 'from the registry' : EXPIRY_SOURCE_TEXTS[domain.expiry.source]}`;
  const doubt =
    domain.doubt !== undefined &&
    !isDateless(domain) &&
    `:warning: ${escapeLine(formatUnreliableDateReason(domain.doubt))}`;
  return [dropMissing([formatName(domain.name), expiryText, registrar, ...problems, doubt]).join(' · ')];
}

/** Leaves out notes, and `undated`, which has its own sentence. */
function problemTexts(findings: readonly Finding[]): string[] {
  return findings
    .filter(({ code: findingCode }) => getLevel(findingCode) !== 'note' && findingCode !== 'undated')
    .map((finding) => findingText(finding));
}

export function unwatchedText(name: string): string {
  return `${formatName(name)} is no longer watched and gets no reminders. To add it again, use \`/domain watch ${name}\`.`;
}

/** Whether neither the registry nor a person has provided an expiry date. */
function isUndated(domain: WatchedDomain): boolean {
  return isDateless(domain) && domain.expiry === undefined;
}

interface WatchedName {
  readonly domain: WatchedDomain;
  readonly wasWatched: boolean;
  readonly lastDay: Day | undefined;
  readonly daysLeft: number | undefined;
  readonly knownName: KnownName | undefined;
  /** The entered date, if it was ignored because the registry publishes one. */
  readonly ignoredDate: Date | undefined;
  readonly isDeleted: boolean;
  readonly now: Date;
}

function watchedNameText(watchedName: WatchedName): string {
  const { domain, wasWatched, ignoredDate } = watchedName;
  return dropMissing([
    `${formatName(domain.name)} is ${wasWatched ? 'already' : 'now'} on the watch list.`,
    ...(isUndated(domain) ? undatedSentences(watchedName) : [expirySentence(watchedName)]),
    isDateless(domain) && domain.expiry?.source === 'person' && MANUAL_DATE_NOTE,
    ignoredDate !== undefined && `I ignored your date, ${formatUtcDate(ignoredDate)}.`,
    domain.doubt !== undefined &&
      !isDateless(domain) &&
      `${escapeLine(formatUnreliableDateReason(domain.doubt))}. I’ll try again.`,
  ]).join(' ');
}

function undatedSentences({ domain: { name }, isDeleted, knownName }: WatchedName): string[] {
  return isDeleted
    ? [`The registry shows it as deleted. To see how to get it back, use \`/domain name ${name}\`.`]
    : datelessSentences(name, knownName);
}

function expirySentence({ domain: { name, expiry }, lastDay, daysLeft, now }: WatchedName): string {
  if (expiry === undefined || lastDay === undefined || daysLeft === undefined) {
    return `I don’t know its expiry date yet. If you know it, enter it: \`/domain watch ${name} 2027-03-01\`.`;
  }
  const dateText = `${formatDay(lastDay)} (${formatDaysLeft(daysLeft)})`;
  const isExpired = expiry.at < now;
  switch (expiry.source) {
    case 'rdap':
      return `It ${isExpired ? 'expired' : 'expires'} ${dateText}, according to the registry.`;
    case 'whois':
      return `It ${isExpired ? 'expired' : 'expires'} ${dateText}, according to WHOIS.`;
    case 'order':
      return `It expires about ${dateText}, estimated from the last order.`;
    case 'person':
      return isExpired
        ? `It expired ${dateText}, date entered manually. To correct it, use \`/domain watch ${name} 2027-03-01\`.`
        : `It expires ${dateText}, date entered manually.`;
  }
}
