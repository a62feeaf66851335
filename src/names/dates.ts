import { DAY_MS, HOUR_MS } from '../lib/duration.ts';
import { deletionPhaseOf } from '../registry/rdap/status.ts';
import type { DeletionPhase } from '../zones/lifecycle.ts';
import { zoneFor } from '../zones/rules.ts';
import type { ZoneProfile } from '../zones/zone.ts';
import type { Facts } from './facts.ts';
import type { RecordProblem, Registration, RegistryLook } from './registry-record.ts';
import { type Distrust, distrustOf, type TrustedRecord, trustAfter } from './trust.ts';

/*
 * When the registration of a name ends, by all that is known: the registry's record, what orders did and what people
 * said. Each look and each order gives the next dates out of the former ones; the observations of a name give them all.
 */

/** Where an expiry date comes from: the registry, the bot's own order (an estimate), or a person. */
export type ExpirySource = 'rdap' | 'order' | 'person';

/** Why the registry's record does not give the date that counts. */
export type DateDoubt =
  | { readonly code: 'not_registered' }
  | { readonly code: 'undated'; readonly problem: RecordProblem }
  /** The date moved as in a transfer that nobody asked for. */
  | { readonly code: 'distrusted'; readonly distrust: Distrust; readonly movedTo: Date }
  /** A renewal was carried out long ago, and the record shows an earlier date still. */
  | { readonly code: 'renewal_not_shown'; readonly shown: Date };

/** What is known of the end of a registration. */
export interface NameDates {
  /** The date that counts and where it comes from; undefined while no date is known. */
  readonly expiry:
    | {
        readonly at: Date;
        readonly source: ExpirySource;
        /** Slack user id of the person who gave it. */
        readonly by?: string;
      }
    | undefined;
  /** The former end, and when a look at the registry first showed a later one; undefined while none has. */
  readonly moved: { readonly from: Date; readonly at: Date } | undefined;
  /** A renewal that the registry does not show yet: earlier dates of its record are stale. */
  readonly renewed: { readonly until: Date; readonly at: Date } | undefined;
  /** The registrar whose dates are trusted; undefined while no record was read. */
  readonly trusted: TrustedRecord | undefined;
  readonly deletedAt: Date | undefined;
  /** How far the deletion has gone by the last record that showed it. */
  readonly deletionPhase: DeletionPhase | undefined;
  /** Undefined when the last look at the registry gave the date. */
  readonly doubt: DateDoubt | undefined;
  /** When the registry was last asked. */
  readonly lookedAt: Date | undefined;
}

export interface DatedOrder {
  readonly task: 'create' | 'renew' | 'transfer' | 'delete' | 'restore';
  readonly years: number;
  /** When its request was sent. */
  readonly sentAt: Date;
  readonly doneAt: Date;
}

const DEFAULT_GRACE_DAYS = 45;
/** A registry's record may be behind a deletion by this much. */
const DELETION_DELAY_MS = HOUR_MS;
/** The registry shows a renewal within hours. After this long it does not seem to know of it. */
export const DISPUTE_DAYS = 14;
/** A date that moves forward by more than this is a new end of the name, not a better date for the same end. */
const NEW_END_MS = 30 * DAY_MS;
/** An estimate is computed from the old expiry or the clock. The registry's date may lie a little before it. */
const ESTIMATE_SLACK_MS = 2 * DAY_MS;

export const NO_DATES: NameDates = {
  expiry: undefined,
  moved: undefined,
  renewed: undefined,
  trusted: undefined,
  deletedAt: undefined,
  deletionPhase: undefined,
  doubt: undefined,
  lookedAt: undefined,
};

