import { DAY_MS } from '../lib/duration.ts';
import { calendarDay, dayFromNumber, dayNumber } from './calendar-day.ts';
import type { LifecycleProfile, ZoneProfile } from './zone.ts';

/**
 * - `registered`: before the expiry.
 * - `auto_renew_grace`: after the expiry; it can be renewed, but the registrar may delete it.
 * - `redemption`: deleted; only a paid restore recovers it.
 * - `pending_delete`: it can't be recovered.
 * - `released`: anyone can register it.
 * - `expired`: after the expiry, in a zone without documented periods.
 * - `deleted`: deleted in such a zone; the restore period is unknown.
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
  readonly from: Date | undefined;
  /** Exclusive; undefined if the stage has no end. */
  readonly until: Date | undefined;
  /** The last calendar day (YYYY-MM-DD, in the given time zone) that ends before `until`. */
  readonly lastSafeDay: string | undefined;
}

export interface Lifecycle {
  readonly current: LifeStage;
  readonly stages: readonly LifeStage[];
  /** False if the deletion is only assumed, at the end of the auto-renew grace period. */
  readonly deletionKnown: boolean;
}

/** Phases that registries publish. */
export type DeletionPhase = Extract<LifePhase, 'redemption' | 'pending_delete'>;

export interface LifeDates {
  readonly expiresAt: Date;
  readonly deletedAt?: Date | undefined;
  /** The phase that the registry shows. It overrides the dates. */
  readonly deletionPhase?: DeletionPhase | undefined;
}

/**
 * The lifecycle of a name (service API, Domain lifecycle). Days are 24 hours, counted from the expiry or deletion. If
 * the deletion isn't known, it is assumed at the end of the auto-renew grace period, which is the latest possible time;
 * later dates depend on it.
 * @param zone if it has no documented periods, the phases are only `registered`, `expired` and `deleted`
 * @param timeZone IANA name, for the last safe days
 */
export function lifecycleAt(zone: ZoneProfile, dates: LifeDates, now: Date, timeZone = 'UTC'): Lifecycle {
  const boundaries =
    zone.lifecycle === undefined ? listUndocumentedStarts(dates) : listStarts(zone.lifecycle, dates);
  const phases: readonly (readonly [LifePhase, Date | undefined])[] = [
    ['registered', undefined],
    ...boundaries,
  ];
  const stages = phases.map(([phase, from], index): LifeStage => {
    const until = phases[index + 1]?.[1];
    return { phase, from, until, lastSafeDay: until && getDayBefore(until, timeZone) };
  });
  const [first, ...later] = stages;
  if (first === undefined) throw new Error('a lifecycle has at least one stage');
  const stageByDates = later.findLast(({ from }) => from !== undefined && from <= now) ?? first;
  const deletionKnown = dates.deletedAt !== undefined;
  const current = findRegistryStage(zone, dates, stageByDates);
  if (current === undefined) return { current: stageByDates, stages, deletionKnown };
  // The end of a phase that the registry shows is unknown.
  return { current, stages: [...stages.slice(0, stages.indexOf(stageByDates)), current], deletionKnown };
}

/** @returns undefined if the dates lead to the same stage */
function findRegistryStage(
  zone: ZoneProfile,
  { deletedAt, deletionPhase }: LifeDates,
  stageByDates: LifeStage,
): LifeStage | undefined {
  if (deletedAt === undefined || deletionPhase === undefined) return undefined;
  const isUndocumented = zone.lifecycle === undefined && deletionPhase === 'redemption';
  const phase = isUndocumented ? 'deleted' : deletionPhase;
  return phase === stageByDates.phase
    ? undefined
    : { phase, from: deletedAt, until: undefined, lastSafeDay: undefined };
}

/**
 * To be safe, a name without a known deletion date counts as deleted after the grace period, although the service API
 * says that it was renewed.
 */
export function isDeletionAssumed({ current: { phase }, deletionKnown }: Lifecycle): boolean {
  return !deletionKnown && (phase === 'redemption' || phase === 'pending_delete' || phase === 'released');
}

type PhaseStart = readonly [LifePhase, Date];

function listUndocumentedStarts({ expiresAt, deletedAt }: LifeDates): readonly PhaseStart[] {
  if (deletedAt === undefined) return [['expired', expiresAt]];
  // A name deleted before its expiry never expires.
  return deletedAt <= expiresAt
    ? [['deleted', deletedAt]]
    : [
        ['expired', expiresAt],
        ['deleted', deletedAt],
      ];
}

function listStarts(periods: LifecycleProfile, { expiresAt, deletedAt }: LifeDates): readonly PhaseStart[] {
  const deletion = deletedAt ?? addDays(expiresAt, periods.autoRenewGraceDays);
  const pendingDelete = addDays(deletion, periods.redemptionDays);
  const released = addDays(pendingDelete, periods.pendingDeleteDays);
  const later: readonly PhaseStart[] = [
    ['redemption', deletion],
    ['pending_delete', pendingDelete],
    ['released', released],
  ];
  // A name deleted before its expiry has no grace period.
  return deletion <= expiresAt ? later : [['auto_renew_grace', expiresAt], ...later];
}

function addDays(moment: Date, days: number): Date {
  return new Date(moment.getTime() + days * DAY_MS);
}

function getDayBefore(moment: Date, timeZone: string): string {
  return dayFromNumber(dayNumber(calendarDay(moment, timeZone)) - 1);
}
