import { type Day, daysBetween, expiryDay } from '../../expiry/days.ts';
import type { NamesToWatchProblem } from '../../expiry/import.ts';
import type { WatchedDomain } from '../../expiry/ports.ts';
import type { WatchedOutcome } from '../../expiry/watch-list.ts';
import { dropMissing } from '../../lib/collections.ts';
import { isDateless } from '../../names/dates.ts';
import { registrarName } from '../../names/facts.ts';
import type { KnownName } from '../../names/names.ts';
import { type Finding, levelOf } from '../../names/posture.ts';
import { calendarDay } from '../../zones/calendar-day.ts';
import {
  actions,
  button,
  capitalized,
  code,
  count,
  day,
  escapeText,
  lines,
  type Message,
  message,
  quote,
  section,
} from '../kit/blocks.ts';
import { formatDoubt } from '../names/doubt.view.ts';
import { findingText } from '../names/posture.view.ts';
import { DATE_OF_A_PERSON, DATELESS_STATE, datelessSentences } from './dateless.view.ts';
import { formatDay, formatDays, formatName, SOURCES, watchInstead } from './expiry.view.ts';
import { formatWatchRefusal } from './watch-list.view.ts';

/* Texts after adding or removing a name. */

const WATCH_USAGE =
  'Give up to 50 names, such as `/domain watch cafe.rest bar.rest`, or one with its expiry if you know it: `/domain watch cafe.rest 2027-03-01`.';
export const UNWATCH_USAGE = 'Give one name, such as `/domain unwatch cafe.rest`.';

export function watchListProblem(problem: NamesToWatchProblem): string {
  switch (problem.code) {
    case 'no_names':
      return WATCH_USAGE;
    case 'too_many_names':
      return `That’s more than ${problem.limit} names, so nothing was added. \`/domain import\` takes as many as you like.`;
    case 'date_of_many':
      return 'A date needs a single name, so nothing was added. `/domain import` takes many names with dates.';
  }
}

export function lookingText(names: number): string {
  return `:hourglass_flowing_sand: Looking up ${count(names, 'name')}. The result appears here within 30 seconds.`;
}

export interface WatchedResult {
  readonly text: string;
  readonly outcome: WatchedOutcome;
  readonly known?: KnownName | undefined;
  /** Worst first. */
  readonly findings?: readonly Finding[] | undefined;
}

interface WatchAnswer {
  /** As typed; passed on to the suggested domain. */
  readonly date: string | undefined;
  /** Where dates wait for confirmation. */
  readonly confirmations: readonly string[];
  readonly hasReminders: boolean;
  readonly isAdmin: boolean;
  readonly timeZone: string;
  readonly now: Date;
}

/** A line per name; for a single name, also what to do. */
export function watchedMessage(results: readonly WatchedResult[], answer: WatchAnswer): Message {
  const { date, confirmations, hasReminders, isAdmin } = answer;
  const isList = results.length > 1;
  const shown = results.map((each) => resultLines(each, answer, isList));
  const watched = results.filter(({ outcome }) => outcome.ok).length;
  const refusals = results.flatMap(({ outcome }) => (outcome.ok ? [] : [{ issue: outcome.refusal }]));
  const offer = watched > 0 && !hasReminders;
  return message(isList ? `${count(watched, 'name')} watched` : (shown[0]?.join(' ') ?? ''), [
    isList && section(`*${count(watched, 'name')} watched*`),
    ...lines([...shown.flat(), ...confirmations]),
    ...watchInstead(refusals, date),
    offer &&
      section(
        isAdmin
          ? 'There’s no reminder channel yet.'
          : 'There’s no reminder channel, so there are no reminders. An admin can set one with `/domain settings`.',
      ),
    ...actions('reminders', [
      offer && isAdmin && button('reminders_here', 'Send reminders here', 'here', { style: 'primary' }),
    ]),
  ]);
}

