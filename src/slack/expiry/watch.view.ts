import type { Day } from '../../expiry/days.ts';
import type { WatchedDomain } from '../../expiry/ports.ts';
import type { WatchRefusal } from '../../expiry/watch-list.ts';
import { present } from '../../lib/collections.ts';
import { isDateless } from '../../names/dates.ts';
import type { KnownName } from '../../names/names.ts';
import { day, escapeText, type Message, message, quote, section } from '../kit/blocks.ts';
import { formatDoubt } from '../names/doubt.view.ts';
import { DATE_OF_A_PERSON, datelessSentences } from './dateless.view.ts';
import { formatDay, formatName, watchInstead } from './expiry.view.ts';
import { formatWatchRefusal } from './watch-list.view.ts';

/* Texts after adding or removing a name. */

export const WATCH_USAGE =
  'Give one name, and its expiry if you know it, such as `/domain watch cafe.rest 2027-03-01`. Several names: `/domain import`.';
export const UNWATCH_USAGE = 'Give one name, such as `/domain unwatch cafe.rest`.';

/** @param date as typed; passed on to the suggested domain */
export function notWatchedMessage(refusal: WatchRefusal, date: string | undefined): Message {
  const text = `Nothing was added to the watch list. ${escapeText(formatWatchRefusal(refusal))}`;
  return message(text, [
    section(text),
    ...(refusal.code === 'invalid_name' ? watchInstead([{ issue: refusal }], date) : []),
  ]);
}

export function unwatchedText(name: string): string {
  return `${formatName(name)} is no longer watched and gets no reminders. \`/domain watch ${name}\` adds it again.`;
}

/** Neither registry nor people provide an expiry date. */
export function isUndated(domain: WatchedDomain): boolean {
  return isDateless(domain) && domain.expiry === undefined;
}

export interface Watched {
  readonly domain: WatchedDomain;
  readonly wasWatched: boolean;
  readonly lastDay: Day | undefined;
  readonly dns: KnownName | undefined;
  /** A typed date, ignored because the registry publishes one. */
  readonly dateNotTaken: Date | undefined;
  readonly hasReminders: boolean;
  readonly now: Date;
}

export function watchedText(watched: Watched): string {
  const { domain, wasWatched, dns, dateNotTaken, hasReminders } = watched;
  return present([
    `${formatName(domain.name)} is ${wasWatched ? 'already on the watch list' : 'on the watch list'}.`,
    ...(isUndated(domain) ? datelessSentences(domain.name, dns) : [formatDate(watched)]),
    isDateless(domain) && domain.expiry?.source === 'person' && DATE_OF_A_PERSON,
    dateNotTaken !== undefined && `Your date, ${day(dateNotTaken)}, isn’t needed.`,
    domain.doubt !== undefined &&
      !isDateless(domain) &&
      `Its registry lookup failed: ${quote(formatDoubt(domain.doubt))}. I’ll try again.`,
    !hasReminders &&
      'No reminder channel is set, so there are no reminders. An admin can set one with `/domain settings`.',
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
