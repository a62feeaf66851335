import type { ZoneProfile } from '../zones/zone.ts';
import type { ExpirySource } from './days.ts';
import type { RdapRegistration } from './rdap-answer.ts';

/** What the watch list knows about one name's expiry. */
export interface KnownExpiry {
  readonly expiresAt: Date;
  readonly source: ExpirySource;
  /** A renewal was carried out: an earlier date in the registry's record is stale. */
  readonly renewedUntil?: Date;
}

const DAY_MS = 86_400_000;
/** An estimate is made from the old expiry or the clock; the registry's date may lie a little before it. */
const ESTIMATE_SLACK_MS = 2 * DAY_MS;

/**
 * The date until which a name is paid for after an order succeeded; an estimate, until the registry shows its own.
 *
 * @param task what succeeded.
 * @param known the expiry before, if there was one.
 * @param years the order's period; 1 where the task has none.
 * @param doneAt when the service said that it is done.
 * @returns undefined when nothing can be said: a renewal of a name whose expiry was not known, a restore.
 */
export function estimateExpiry(
  task: 'create' | 'transfer' | 'renew' | 'restore',
  known: Date | undefined,
  years: number,
  doneAt: Date,
): Date | undefined {
  switch (task) {
    case 'create':
      return addYears(doneAt, years);
    case 'renew':
    case 'transfer':
      return known && addYears(known, years);
    case 'restore':
      return undefined;
    default:
      return task satisfies never;
  }
}

/**
 * What to believe after the registry's record was read.
 *
 * A record older than a renewal is stale and changes nothing. A record in the auto-renew grace shows a year that the
 * registry added by itself and nobody has paid for; the name is still at its old end.
 *
 * @param known what the list holds; undefined for a name without a date.
 * @param record what the registry says.
 * @param zone the name's zone.
 * @param now the moment of the look-up.
 */
export function believeRegistry(
  known: KnownExpiry | undefined,
  record: RdapRegistration,
  zone: ZoneProfile,
  now: Date,
): KnownExpiry {
  const observed = record.expiresAt;
  const renewedUntil = known?.renewedUntil;
  if (known && renewedUntil) {
    if (observed.getTime() < renewedUntil.getTime() - ESTIMATE_SLACK_MS) return known;
    return { expiresAt: observed, source: 'rdap' };
  }
  return { expiresAt: unpaidYearTakenOff(record, zone, now), source: 'rdap' };
}

/** Adds calendar years; 29 February becomes the 28th, which is never too late. */
export function addYears(moment: Date, years: number): Date {
  const shifted = new Date(moment);
  shifted.setUTCFullYear(moment.getUTCFullYear() + years);
  if (shifted.getUTCMonth() !== moment.getUTCMonth()) shifted.setUTCDate(0);
  return shifted;
}

function unpaidYearTakenOff(record: RdapRegistration, zone: ZoneProfile, now: Date): Date {
  const graceDays = zone.lifecycle?.autoRenewGraceDays ?? 45;
  const before = addYears(record.expiresAt, -1);
  const inGrace = before <= now && now.getTime() < before.getTime() + (graceDays + 1) * DAY_MS;
  return record.statuses.includes('auto renew period') && inGrace ? before : record.expiresAt;
}