function resultLines(
  { text, outcome, known, findings = [] }: WatchedResult,
  answer: WatchAnswer,
  isList: boolean,
): string[] {
  if (!outcome.ok) {
    const why = escapeText(formatWatchRefusal(outcome.refusal));
    return [isList ? `:x: ${code(text)}: ${why}` : `Nothing was added to the watch list. ${why}`];
  }
  const { domain, known: wasWatched, dateNotTaken, waiting } = outcome;
  // The answer says who must confirm the date.
  if (!isList && waiting !== undefined) return [];
  const { timeZone, now } = answer;
  const lastDay = domain.expiry && expiryDay(domain.expiry.at, domain.expiry.source, timeZone);
  const daysLeft = lastDay === undefined ? undefined : daysBetween(calendarDay(now, timeZone), lastDay);
  const registrar = registrarName(known?.history.registrar?.current?.value ?? []) ?? domain.whois?.registrar;
  const problems = findProblems(findings);
  if (!isList) {
    const watched = {
      domain,
      wasWatched,
      lastDay,
      dns: isUndated(domain) ? known : undefined,
      dateNotTaken,
      now,
    };
    const left = daysLeft !== undefined && capitalized(formatDays(daysLeft));
    const details = dropMissing([left, registrar, ...problems]).join(' · ');
    return dropMissing([watchedText(watched), details !== '' && details]);
  }
  const when =
    lastDay === undefined || daysLeft === undefined || domain.expiry === undefined
      ? `expiry unknown${isDateless(domain) ? `: ${DATELESS_STATE}` : ''}`
      : `${daysLeft < 0 ? 'expired' : 'expires'} ${formatDay(lastDay)} (${formatDays(daysLeft)}), ${domain.expiry.source === 'rdap' ? 'by its registry' : SOURCES[domain.expiry.source]}`;
  const doubt =
    domain.doubt !== undefined && !isDateless(domain) && `:warning: ${quote(formatDoubt(domain.doubt))}`;
  return [dropMissing([formatName(domain.name), when, registrar, ...problems, doubt]).join(' · ')];
}

/** Worst first, without notes. Unknown dates have a separate sentence. */
function findProblems(findings: readonly Finding[]): string[] {
  return findings
    .filter(({ code: found }) => levelOf(found) !== 'note' && found !== 'undated')
    .map((finding) => findingText(finding));
}

export function unwatchedText(name: string): string {
  return `${formatName(name)} is no longer watched and gets no reminders. \`/domain watch ${name}\` adds it again.`;
}

/** Neither the registry nor people provide an expiry date. */
function isUndated(domain: WatchedDomain): boolean {
  return isDateless(domain) && domain.expiry === undefined;
}

interface Watched {
  readonly domain: WatchedDomain;
  readonly wasWatched: boolean;
  readonly lastDay: Day | undefined;
  readonly dns: KnownName | undefined;
  /** A typed date, ignored because the registry publishes one. */
  readonly dateNotTaken: Date | undefined;
  readonly now: Date;
}

function watchedText(watched: Watched): string {
  const { domain, wasWatched, dns, dateNotTaken } = watched;
  return dropMissing([
    `${formatName(domain.name)} is ${wasWatched ? 'already on the watch list' : 'on the watch list'}.`,
    ...(isUndated(domain) ? datelessSentences(domain.name, dns) : [formatDate(watched)]),
    isDateless(domain) && domain.expiry?.source === 'person' && DATE_OF_A_PERSON,
    dateNotTaken !== undefined && `Your date, ${day(dateNotTaken)}, isn’t needed.`,
    domain.doubt !== undefined &&
      !isDateless(domain) &&
      `Its registry lookup failed: ${quote(formatDoubt(domain.doubt))}. I’ll try again.`,
  ]).join(' ');
}

function formatDate({ domain: { name, expiry }, lastDay, now }: Watched): string {
  if (expiry === undefined || lastDay === undefined) {
    return `Its expiry isn’t known yet. If you know it: \`/domain watch ${name} 2027-03-01\`.`;
  }
  const when = formatDay(lastDay);
  const isOver = expiry.at < now;
  switch (expiry.source) {
    case 'rdap':
      return `It ${isOver ? 'expired' : 'expires'} ${when}, by its registry.`;
    case 'whois':
      return `It ${isOver ? 'expired' : 'expires'} ${when}, by WHOIS.`;
    case 'order':
      return `It expires about ${when}, estimated from the last order.`;
    case 'person':
      return isOver
        ? `It expired ${when}, by the date entered. If it’s wrong: \`/domain watch ${name} 2027-03-01\`.`
        : `It expires ${when}, by the date entered.`;
  }
}
