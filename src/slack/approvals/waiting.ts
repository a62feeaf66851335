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

/** The returned function lists what delaying a renewal costs. The list is empty without a price list. */
export async function loadWaitingCostCalculator(
  context: SlackContext,
): Promise<(watched: DatedName) => readonly DelayStage[]> {
  const [{ reminderTimezone }, prices] = await Promise.all([context.loadSettings(), context.prices.list()]);
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

/** The returned function returns an empty list for a name without a known date. */
export async function loadDomainWaitingCostCalculator(
  context: SlackContext,
): Promise<(listed: { readonly domain: WatchedDomain }) => readonly DelayStage[]> {
  const calculateWaitingCost = await loadWaitingCostCalculator(context);
  return ({ domain }) => {
    const reminder = toWatchedReminder(domain, []);
    return reminder === undefined ? [] : calculateWaitingCost(reminder);
  };
}

/** Returns an empty list if the name isn't watched. */
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

export function toRenewalDays({ renewalTimes }: RenewalForecast, timeZone: string): RenewalDays {
  return new Map([...renewalTimes].map(([name, renewsAt]) => [name, formatCalendarDay(renewsAt, timeZone)]));
}

export async function loadRenewalDays(
  { orders, loadSettings }: SlackContext,
  listedNames: readonly { readonly domain: Pick<WatchedDomain, 'name' | 'expiry'> }[],
): Promise<RenewalDays> {
  const names = listedNames.map(({ domain: { name, expiry } }) => ({ name, expiresAt: expiry?.at }));
  const [forecast, { reminderTimezone }] = await Promise.all([
    loadRenewalForecast(orders, names, 'system'),
    loadSettings(),
  ]);
  return toRenewalDays(forecast, reminderTimezone);
}
