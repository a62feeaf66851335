import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../lib/duration.ts';
import { hasUnconfirmedChange, type NameHistory } from './history.ts';

/**
 * Names that may be lost soon are looked up every few hours. The others are looked up daily in DNS and weekly
 * at their registry, within each registry's budget.
 */

export interface ScheduledName {
  readonly expiresAt: Date | undefined;
  readonly isGuarded: boolean;
  /** Whether the name has an open order or a pending change. */
  readonly isChanging: boolean;
  /** Whether a second lookup must confirm a change. */
  readonly hasUnconfirmedChange: boolean;
}

export type LookupKind = 'dns' | 'registry';

const URGENT_BEFORE_EXPIRY_MS = 60 * DAY_MS;
const URGENT_AFTER_EXPIRY_MS = 120 * DAY_MS;
const CONFIRMATION_DELAY_MS = 30 * MINUTE_MS;
/** For registry lookups. Even if shortened by {@link MAX_SPREAD}, exceeds the minimum sighting interval. */
const GUARDED_CONFIRMATION_DELAY_MS = 76 * SECOND_MS;
const URGENT_INTERVAL_MS = 4 * HOUR_MS;
const ROUTINE_INTERVAL_MS: Readonly<Record<LookupKind, number>> = { dns: DAY_MS, registry: 7 * DAY_MS };
/** Intervals are shortened by up to this fraction, so that imported names aren't all due together. */
const MAX_SPREAD = 0.2;
const CHANGING_STATUS = /^pending |^redemption period$/;

/** Whether the name is looked up before others. */
export function isUrgent(name: ScheduledName, now: Date): boolean {
  return name.isGuarded || name.isChanging || name.hasUnconfirmedChange || isNearExpiry(name, now);
}

/** @param random in [0, 1). */
export function scheduleNextLookup(kind: LookupKind, name: ScheduledName, now: Date, random: number): Date {
  if (name.hasUnconfirmedChange) {
    const isFastLookup = name.isGuarded && kind === 'registry';
    return addSpreadInterval(
      now,
      isFastLookup ? GUARDED_CONFIRMATION_DELAY_MS : CONFIRMATION_DELAY_MS,
      random,
    );
  }
  if (isUrgent(name, now)) return addSpreadInterval(now, URGENT_INTERVAL_MS, random);
  const next = addSpreadInterval(now, ROUTINE_INTERVAL_MS[kind], random);
  const urgentFrom =
    name.expiresAt === undefined
      ? Number.POSITIVE_INFINITY
      : name.expiresAt.getTime() - URGENT_BEFORE_EXPIRY_MS;
  return urgentFrom > now.getTime() && urgentFrom < next.getTime() ? new Date(urgentFrom) : next;
}

/** Detects changes that a status announces, and changes that a second lookup must confirm. */
export function detectPendingChanges(history: NameHistory) {
  const { current, candidate } = history.statuses ?? {};
  const statuses = [...(current?.value ?? []), ...(candidate?.value ?? [])];
  return {
    isChanging: statuses.some((status) => CHANGING_STATUS.test(status)),
    hasUnconfirmedChange: hasUnconfirmedChange(history),
  };
}

function isNearExpiry({ expiresAt }: ScheduledName, now: Date): boolean {
  if (expiresAt === undefined) return false;
  const msLeft = expiresAt.getTime() - now.getTime();
  return msLeft <= URGENT_BEFORE_EXPIRY_MS && msLeft > -URGENT_AFTER_EXPIRY_MS;
}

function addSpreadInterval(now: Date, intervalMs: number, random: number): Date {
  return new Date(now.getTime() + intervalMs * (1 - random * MAX_SPREAD));
}

export interface LookupPlanner {
  /**
   * @param registry the key of the registry's budget
   * @returns now, or the earliest time within the budget
   */
  reserve(registry: string, isUrgentName: boolean, now: Date): Date;
}

/** Share of the budget that is reserved for urgent lookups. */
const URGENT_SHARE = 0.5;
/** After idle time, this much of the budget is available at once, so that a new list is looked up quickly. */
const BURST_MS = 30_000;

/**
 * Keeps two times per registry, and no state per name. Lookups must be reserved in order of their
 * due times.
 * @param lookupsPerHour per registry
 */
export function createLookupPlanner(lookupsPerHour: number): LookupPlanner {
  const nextTimesByRegistry = new Map<string, { urgent: number; routine: number }>();
  return {
    reserve(registry, isUrgentName, now) {
      const nextTimes = nextTimesByRegistry.get(registry) ?? { urgent: 0, routine: 0 };
      const priority = isUrgentName ? 'urgent' : 'routine';
      const share = isUrgentName ? URGENT_SHARE : 1 - URGENT_SHARE;
      const intervalMs = HOUR_MS / (lookupsPerHour * share);
      const availableFrom = Math.max(now.getTime(), nextTimes[priority]);
      nextTimes[priority] = availableFrom + intervalMs;
      nextTimesByRegistry.set(registry, nextTimes);
      return new Date(Math.max(now.getTime(), availableFrom - BURST_MS));
    },
  };
}
