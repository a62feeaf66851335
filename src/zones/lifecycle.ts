import { DAY_MS } from '../lib/duration.ts';
import { formatCalendarDay, formatDayNumber, parseDayNumber } from './calendar-day.ts';
import type { LifecycleProfile, ZoneProfile } from './zone.ts';

/**
 * - `registered`: before expiry.
 * - `auto_renew_grace`: after expiry; the name can be renewed, but the registrar may delete it.
 * - `redemption`: deleted; only a paid restore recovers the name.
 * - `pending_delete`: the name can't be recovered.
 * - `released`: anyone can register the name.
 * - `expired`: after expiry, in a zone without documented periods.
 * - `deleted`: deleted, in a zone without documented periods; the restore period is unknown.
 */
export type LifecyclePhase =
  | 'registered'
  | 'auto_renew_grace'
  | 'redemption'
  | 'pending_delete'
  | 'released'
  | 'expired'
  | 'deleted';

export interface LifecycleStage {
  readonly phase: LifecyclePhase;
  readonly from: Date | undefined;
  /** Exclusive; undefined if the stage has no end. */
  readonly until: Date | undefined;
  /** The last calendar day (YYYY-MM-DD, in the given time zone) that ends before `until`. */
  readonly lastSafeDay: string | undefined;
}

export interface Lifecycle {
  readonly current: LifecycleStage;
  readonly stages: readonly LifecycleStage[];
  /** False if the name is only assumed to be deleted at the end of the auto-renew grace period. */
  readonly isDeletionKnown: boolean;
}

/** Phases that registries publish. */
export type DeletionPhase = Extract<LifecyclePhase, 'redemption' | 'pending_delete'>;

export interface LifecycleDates {
  readonly expiresAt: Date;
  readonly deletedAt?: Date | undefined;
  /** The phase reported by the registry. Overrides the dates. */
  readonly deletionPhase?: DeletionPhase | undefined;
}

/**
 * See “Domain lifecycle” in the service's API documentation. Days are 24 hours, counted from the expiry or
 * deletion. An unknown deletion is assumed to happen at the latest possible time, the end of the auto-renew
 * grace period.
 * @param zone if it has no documented periods, the phases are only `registered`, `expired` and `deleted`
 * @param timeZone IANA name, for the last safe days
 */
export function computeLifecycle(
  zone: ZoneProfile,
  dates: LifecycleDates,
  now: Date,
  timeZone = 'UTC',
): Lifecycle {
  const phaseStarts =
    zone.lifecycle === undefined
      ? listStartsWithoutPeriods(dates)
      : listStartsWithPeriods(zone.lifecycle, dates);
  const phases: readonly (readonly [LifecyclePhase, Date | undefined])[] = [
    ['registered', undefined],
    ...phaseStarts,
  ];
  const stages = phases.map(([phase, from], index): LifecycleStage => {
    const until = phases[index + 1]?.[1];
    return { phase, from, until, lastSafeDay: until && getDayBefore(until, timeZone) };
  });
  const [firstStage, ...laterStages] = stages;
  if (firstStage === undefined) throw new Error('the lifecycle has no stages');
  const stageFromDates = laterStages.findLast(({ from }) => from !== undefined && from <= now) ?? firstStage;
  const isDeletionKnown = dates.deletedAt !== undefined;
  const current = findRegistryStage(zone, dates, stageFromDates);
  if (current === undefined) return { current: stageFromDates, stages, isDeletionKnown };
  // The registry doesn't publish when its phase ends.
  return { current, stages: [...stages.slice(0, stages.indexOf(stageFromDates)), current], isDeletionKnown };
}

/** @returns undefined if the dates imply the same phase */
function findRegistryStage(
  zone: ZoneProfile,
  { deletedAt, deletionPhase }: LifecycleDates,
  stageFromDates: LifecycleStage,
): LifecycleStage | undefined {
  if (deletedAt === undefined || deletionPhase === undefined) return undefined;
  const phase = zone.lifecycle === undefined && deletionPhase === 'redemption' ? 'deleted' : deletionPhase;
  return phase === stageFromDates.phase
    ? undefined
    : { phase, from: deletedAt, until: undefined, lastSafeDay: undefined };
}

/**
 * Whether the phase relies on an assumed deletion. To be safe, a name without a known deletion counts as
 * deleted after the grace period, although it has auto-renewed according to the API documentation.
 */
export function isDeletionAssumed({ current: { phase }, isDeletionKnown }: Lifecycle): boolean {
  return !isDeletionKnown && (phase === 'redemption' || phase === 'pending_delete' || phase === 'released');
}

type PhaseStart = readonly [LifecyclePhase, Date];

function listStartsWithoutPeriods({ expiresAt, deletedAt }: LifecycleDates): readonly PhaseStart[] {
  if (deletedAt === undefined) return [['expired', expiresAt]];
  // A name deleted before its expiry never expires.
  return deletedAt <= expiresAt
    ? [['deleted', deletedAt]]
    : [
        ['expired', expiresAt],
        ['deleted', deletedAt],
      ];
}

function listStartsWithPeriods(
  periods: LifecycleProfile,
  { expiresAt, deletedAt }: LifecycleDates,
): readonly PhaseStart[] {
  const deletionTime = deletedAt ?? addDays(expiresAt, periods.autoRenewGraceDays);
  const pendingDeleteTime = addDays(deletionTime, periods.redemptionDays);
  const releaseTime = addDays(pendingDeleteTime, periods.pendingDeleteDays);
  const laterStarts: readonly PhaseStart[] = [
    ['redemption', deletionTime],
    ['pending_delete', pendingDeleteTime],
    ['released', releaseTime],
  ];
  // A name deleted before its expiry has no grace period.
  return deletionTime <= expiresAt ? laterStarts : [['auto_renew_grace', expiresAt], ...laterStarts];
}

function addDays(moment: Date, days: number): Date {
  return new Date(moment.getTime() + days * DAY_MS);
}

function getDayBefore(moment: Date, timeZone: string): string {
  return formatDayNumber(parseDayNumber(formatCalendarDay(moment, timeZone)) - 1);
}
