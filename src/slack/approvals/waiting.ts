import { toWatchedReminder } from '../../expiry/digest.ts';
import type { RenewalDays, WatchedDomain, WatchedReminder } from '../../expiry/ports.ts';
import { loadRenewalForecast, type RenewalForecast } from '../../mandates/overview.ts';
import { type DelayStage, listDelayStages } from '../../money/waiting.ts';
import { isAtForeignRegistrar } from '../../names/trust.ts';
import { formatCalendarDay } from '../../zones/calendar-day.ts';
import type { SlackContext } from '../context.ts';
import type { RenewalCapability } from '../expiry/due.view.ts';

type DatedName = Pick<
  WatchedReminder,
  'name' | 'expiresAt' | 'source' | 'renewedUntil' | 'deletedAt' | 'deletionPhase'
>;

/** @returns a function that lists the costs of waiting for a name; without a price list, there are none */
export async function loadWaitingCostCalculator(
  context: SlackContext,
): Promise<(watched: DatedName) => readonly DelayStage[]> {
  const [{ reminderTimezone }, prices] = await Promise.all([context.savedSettings(), context.prices.list()]);
  const now = context.now();
  return ({ name, expiresAt, source, renewedUntil, deletedAt, deletionPhase }) => {
    // A renewal that the registry doesn't show yet isn't a risk.
    const isRenewed = renewedUntil !== undefined && renewedUntil > expiresAt;
    const dates = isRenewed ? { expiresAt: renewedUntil } : { expiresAt, deletedAt, deletionPhase };
    // A date that a person entered is the same in every time zone.
    const timeZone = source === 'person' && !isRenewed ? 'UTC' : reminderTimezone;
    return prices.length === 0 ? [] : listDelayStages(prices, name, dates, { now, timeZone });
  };
}

/** @returns a function that lists the costs of waiting; a name without a known date has none */
export async function loadDomainWaitingCostCalculator(
  context: SlackContext,
): Promise<(listed: { readonly domain: WatchedDomain }) => readonly DelayStage[]> {
  const calculateSteps = await loadWaitingCostCalculator(context);
  return ({ domain }) => {
    const watched = toWatchedReminder(domain, []);
    return watched === undefined ? [] : calculateSteps(watched);
  };
}

/** Empty if the name isn't watched. */
export async function loadNameWaitingCosts(
  context: SlackContext,
  domain: WatchedDomain | undefined,
): Promise<readonly DelayStage[]> {
  return domain === undefined ? [] : (await loadDomainWaitingCostCalculator(context))({ domain });
}

export async function loadRenewalCapability({
  hasService,
  portfolio,
}: SlackContext): Promise<RenewalCapability> {
  const ownRegistrars = hasService ? await portfolio.listOwnRegistrars() : [];
  return { hasService, isAtOtherRegistrar: (registrar) => isAtForeignRegistrar(ownRegistrars, registrar) };
}

export function toRenewalDays({ renewals }: RenewalForecast, timeZone: string): RenewalDays {
  return new Map([...renewals].map(([name, at]) => [name, formatCalendarDay(at, timeZone)]));
}

export async function loadRenewalDays(
  { orders, savedSettings }: SlackContext,
  listed: readonly { readonly domain: Pick<WatchedDomain, 'name' | 'expiry'> }[],
): Promise<RenewalDays> {
  const names = listed.map(({ domain: { name, expiry } }) => ({ name, expiresAt: expiry?.at }));
  const [forecast, { reminderTimezone }] = await Promise.all([
    loadRenewalForecast(orders, names, 'system'),
    savedSettings(),
  ]);
  return toRenewalDays(forecast, reminderTimezone);
}
