import { DAY_MS } from '../lib/duration.ts';
import type { ExpirySource } from '../names/dates.ts';
import { formatCalendarDay, getUtcDay } from '../zones/calendar-day.ts';
import {
  computeLifecycle,
  type DeletionPhase,
  isDeletionAssumed,
  type Lifecycle,
  type LifecyclePhase,
} from '../zones/lifecycle.ts';
import { findZoneProfile } from '../zones/rules.ts';
import { countDaysBetween, type Day, getEffectiveExpiry, getExpiryDay, shiftDay } from './days.ts';
import { MARKS_AFTER_EXPIRY, MAX_DAYS_AFTER_EXPIRY } from './marks.ts';

/**
 * Plans the reminders that are due at a given time. The result depends only on the arguments, so repeated or
 * concurrent calls are harmless as long as sent reminders are recorded by name, expiry and threshold.
 */

export interface WatchedName {
  readonly name: string;
  readonly expiresAt: Date;
  readonly source: ExpirySource;
  /** After a renewal, the time until which the name is paid for, even if `expiresAt` is earlier. */
  readonly renewedUntil?: Date | undefined;
  readonly deletedAt?: Date | undefined;
  readonly deletionPhase?: DeletionPhase | undefined;
  readonly snoozedUntil?: Date | undefined;
  /** Whether two people have decided to let the name lapse. */
  readonly isLapsing?: boolean | undefined;
  readonly remindedThresholds: readonly number[];
}

export interface ReminderSchedule {
  readonly now: Date;
  /** Days before the expiry, in any order. */
  readonly thresholds: readonly number[];
  /** IANA name; determines the calendar days. */
  readonly timeZone: string;
}

export interface DueReminder<Watched extends WatchedName = WatchedName> {
  readonly watched: Watched;
  readonly name: string;
  /** The expiry day in UTC. It identifies the reminder, so it doesn't depend on the time zone setting. */
  readonly expiry: Day;
  /** Days before the expiry, or a negative number for a mark after it ({@link MARKS_AFTER_EXPIRY}). */
  readonly threshold: number;
  /** The expiry day as shown, from {@link getExpiryDay}. */
  readonly expiryDay: Day;
  /** Calendar days to `expiryDay`; negative after it. */
  readonly daysLeft: number;
  /** Whether `threshold` is the last one before the expiry. The digest then names who registered the name. */
  readonly isLastThreshold: boolean;
  readonly phase: LifecyclePhase;
  /** Whether the name is treated as deleted to be safe, although no deletion is known. */
  readonly isDeletionAssumed: boolean;
  /** The last whole day on which the phase's action is possible, such as the day before the expiry day. */
  readonly lastSafeDay: Day | undefined;
  /** Set in the grace period and in redemption. */
  readonly restoreUntil: Day | undefined;
  /** Whether the expiry is estimated from one of the bot's orders. */
  readonly isEstimated: boolean;
}

/** Lower is more urgent. Names that can't be saved come last. */
const URGENCY_RANKS: Readonly<Record<LifecyclePhase, number>> = {
  deleted: 0,
  redemption: 1,
  auto_renew_grace: 2,
  expired: 3,
  registered: 4,
  pending_delete: 5,
  released: 6,
};

/**
 * Returns the due reminders, most urgent first. A name gets at most one: for the smallest threshold that it
 * has passed, unless a reminder for that threshold or a smaller one was already sent for this expiry. Lapsing
 * and snoozed names get none. A snooze ends on the last safe day at the latest, and doesn't suppress the
 * reminder at the start of a phase after the expiry.
 * @param watchedNames names that can't be due may be left out
 */
export function planReminders<Watched extends WatchedName>(
  watchedNames: Iterable<Watched>,
  schedule: ReminderSchedule,
): DueReminder<Watched>[] {
  return [...findDueReminders(watchedNames, schedule)].sort(compareUrgency);
}

/** Like {@link planReminders}, but in the order of `watchedNames`, for lists that are read in batches. */
export function* findDueReminders<Watched extends WatchedName>(
  watchedNames: Iterable<Watched>,
  schedule: ReminderSchedule,
): Generator<DueReminder<Watched>> {
  const today = formatCalendarDay(schedule.now, schedule.timeZone);
  const thresholds = schedule.thresholds.toSorted((a, b) => a - b);
  for (const watchedName of watchedNames) {
    const reminder = watchedName.isLapsing
      ? undefined
      : planReminder(watchedName, today, thresholds, schedule);
    if (reminder) yield reminder;
  }
}

/** @returns the requested end, or the expiry if it is in the future and before the requested end */
export function computeSnoozeEnd(expiresAt: Date | undefined, days: number, now: Date): Date {
  const requestedEnd = new Date(now.getTime() + days * DAY_MS);
  return expiresAt !== undefined && expiresAt > now && expiresAt < requestedEnd ? expiresAt : requestedEnd;
}

