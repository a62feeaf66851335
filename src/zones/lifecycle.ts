import { DAY_MS } from '../lib/duration.ts';
import { calendarDay, dayNumber, numberedDay } from './calendar-day.ts';
import type { LifecycleProfile, ZoneProfile } from './zone.ts';

/**
 * A name's phase.
 * - `registered`: before its expiry.
 * - `auto_renew_grace`: expired; it can be renewed, but the registrar may delete it.
 * - `redemption`: deleted; only a paid restore recovers it.
 * - `pending_delete`: can't be recovered.
 * - `released`: available to anyone.
 * - `expired`: past its expiry in a zone without documented periods.
 * - `deleted`: deleted in such a zone; how long it can be restored is unknown.
 */
export type LifePhase =
  | 'registered'
  | 'auto_renew_grace'
  | 'redemption'
  | 'pending_delete'
  | 'released'
  | 'expired'
  | 'deleted';

export interface LifeStage {
  readonly phase: LifePhase;
  /** Undefined: no beginning. */
  readonly from: Date | undefined;
  /** Exclusive. Undefined: no end. */
  readonly until: Date | undefined;
  /** Last calendar day (YYYY-MM-DD, in the given time zone) wholly before `until`. */
  readonly lastSafeDay: string | undefined;
}

export interface Lifecycle {
  readonly current: LifeStage;
  /** In order. */
  readonly stages: readonly LifeStage[];
  /** False: the deletion is assumed for the end of the auto-renew grace. */
  readonly deletionKnown: boolean;
}

/** As registries show it. */
export type DeletionPhase = Extract<LifePhase, 'redemption' | 'pending_delete'>;

/** Known dates of a name's end. */
export interface LifeDates {
  readonly expiresAt: Date;
  /** Undefined: not deleted, or unknown. */
  readonly deletedAt?: Date | undefined;
  /** The registry's phase. It wins over the dates. */
  readonly deletionPhase?: DeletionPhase | undefined;
}

/**
 * A name's life (service API, Domain lifecycle). Days are 24 hours after the expiry or deletion.
 * An unknown deletion is assumed for the end of the auto-renew grace, the latest possible moment; dates that follow
 * from it are the latest possible ones.
 * @param zone without documented periods only `registered`, `expired` and `deleted` are told apart.
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
  // Its end is unknown.
  return { current, stages: [...stages.slice(0, stages.indexOf(byDates)), current], deletionKnown };
}

/** Undefined when it equals the stage that follows from the dates. */
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
 * A name whose grace is over counts as deleted, to be safe, unless a deletion date is known. By the document it
 * renewed itself (service API, Domain lifecycle).
 */
export function isDeletionAssumed({ current: { phase }, deletionKnown }: Lifecycle): boolean {
  return !deletionKnown && (phase === 'redemption' || phase === 'pending_delete' || phase === 'released');
}

type PhaseStart = readonly [LifePhase, Date];

function undocumentedStarts({ expiresAt, deletedAt }: LifeDates): readonly PhaseStart[] {
  if (deletedAt === undefined) return [['expired', expiresAt]];
  // A name deleted before its expiry never expires.
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
  // A name deleted before its expiry skips the grace.
  return deletion <= expiresAt ? later : [['auto_renew_grace', expiresAt], ...later];
}

function addDays(moment: Date, days: number): Date {
  return new Date(moment.getTime() + days * DAY_MS);
}

function dayBefore(moment: Date, timeZone: string): string {
  return numberedDay(dayNumber(calendarDay(moment, timeZone)) - 1);
}