export function datesAfterLook(before: NameDates, { name, at: now, facts, result }: RegistryLook): NameDates {
  const known = { ...before, lookedAt: now };
  if (result.kind === 'not_registered')
    return { ...known, deletionPhase: undefined, doubt: { code: 'not_registered' } };
  if (result.kind === 'unread') return { ...known, doubt: { code: 'undated', problem: result.problem } };

  const { registration } = result;
  const distrust = distrustOf(known.trusted, registration, now);
  const looked = {
    ...known,
    trusted: distrust === undefined ? trustAfter(known.trusted, registration, now) : known.trusted,
    ...deletionOf(registration, before, zoneFor(name), now),
  };
  const { expiresAt } = registration;
  if (expiresAt === undefined) return { ...looked, doubt: undatedBy(facts) };
  const { renewed } = known;
  // A record that is older than a renewal is stale and changes nothing.
  if (renewed !== undefined && expiresAt.getTime() < renewed.until.getTime() - ESTIMATE_SLACK_MS) {
    const isLongAgo = now.getTime() - renewed.at.getTime() > DISPUTE_DAYS * DAY_MS;
    const doubt = { code: 'renewal_not_shown', shown: expiresAt } as const;
    return { ...looked, doubt: isLongAgo ? doubt : undefined };
  }
  const at = renewed === undefined ? paidUntil(expiresAt, registration, zoneFor(name), now) : expiresAt;
  const after: NameDates = {
    ...looked,
    expiry: { at, source: 'rdap' },
    renewed: undefined,
    doubt: undefined,
  };
  if (known.expiry === undefined || !hasNewEnd(known, after)) return after;
  // The name keeps its old end, so that reminders go on.
  return distrust !== undefined
    ? { ...looked, doubt: { code: 'distrusted', distrust, movedTo: expiresAt } }
    : { ...after, moved: { from: known.expiry.at, at: now } };
}

export function datesAfterOrder(
  known: NameDates,
  name: string,
  { task, years, sentAt, doneAt }: DatedOrder,
): NameDates {
  switch (task) {
    case 'create':
      return {
        ...NO_DATES,
        lookedAt: known.lookedAt,
        expiry: { at: addYears(doneAt, years), source: 'order' },
        // Any registrar that the record of the new registration names first is trusted.
        trusted: { registrar: undefined, at: doneAt, transferKnownAt: undefined },
      };
    case 'renew': {
      if (isShownAlready(known, years, sentAt)) return known;
      const until = estimatedEnd(known, name, years, doneAt);
      const expiry = { at: until, source: 'order' } as const;
      return { ...known, expiry, renewed: { until, at: doneAt }, doubt: undefined };
    }
    case 'transfer': {
      // A transfer takes days and may be refused, so a date of the registry stays until its record shows another.
      const expected = { ...withTransferKnown(known, doneAt), doubt: undefined };
      if (known.expiry?.source === 'rdap') return expected;
      return { ...expected, expiry: { at: estimatedEnd(known, name, years, doneAt), source: 'order' } };
    }
    case 'delete':
      return { ...known, deletedAt: doneAt, deletionPhase: undefined };
    case 'restore':
      // The service has only accepted it, so the name counts as deleted until the registry shows it restored.
      return known;
  }
}

/** The dates after a person has said that a transfer was the team's: the registrar that is seen next is trusted. */
export function datesAfterTransferConfirmed(known: NameDates, at: Date): NameDates {
  return { ...known, trusted: { registrar: undefined, at, transferKnownAt: at } };
}

/** Whether a name has got a new end, so that what was decided about the old one is over. */
export function hasNewEnd(before: NameDates, after: NameDates): boolean {
  if (before.expiry === undefined || after.expiry === undefined) return false;
  return after.expiry.at.getTime() - before.expiry.at.getTime() > NEW_END_MS;
}

/** Adds calendar years. 29 February becomes the 28th, so that the result is never too late. */
export function addYears(moment: Date, years: number): Date {
  const shifted = new Date(moment);
  shifted.setUTCFullYear(moment.getUTCFullYear() + years);
  if (shifted.getUTCMonth() !== moment.getUTCMonth()) shifted.setUTCDate(0);
  return shifted;
}

type Deletion = Pick<NameDates, 'deletedAt' | 'deletionPhase'>;

/**
 * When a name was deleted, by its record. A record without the moment of its deletion counts from the earliest moment
 * possible, so that no restore is promised for too long: the last record without a deletion, else as long ago as its phase
 * can last. A record without statuses shows nothing.
 */
