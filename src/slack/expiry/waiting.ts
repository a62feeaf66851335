import type { TeamSettings } from '../../config.ts';
import { asReminder } from '../../expiry/digest.ts';
import type { RenewalDays, WatchedDomain, WatchedReminder } from '../../expiry/ports.ts';
import type { Price } from '../../money/prices.ts';
import { costOfWaiting, type WaitingOptions, type WaitingStep } from '../../money/waiting.ts';
import { type Outlook, outlookOf } from '../../orders/mandates/overview.ts';
import { calendarDay } from '../../zones/calendar-day.ts';
import type { SlackDeps } from '../feature.ts';

/** The dates of a watched name. */
type Dated = Pick<WatchedReminder, 'name' | 'expiresAt' | 'source' | 'renewedUntil' | 'deletedAt'>;

/** What waiting costs for a watched name; nothing while the price list is empty. */
export function waitingWith(list: readonly Price[], watched: Dated, options: WaitingOptions): WaitingStep[] {
  const { name, expiresAt, source, renewedUntil, deletedAt } = watched;
  // A renewal that the registry does not show yet is no danger to the name.
  const isRenewed = renewedUntil !== undefined && renewedUntil > expiresAt;
  const dates = isRenewed ? { expiresAt: renewedUntil } : { expiresAt, deletedAt };
  // A day that a person gave is the same in every zone.
  const timeZone = source === 'person' && !isRenewed ? 'UTC' : options.timeZone;
  return list.length === 0 ? [] : costOfWaiting(list, name, dates, { ...options, timeZone });
}

export interface WaitingDeps extends Pick<SlackDeps, 'prices' | 'now'> {
  readonly settings: () => Promise<Pick<TeamSettings, 'reminderTimezone'>>;
}

/** What waiting costs for a name at this moment; nothing where its date is not known, or it is not watched. */
export async function waitingNow(
  deps: WaitingDeps,
  domain: WatchedDomain | undefined,
): Promise<readonly WaitingStep[]> {
  return domain === undefined ? [] : (await waitingOfListed(deps))({ domain });
}

/** The same for each name of a list. */
export async function waitingOfListed(
  deps: WaitingDeps,
): Promise<(listed: { readonly domain: WatchedDomain }) => readonly WaitingStep[]> {
  const [{ reminderTimezone: timeZone }, list] = await Promise.all([deps.settings(), deps.prices.list()]);
  const now = deps.now();
  return ({ domain }) => {
    const watched = asReminder(domain, []);
    return watched === undefined ? [] : waitingWith(list, watched, { now, timeZone });
  };
}

/** On which day mandates renew names, as people see it. */
export function renewalDays({ renewals }: Pick<Outlook, 'renewals'>, timeZone: string): RenewalDays {
  return new Map([...renewals].map(([name, at]) => [name, calendarDay(at, timeZone)]));
}

/** The same for the names of a list, at this moment. */
export async function renewalDaysOf(
  { mandates, settings }: Pick<SlackDeps, 'mandates' | 'settings'>,
  listed: readonly { readonly domain: Pick<WatchedDomain, 'name' | 'expiry'> }[],
): Promise<RenewalDays> {
  const names = listed.map(({ domain: { name, expiry } }) => ({ name, expiresAt: expiry?.at }));
  const [outlook, { reminderTimezone }] = await Promise.all([outlookOf(mandates, names), settings()]);
  return renewalDays(outlook, reminderTimezone);
}
