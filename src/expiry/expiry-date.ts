import type { RdapRegistration } from '../rdap/registration.ts';
import type { ZoneProfile } from '../zones/zone.ts';
import type { ExpirySource } from './days.ts';

/** What the watch list knows about one name's expiry. */
export interface KnownExpiry {
  readonly expiresAt: Date;
  readonly source: ExpirySource;
  /** The end after a renewal that was carried out. An earlier date in the registry's record is stale. */
  readonly renewedUntil?: Date;
}

const DAY_MS = 86_400_000;
/** An estimate is computed from the old expiry or the clock. The registry's date may lie a little before it. */
const ESTIMATE_SLACK_MS = 2 * DAY_MS;

/**
 * The expiry to go by after the registry's record was read. A record older than a renewal is stale and changes
 * nothing. A record in the auto-renew grace shows a year that the registry added by itself and that nobody has paid
 * for; the name still has its old end.
 * @param known what the list holds; undefined for a name without a date
 * @param record what the registry says
 * @param zone the name's zone
 * @param now the moment of the look-up
 */
export function mergeRegistryDate(
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

/** Adds calendar years. 29 February becomes the 28th, so that the result is never too late. */
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
