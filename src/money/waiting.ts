import { formatCalendarDay } from '../zones/calendar-day.ts';
import { computeLifecycle, type LifecycleDates } from '../zones/lifecycle.ts';
import { findZoneProfile } from '../zones/rules.ts';
import type { Amount } from './amount.ts';
import { findQuote, type Price, type Quote } from './prices.ts';

/** The cost of delaying a renewal, according to the zone's dates and the price list. */

export type DelayStage =
  /** The name can be renewed. `until` is undefined if the zone's periods aren't documented. */
  | { readonly kind: 'renew'; readonly until: string | undefined; readonly renewal: Quote | undefined }
  /** The name has expired. A renewal may still work, but the name can be deleted any day. */
  | { readonly kind: 'at_own_risk'; readonly until: string; readonly renewal: Quote | undefined }
  /** The name was deleted. It can be restored, and must then be renewed. */
  | {
      readonly kind: 'restore';
      readonly until: string | undefined;
      readonly restore: Quote | undefined;
      readonly renewal: Quote | undefined;
    }
  /** The name can't be recovered. */
  | { readonly kind: 'lost' };

/** The current time and the time zone of the person who reads the text. */
export interface ReaderTime {
  readonly now: Date;
  /** IANA name. */
  readonly timeZone: string;
}

/**
 * @param name in ASCII
 * @returns only the current stage if the zone's periods aren't documented; empty if the name is available again
 */
export function listDelayStages(
  list: readonly Price[],
  name: string,
  dates: LifecycleDates,
  { now, timeZone }: ReaderTime,
): DelayStage[] {
  const zone = findZoneProfile(name);
  const { current, stages } = computeLifecycle(zone, dates, now, timeZone);
  const quoteRenewal = (day: string) => findQuote(list, { name, task: 'renew' }, day);
  const buildRestoreStage = (day: string, until: string | undefined): DelayStage => ({
    ...{ kind: 'restore', until, restore: findQuote(list, { name, task: 'restore' }, day) },
    renewal: quoteRenewal(day),
  });
  if (zone.lifecycle === undefined) {
    const today = formatCalendarDay(now, timeZone);
    if (current.phase === 'pending_delete') return [{ kind: 'lost' }];
    return current.phase === 'deleted'
      ? [buildRestoreStage(today, undefined)]
      : [{ kind: 'renew', until: undefined, renewal: quoteRenewal(today) }];
  }
  const remainingStages = stages.slice(stages.indexOf(current));
  const delayStages = remainingStages.flatMap(({ phase, from, lastSafeDay }): DelayStage[] => {
    const startDay = formatCalendarDay(from === undefined || from < now ? now : from, timeZone);
    if (phase === 'redemption') return [buildRestoreStage(startDay, lastSafeDay)];
    if (lastSafeDay === undefined) return [];
    switch (phase) {
      case 'registered':
        return [{ kind: 'renew', until: lastSafeDay, renewal: quoteRenewal(startDay) }];
      case 'auto_renew_grace':
        return [{ kind: 'at_own_risk', until: lastSafeDay, renewal: quoteRenewal(startDay) }];
      default:
        return [];
    }
  });
  return current.phase === 'released' ? [] : [...delayStages, { kind: 'lost' }];
}

/**
 * The highest cost of keeping the name: restore plus renewal or, if the name can't be restored, the renewal.
 * @returns undefined if no price is listed, or the two prices have different currencies
 */
export function computeCostAtRisk(stages: readonly DelayStage[]): Amount | undefined {
  const restoreStage = stages.findLast((step) => step.kind === 'restore');
  if (restoreStage === undefined) return stages.find((step) => step.kind !== 'lost')?.renewal?.amount;
  const { restore, renewal } = restoreStage;
  if (restore === undefined || renewal === undefined) return (restore ?? renewal)?.amount;
  const { currency, minor } = restore.amount;
  return renewal.amount.currency === currency ? { currency, minor: minor + renewal.amount.minor } : undefined;
}

/** Sorts by currency, most expensive first. Unknown costs come last. */
export function compareCostAtRisk(a: Amount | undefined, b: Amount | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  if (a.currency !== b.currency) return a.currency < b.currency ? -1 : 1;
  return b.minor - a.minor;
}