function planReminder<Watched extends WatchedName>(
  watched: Watched,
  today: Day,
  thresholds: readonly number[],
  schedule: ReminderSchedule,
): DueReminder<Watched> | undefined {
  const { now, timeZone } = schedule;
  const expiresAt = getEffectiveExpiry(watched);
  const isRenewed = expiresAt > watched.expiresAt;
  const source = isRenewed ? 'order' : watched.source;
  const shownExpiryDay = getExpiryDay(expiresAt, source, timeZone);
  const daysLeft = countDaysBetween(today, shownExpiryDay);
  const deletedAt =
    !isRenewed && watched.deletedAt && watched.deletedAt <= now ? watched.deletedAt : undefined;

  const dates = { today, shownExpiryDay, daysLeft, expiresAt, deletedAt };
  const due =
    daysLeft >= 0 && deletedAt === undefined
      ? findThresholdBeforeExpiry(watched, dates, thresholds, schedule)
      : findThresholdAfterExpiry(watched, dates, schedule);
  // Assigning each field is much faster than a spread, which matters for long lists.
  return (
    due && {
      watched,
      name: watched.name,
      expiry: getUtcDay(expiresAt),
      threshold: due.threshold,
      expiryDay: shownExpiryDay,
      daysLeft,
      isLastThreshold: due.isLastThreshold,
      phase: due.phase,
      isDeletionAssumed: due.isDeletionAssumed,
      lastSafeDay: due.lastSafeDay,
      restoreUntil: due.restoreUntil,
      isEstimated: source === 'order',
    }
  );
}

interface ReminderDates {
  readonly today: Day;
  readonly shownExpiryDay: Day;
  readonly daysLeft: number;
  readonly expiresAt: Date;
  readonly deletedAt: Date | undefined;
}

type ReachedThreshold = Pick<
  DueReminder,
  'threshold' | 'isLastThreshold' | 'phase' | 'isDeletionAssumed' | 'lastSafeDay' | 'restoreUntil'
>;

function findThresholdBeforeExpiry(
  watched: WatchedName,
  { today, shownExpiryDay, daysLeft }: ReminderDates,
  thresholds: readonly number[],
  { timeZone }: ReminderSchedule,
): ReachedThreshold | undefined {
  const threshold = thresholds.find((days) => days >= daysLeft);
  if (threshold === undefined || wasReminded(watched, threshold)) return undefined;
  const lastSafeDay = shiftDay(shownExpiryDay, -1);
  if (isSnoozed(watched, today, lastSafeDay, timeZone)) return undefined;
  return {
    threshold,
    isLastThreshold: threshold === thresholds[0],
    phase: 'registered',
    isDeletionAssumed: false,
    lastSafeDay,
    restoreUntil: undefined,
  };
}

function findThresholdAfterExpiry(
  watched: WatchedName,
  { today, daysLeft, expiresAt, deletedAt }: ReminderDates,
  { now, timeZone }: ReminderSchedule,
): ReachedThreshold | undefined {
  if (daysLeft < -MAX_DAYS_AFTER_EXPIRY) return undefined;
  const dates = { expiresAt, deletedAt, deletionPhase: watched.deletionPhase };
  const lifecycle = computeLifecycle(findZoneProfile(watched.name), dates, now, timeZone);
  const { phase, lastSafeDay } = lifecycle.current;
  const mark = MARKS_AFTER_EXPIRY.findLast(
    ({ phase: markPhase, daysToSafeDay, daysAfterExpiry }) =>
      markPhase === phase &&
      (daysAfterExpiry === undefined || -daysLeft >= daysAfterExpiry) &&
      (daysToSafeDay === undefined ||
        (lastSafeDay !== undefined && countDaysBetween(today, lastSafeDay) <= daysToSafeDay)),
  );
  if (mark === undefined || wasReminded(watched, mark.threshold)) return undefined;
  const isPhaseStart = mark.daysToSafeDay === undefined && mark.daysAfterExpiry === undefined;
  if (!isPhaseStart && isSnoozed(watched, today, lastSafeDay, timeZone)) return undefined;
  return {
    threshold: mark.threshold,
    isLastThreshold: false,
    phase,
    isDeletionAssumed: isDeletionAssumed(lifecycle),
    lastSafeDay,
    restoreUntil: findLastRestoreDay(lifecycle),
  };
}

function wasReminded({ remindedThresholds }: WatchedName, threshold: number): boolean {
  return remindedThresholds.some((remindedThreshold) => remindedThreshold <= threshold);
}

/** A snooze that ends in the afternoon doesn't hide the name from the digest of that morning. */
function isSnoozed(
  { snoozedUntil }: WatchedName,
  today: Day,
  lastSafeDay: Day | undefined,
  timeZone: string,
): boolean {
  if (snoozedUntil === undefined || today >= formatCalendarDay(snoozedUntil, timeZone)) return false;
  return lastSafeDay === undefined || today < lastSafeDay;
}

function findLastRestoreDay({ current, stages }: Lifecycle): Day | undefined {
  if (current.phase !== 'auto_renew_grace' && current.phase !== 'redemption') return undefined;
  return stages.find(({ phase }) => phase === 'redemption')?.lastSafeDay;
}

/** Most urgent first. */
export function compareUrgency(a: DueReminder, b: DueReminder): number {
  return (
    URGENCY_RANKS[a.phase] - URGENCY_RANKS[b.phase] ||
    compareText(a.lastSafeDay ?? '', b.lastSafeDay ?? '') ||
    compareText(a.name, b.name)
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
