import { DAY_MS } from '../lib/duration.ts';
import { calendarDay, dayNumber, numberedDay } from './calendar-day.ts';
import type { LifecycleProfile, ZoneProfile } from './zone.ts';

/**
 * Where a name stands in its life.
 *
 * - `registered`: before its expiry, nothing threatens it.
 * - `auto_renew_grace`: expired; a renewal still keeps it, the registrar can delete it.
 * - `redemption`: deleted; only a restore, which costs money, brings it back.
 * - `pending_delete`: nothing brings it back any more.
 * - `released`: anybody can register it.
 * - `expired`: past its expiry in a zone of which no periods are documented.
 * - `deleted`: deleted in such a zone; for how long a restore brings it back is not known.
 */
export type LifePhase =
  | 'registered'
  | 'auto_renew_grace'
  | 'redemption'
  | 'pending_delete'
  | 'released'
  | 'expired'
  | 'deleted';

/** One stretch of a name's life. */
export interface LifeStage {
  readonly phase: LifePhase;
  /** First moment of the stage; undefined when it has no beginning. */
  readonly from: Date | undefined;
  /** First moment after the stage; undefined when it has no end. */
  readonly until: Date | undefined;
  /** Last calendar day (YYYY-MM-DD, in the time zone that was asked for) that lies wholly before `until`. */
  readonly lastSafeDay: string | undefined;
}

/** A name's life, as far as its dates are known. */
export interface Lifecycle {
  /** The stage at the moment that was asked for. */
  readonly current: LifeStage;
  /** All stages in order. */
  readonly stages: readonly LifeStage[];
  /** The deletion is a fact; otherwise it is assumed for the end of the auto-renew grace. */
  readonly deletionKnown: boolean;
}

/** How far a deletion has gone, as registries show it. */
export type DeletionPhase = Extract<LifePhase, 'redemption' | 'pending_delete'>;

/** What is known about a name's end. */
export interface LifeDates {
  readonly expiresAt: Date;
  /** When the name was deleted, if it was. */
  readonly deletedAt?: Date | undefined;
  /** The phase of the deletion as the registry shows it. It wins over the dates. */
  readonly deletionPhase?: DeletionPhase | undefined;
}

/**
 * Follows a name through its life (service API, Domain lifecycle). Days are stretches of 24 hours after the
 * expiry or deletion.
 *
 * A deletion that is not known is assumed for the end of the auto-renew grace, the latest moment at which it can happen.
 * Every date that follows from it is then the latest possible one.
 * @param zone the zone's profile; without documented periods only `registered`, `expired` and `deleted` are told apart.
 * @param dates the expiry and, if known, the deletion.
 * @param now the moment to look at.
 * @param timeZone IANA name for the last safe days.
 */
export function lifecycleAt(zone: ZoneProfile, dates: LifeDates, now: Date, timeZone = 'UTC'): Lifecycle {
  const boundaries =
    zone.lifecycle === undefined ? undocumentedStarts(dates) : phaseStarts(zone.lifecycle, dates);
  const phases: readonly (readonly [LifePhase, Date | undefined])[] = [
    ['registered', undefined],
    ...boundaries,
  ];
  const stages = phases.map(([phase, from], index): LifeStage => {
    const until = phases[index + 1]?.[1];
    return { phase, from, until, lastSafeDay: until && dayBefore(until, timeZone) };
  });
  const [first, ...later] = stages;
  if (first === undefined) throw new Error('a life has at least the stage of being registered');
  const byDates = later.findLast(({ from }) => from !== undefined && from <= now) ?? first;
  const deletionKnown = dates.deletedAt !== undefined;
  const current = shownStage(zone, dates, byDates);
  if (current === undefined) return { current: byDates, stages, deletionKnown };
  // Nobody knows when it ends.
  return { current, stages: [...stages.slice(0, stages.indexOf(byDates)), current], deletionKnown };
}

/** The stage that the registry shows; undefined where it is the one that follows from the dates. */
function shownStage(
  zone: ZoneProfile,
  { deletedAt, deletionPhase }: LifeDates,
  byDates: LifeStage,
): LifeStage | undefined {
  if (deletedAt === undefined || deletionPhase === undefined) return undefined;
  const isUndocumented = zone.lifecycle === undefined && deletionPhase === 'redemption';
  const phase = isUndocumented ? 'deleted' : deletionPhase;
  return phase === byDates.phase
    ? undefined
    : { phase, from: deletedAt, until: undefined, lastSafeDay: undefined };
}

/**
 * Whether a name counts as deleted out of caution: its grace is over and no deletion is known. By the document it has
 * renewed itself (service API, Domain lifecycle).
 */
export function isDeletionAssumed({ current: { phase }, deletionKnown }: Lifecycle): boolean {
  return !deletionKnown && (phase === 'redemption' || phase === 'pending_delete' || phase === 'released');
}

type PhaseStart = readonly [LifePhase, Date];

function undocumentedStarts({ expiresAt, deletedAt }: LifeDates): readonly PhaseStart[] {
  if (deletedAt === undefined) return [['expired', expiresAt]];
  // A name that was deleted before its expiry never expires.
  return deletedAt <= expiresAt
    ? [['deleted', deletedAt]]
    : [
        ['expired', expiresAt],
        ['deleted', deletedAt],
      ];
}

function phaseStarts(periods: LifecycleProfile, { expiresAt, deletedAt }: LifeDates): readonly PhaseStart[] {
  const deletion = deletedAt ?? addDays(expiresAt, periods.autoRenewGraceDays);
  const pendingDelete = addDays(deletion, periods.redemptionDays);
  const released = addDays(pendingDelete, periods.pendingDeleteDays);
  const later: readonly PhaseStart[] = [
    ['redemption', deletion],
    ['pending_delete', pendingDelete],
    ['released', released],
  ];
  // A name that was deleted before its expiry never sees the grace.
  return deletion <= expiresAt ? later : [['auto_renew_grace', expiresAt], ...later];
}

function addDays(moment: Date, days: number): Date {
  return new Date(moment.getTime() + days * DAY_MS);
}

function dayBefore(moment: Date, timeZone: string): string {
  return numberedDay(dayNumber(calendarDay(moment, timeZone)) - 1);
}