function deletionOf(
  { deletedAt, statuses }: Registration,
  before: NameDates,
  zone: ZoneProfile,
  now: Date,
): Deletion {
  if (statuses === undefined) return { deletedAt: before.deletedAt, deletionPhase: before.deletionPhase };
  const deletionPhase = deletionPhaseOf(statuses);
  const assumed =
    deletionPhase === undefined
      ? deletionNotShownYet(before, now)
      : (before.deletedAt ?? lastRecordAt(before) ?? earliestDeletion(zone, deletionPhase, now));
  return { deletedAt: deletedAt ?? assumed, deletionPhase };
}

/** When the registry was last asked, if it gave a record. */
function lastRecordAt({ doubt, lookedAt }: NameDates): Date | undefined {
  if (doubt?.code === 'not_registered') return undefined;
  const wasRead =
    doubt?.code !== 'undated' || ['no_expiration', 'unreadable_expiration'].includes(doubt.problem.code);
  return wasRead ? lookedAt : undefined;
}

function earliestDeletion({ lifecycle }: ZoneProfile, phase: DeletionPhase, now: Date): Date {
  const { redemptionDays = 0, pendingDeleteDays = 0 } = lifecycle ?? {};
  const days = redemptionDays + (phase === 'pending_delete' ? pendingDeleteDays : 0);
  return new Date(now.getTime() - days * DAY_MS);
}

/** Why a record that was read gives no date. */
function undatedBy({ expires_at: expiry }: Facts): DateDoubt {
  const detail = expiry?.state === 'unseen' ? expiry.text : undefined;
  if (detail === undefined) return { code: 'undated', problem: { code: 'no_expiration' } };
  return { code: 'undated', problem: { code: 'unreadable_expiration', detail } };
}

/** A deletion so short ago that the registry's record may not show it yet. */
function deletionNotShownYet({ deletedAt }: NameDates, now: Date): Date | undefined {
  return deletedAt !== undefined && now.getTime() - deletedAt.getTime() < DELETION_DELAY_MS
    ? deletedAt
    : undefined;
}

/** The registrar that is trusted until another one comes, whose transfer the team has asked for. */
function withTransferKnown(known: NameDates, at: Date): NameDates {
  return {
    ...known,
    trusted: { registrar: known.trusted?.registrar, at: known.trusted?.at ?? at, transferKnownAt: at },
  };
}

/**
 * Whether the registry has shown a renewal since its request was sent. A look may come before its success is taken into
 * account, and after a lost answer it is how that is known: its years are in the date then.
 */
function isShownAlready({ expiry, moved }: NameDates, years: number, sentAt: Date): boolean {
  if (expiry?.source !== 'rdap' || moved === undefined || moved.at < sentAt) return false;
  return expiry.at.getTime() >= addYears(moved.from, years).getTime() - ESTIMATE_SLACK_MS;
}

/**
 * Estimates until when a name is paid for after some more years were paid, until the registry shows its own date. Where
 * its former end is not known, the earliest possible one is assumed: it may have been in the last days of its
 * auto-renew grace. An estimate that is too early warns too soon; one that is too late could lose the name.
 */
function estimatedEnd({ expiry }: NameDates, name: string, years: number, doneAt: Date): Date {
  if (expiry !== undefined) return addYears(expiry.at, years);
  return new Date(addYears(doneAt, years).getTime() - graceDaysOf(zoneFor(name)) * DAY_MS);
}

/**
 * Until when a name is paid for. A record in the auto-renew grace shows a year that the registry added by itself and that
 * nobody has paid for; the name still has its old end.
 */
function paidUntil(expiresAt: Date, { statuses }: Registration, zone: ZoneProfile, now: Date): Date {
  const before = addYears(expiresAt, -1);
  const graceEnds = before.getTime() + (graceDaysOf(zone) + 1) * DAY_MS;
  const isInGrace = before <= now && now.getTime() < graceEnds;
  return statuses?.includes('auto renew period') && isInGrace ? before : expiresAt;
}

function graceDaysOf({ lifecycle }: ZoneProfile): number {
  return lifecycle?.autoRenewGraceDays ?? DEFAULT_GRACE_DAYS;
}

/** Whether the registry of a name publishes no dates of expiry, as that of .de. Its date comes from orders and from people. */
export function isDateless({ doubt }: NameDates): boolean {
  if (doubt?.code !== 'undated') return false;
  return doubt.problem.code === 'no_public_record' || doubt.problem.code === 'no_expiration';
}
