import { DAY_MS, HOUR_MS } from '../lib/duration.ts';
import { findDeletionPhase } from '../registry/rdap/status.ts';
import type { WhoisAnswer } from '../registry/whois/client.ts';
import type { DeletionPhase } from '../zones/lifecycle.ts';
import { findZoneProfile } from '../zones/rules.ts';
import type { ZoneProfile } from '../zones/zone.ts';
import type { Facts } from './facts.ts';
import type { RecordProblem, Registration, RegistryLookup } from './registry-record.ts';
import { type DistrustReason, findDistrustReason, type TrustedRecord, updateTrustedRecord } from './trust.ts';

/*
 * Determines when a registration ends, from the registry's record, orders and people. Each lookup or order
 * replaces the dates. Earlier dates stay in the observations.
 */

/** Dates of the same expiry differ by less than this. Different expiries are about a year apart. */
export const SAME_EXPIRY_MS = 30 * DAY_MS;

export function isSameExpiry(a: Date, b: Date): boolean {
  return Math.abs(a.getTime() - b.getTime()) < SAME_EXPIRY_MS;
}

/** A renewal may not have reached the registry yet, so the later of the two expiries counts. */
export function pickLaterExpiry<Expiry extends Date | undefined>(
  expiry: Expiry,
  renewedUntil: Date | undefined,
): Expiry | Date {
  return renewedUntil !== undefined && (expiry === undefined || renewedUntil > expiry)
    ? renewedUntil
    : expiry;
}

/** `order`: an estimate from one of the bot's orders. `person`: entered by a person. */
export type ExpirySource = 'rdap' | 'whois' | 'order' | 'person';

/** Shown to people, but doesn't count as evidence. */
export interface LastWhoisAnswer {
  /** When the WHOIS server was asked. */
  readonly at: Date;
  readonly registeredAt: Date | undefined;
  readonly registrar: string | undefined;
}

/** Why the registry's date isn't used. */
export type UnreliableDateReason =
  | { readonly code: 'not_registered' }
  | { readonly code: 'undated'; readonly problem: RecordProblem }
  /** The date changed in a way that suggests a transfer, and the team knows of none. */
  | { readonly code: 'distrusted'; readonly distrust: DistrustReason; readonly newDate: Date }
  /** The record still shows the earlier date long after a renewal. */
  | { readonly code: 'renewal_not_shown'; readonly shown: Date };

export interface NameDates {
  /** Undefined if no date is known. */
  readonly expiry:
    | {
        readonly at: Date;
        readonly source: ExpirySource;
        readonly enteredBy?: string;
      }
    | undefined;
  /** The previous expiry, and when the registry first showed a later one. */
  readonly expiryChange: { readonly from: Date; readonly at: Date } | undefined;
  /** A renewal that the registry doesn't show yet. Earlier dates in its record are stale. */
  readonly unpublishedRenewal: { readonly until: Date; readonly at: Date } | undefined;
  /** The last record whose dates are trusted; undefined before the first one. */
  readonly trusted: TrustedRecord | undefined;
  readonly deletedAt: Date | undefined;
  /** From the last record that showed a phase. */
  readonly deletionPhase: DeletionPhase | undefined;
  /** Why the registry's date isn't used; undefined if it is used. */
  readonly doubt: UnreliableDateReason | undefined;
  readonly lastLookupAt: Date | undefined;
  readonly whois: LastWhoisAnswer | undefined;
}

export interface DatedOrder {
  readonly task: 'create' | 'renew' | 'transfer' | 'delete' | 'restore';
  readonly years: number;
  readonly sentAt: Date;
  readonly doneAt: Date;
}

const DEFAULT_GRACE_DAYS = 45;
/** A registry may show a deletion this much later. */
const DELETION_DELAY_MS = HOUR_MS;
/** Registries show a renewal within hours. After this many days, the renewal probably never reached them. */
export const RENEWAL_DISPUTE_DAYS = 14;
/** An estimate is based on the old expiry or on the clock, so the registry's date may be slightly earlier. */
const ESTIMATE_SLACK_MS = 2 * DAY_MS;

export const UNKNOWN_DATES: NameDates = {
  expiry: undefined,
  expiryChange: undefined,
  unpublishedRenewal: undefined,
  trusted: undefined,
  deletedAt: undefined,
  deletionPhase: undefined,
  doubt: undefined,
  lastLookupAt: undefined,
  whois: undefined,
};

export function updateDatesAfterLookup(
  before: NameDates,
  { name, at: now, facts, result }: RegistryLookup,
): NameDates {
  const dates = { ...before, lastLookupAt: now };
  if (result.kind === 'not_registered')
    return { ...dates, deletionPhase: undefined, doubt: { code: 'not_registered' } };
  if (result.kind === 'failed') return { ...dates, doubt: { code: 'undated', problem: result.problem } };

  const { registration } = result;
  const distrust = findDistrustReason(dates.trusted, registration, now);
  const updated = {
    ...dates,
    trusted: distrust === undefined ? updateTrustedRecord(dates.trusted, registration, now) : dates.trusted,
    ...findDeletion(registration, before, findZoneProfile(name), now),
  };
  const { expiresAt } = registration;
  if (expiresAt === undefined) return { ...updated, doubt: explainMissingDate(facts) };
  const { unpublishedRenewal } = dates;
  if (isStale(expiresAt, unpublishedRenewal))
    return { ...updated, doubt: explainStaleDate(expiresAt, unpublishedRenewal, now) };
  const paidUntil =
    unpublishedRenewal === undefined
      ? computePaidUntil(expiresAt, registration, findZoneProfile(name), now)
      : expiresAt;
  const after: NameDates = {
    ...updated,
    expiry: { at: paidUntil, source: 'rdap' },
    unpublishedRenewal: undefined,
    doubt: undefined,
  };
  if (dates.expiry === undefined || !hasNewExpiry(dates, after)) return after;
  // If the new date is distrusted, the name keeps its old expiry, so that reminders continue.
  return distrust !== undefined
    ? { ...updated, doubt: { code: 'distrusted', distrust, newDate: expiresAt } }
    : { ...after, expiryChange: { from: dates.expiry.at, at: now } };
}

/**
 * Adds the WHOIS answer after a lookup that found no date. The registry's date takes precedence, then the
 * earlier of the dates from WHOIS and from a person.
 * @param before the dates before both lookups
 * @param answer undefined if WHOIS wasn't asked
 */
export function updateDatesAfterWhois(
  before: NameDates,
  dates: NameDates,
  answer: WhoisAnswer | undefined,
  now: Date,
): NameDates {
  // An earlier answer stays in use until the next one.
  const isEarlierAnswerUsed =
    dates.expiry?.source === 'whois' || (answer === undefined && hasWhoisFailed(before));
  const fallbackDates = isEarlierAnswerUsed
    ? { ...dates, doubt: before.doubt }
    : addWhoisProblem(dates, answer);
  if (answer === undefined || answer.kind === 'waiting') return fallbackDates;
  const { registeredAt, registrar } = dates.whois ?? {};
  if (answer.kind !== 'record') return { ...fallbackDates, whois: { at: now, registeredAt, registrar } };
  const { expiry, creationDate, registrar: currentRegistrar } = answer;
  const updated = { ...dates, whois: { at: now, registeredAt: creationDate, registrar: currentRegistrar } };
  if (expiry === undefined) return updated;
  if (expiry.kind === 'unreadable') {
    const problem = { code: 'unreadable_expiration', detail: expiry.text } as const;
    return { ...updated, doubt: { code: 'undated', problem } };
  }
  const { expiry: oldExpiry, unpublishedRenewal } = dates;
  const isOldExpiryKept =
    oldExpiry?.source === 'rdap' || (oldExpiry?.source === 'person' && oldExpiry.at <= expiry.date);
  if (isOldExpiryKept) return updated;
  if (isStale(expiry.date, unpublishedRenewal))
    return { ...updated, doubt: explainStaleDate(expiry.date, unpublishedRenewal, now) };
  const after: NameDates = {
    ...updated,
    expiry: { at: expiry.date, source: 'whois' },
    unpublishedRenewal: undefined,
    doubt: undefined,
  };
  return oldExpiry !== undefined && hasNewExpiry(dates, after)
    ? { ...after, expiryChange: { from: oldExpiry.at, at: now } }
    : after;
}

/** The problem to report for each kind of failed WHOIS lookup. A later lookup may still find a date. */
const WHOIS_PROBLEMS = {
  waiting: 'waiting',
  limited: 'waiting',
  timeout: 'timeout',
  unreachable: 'unreachable',
  too_large: 'too_large',
  name_mismatch: 'name_mismatch',
  not_whois: 'not_a_domain',
} as const satisfies Partial<Record<WhoisAnswer['kind'], RecordProblem['code']>>;

/** Changes nothing unless WHOIS is the only public record. */
function addWhoisProblem(dates: NameDates, answer: WhoisAnswer | undefined): NameDates {
  if (answer === undefined || !isPublicRecordMissing(dates) || !isWhoisProblem(answer.kind)) return dates;
  return { ...dates, doubt: { code: 'undated', problem: { code: WHOIS_PROBLEMS[answer.kind] } } };
}

function isWhoisProblem(kind: WhoisAnswer['kind']): kind is keyof typeof WHOIS_PROBLEMS {
  return kind in WHOIS_PROBLEMS;
}

function hasWhoisFailed({ whois, doubt }: NameDates): boolean {
  return (
    whois !== undefined &&
    doubt?.code === 'undated' &&
    Object.values(WHOIS_PROBLEMS).some((code) => code === doubt.problem.code)
  );
}

function isPublicRecordMissing({ doubt }: NameDates): boolean {
  return doubt?.code === 'undated' && doubt.problem.code === 'no_public_record';
}

const WHOIS_INTERVAL_MS = DAY_MS;

export function isWhoisDue({ whois }: NameDates, { result, at }: RegistryLookup): boolean {
  return lacksDate(result) && (whois === undefined || at.getTime() - whois.at.getTime() >= WHOIS_INTERVAL_MS);
}

/** Whether the registry has no public record, or a record without a date. */
export function lacksDate(result: RegistryLookup['result']): boolean {
  if (result.kind === 'registered') return result.registration.expiresAt === undefined;
  return result.kind === 'failed' && result.problem.code === 'no_public_record';
}

type UnpublishedRenewal = NonNullable<NameDates['unpublishedRenewal']>;

/** Whether the record doesn't include the renewal yet. */
function isStale(expiresAt: Date, renewed: NameDates['unpublishedRenewal']): renewed is UnpublishedRenewal {
  return renewed !== undefined && expiresAt.getTime() < renewed.until.getTime() - ESTIMATE_SLACK_MS;
}

function explainStaleDate(
  shown: Date,
  renewed: UnpublishedRenewal,
  now: Date,
): UnreliableDateReason | undefined {
  const isOverdue = now.getTime() - renewed.at.getTime() > RENEWAL_DISPUTE_DAYS * DAY_MS;
  return isOverdue ? { code: 'renewal_not_shown', shown } : undefined;
}

/** Whether the registry publishes the expiry, so that no estimate is needed. */
function isExpiryPublished({ expiry }: Pick<NameDates, 'expiry'>): boolean {
  return expiry?.source === 'rdap' || expiry?.source === 'whois';
}

export function updateDatesAfterOrder(
  dates: NameDates,
  name: string,
  { task, years, sentAt, doneAt }: DatedOrder,
): NameDates {
  switch (task) {
    case 'create':
      return {
        ...UNKNOWN_DATES,
        lastLookupAt: dates.lastLookupAt,
        expiry: { at: addYears(doneAt, years), source: 'order' },
        // After a new registration, the first registrar in a record is trusted.
        trusted: { registrar: undefined, at: doneAt, transferExpectedAt: undefined },
      };
    case 'renew': {
      if (isRenewalShown(dates, years, sentAt)) return dates;
      const until = estimateExpiry(dates, name, years, doneAt);
      const expiry = { at: until, source: 'order' } as const;
      return { ...dates, expiry, unpublishedRenewal: { until, at: doneAt }, doubt: undefined };
    }
    case 'transfer': {
      // A transfer takes days and may be refused, so the date stays in use until the registry changes it.
      const updated = { ...expectTransfer(dates, doneAt), doubt: undefined };
      if (isExpiryPublished(dates)) return updated;
      return { ...updated, expiry: { at: estimateExpiry(dates, name, years, doneAt), source: 'order' } };
    }
    case 'delete':
      return { ...dates, deletedAt: doneAt, deletionPhase: undefined };
    case 'restore':
      // The service has only accepted the order, so the name counts as deleted until its record changes.
      return dates;
  }
}

/** After a confirmed transfer, the registrar in the next record is trusted. */
export function updateDatesAfterTransfer(dates: NameDates, at: Date): NameDates {
  return { ...dates, trusted: { registrar: undefined, at, transferExpectedAt: at } };
}

/**
 * After a renewal outside the bot, registry dates up to this limit count as stale.
 * @returns undefined if the known date is from a person
 */
export function computeStaleLimit({ expiry }: NameDates): Date | undefined {
  if (expiry === undefined || expiry.source === 'person') return undefined;
  return new Date(expiry.at.getTime() + 2 * ESTIMATE_SLACK_MS);
}

/** Whether there is a new, later expiry, so that decisions about the old one no longer apply. */
export function hasNewExpiry(before: NameDates, after: NameDates): boolean {
  if (before.expiry === undefined || after.expiry === undefined) return false;
  return after.expiry.at.getTime() - before.expiry.at.getTime() > SAME_EXPIRY_MS;
}

/** 29 February becomes 28 February, so that the result is never too late. */
export function addYears(date: Date, years: number): Date {
  const shifted = new Date(date);
  shifted.setUTCFullYear(date.getUTCFullYear() + years);
  if (shifted.getUTCMonth() !== date.getUTCMonth()) shifted.setUTCDate(0);
  return shifted;
}

type Deletion = Pick<NameDates, 'deletedAt' | 'deletionPhase'>;

/**
 * If a deletion has no date, the earliest possible time is assumed, so that a restore isn't promised for too
 * long: the time of the last record without a deletion, or else the earliest time at which the name can have
 * entered its deletion phase. A record without statuses changes nothing.
 */
function findDeletion(
  { deletedAt, statuses }: Registration,
  before: NameDates,
  zone: ZoneProfile,
  now: Date,
): Deletion {
  if (statuses === undefined) return { deletedAt: before.deletedAt, deletionPhase: before.deletionPhase };
  const deletionPhase = findDeletionPhase(statuses);
  const assumedAt =
    deletionPhase === undefined
      ? findRecentDeletionTime(before, now)
      : (before.deletedAt ?? getLastRecordTime(before) ?? estimateEarliestDeletion(zone, deletionPhase, now));
  return { deletedAt: deletedAt ?? assumedAt, deletionPhase };
}

function getLastRecordTime({ doubt, lastLookupAt }: NameDates): Date | undefined {
  if (doubt?.code === 'not_registered') return undefined;
  const wasRecordRead =
    doubt?.code !== 'undated' || ['no_expiration', 'unreadable_expiration'].includes(doubt.problem.code);
  return wasRecordRead ? lastLookupAt : undefined;
}

function estimateEarliestDeletion({ lifecycle }: ZoneProfile, phase: DeletionPhase, now: Date): Date {
  const { redemptionDays = 0, pendingDeleteDays = 0 } = lifecycle ?? {};
  const days = redemptionDays + (phase === 'pending_delete' ? pendingDeleteDays : 0);
  return new Date(now.getTime() - days * DAY_MS);
}

function explainMissingDate({ expires_at: expiry }: Facts): UnreliableDateReason {
  const detail = expiry?.state === 'unseen' ? expiry.text : undefined;
  if (detail === undefined) return { code: 'undated', problem: { code: 'no_expiration' } };
  return { code: 'undated', problem: { code: 'unreadable_expiration', detail } };
}

/** Returns the time of a deletion that is too recent to appear in the registry's record. */
function findRecentDeletionTime({ deletedAt }: NameDates, now: Date): Date | undefined {
  return deletedAt !== undefined && now.getTime() - deletedAt.getTime() < DELETION_DELAY_MS
    ? deletedAt
    : undefined;
}

/** The current registrar stays trusted until the requested transfer is complete. */
function expectTransfer(dates: NameDates, at: Date): NameDates {
  return {
    ...dates,
    trusted: { registrar: dates.trusted?.registrar, at: dates.trusted?.at ?? at, transferExpectedAt: at },
  };
}

/**
 * Whether a lookup has already found the renewal. A lookup can be faster than the order's result, and can
 * show that an order with an unknown outcome succeeded.
 */
function isRenewalShown({ expiry, expiryChange }: NameDates, years: number, sentAt: Date): boolean {
  if (
    expiry === undefined ||
    !isExpiryPublished({ expiry }) ||
    expiryChange === undefined ||
    expiryChange.at < sentAt
  )
    return false;
  return expiry.at.getTime() >= addYears(expiryChange.from, years).getTime() - ESTIMATE_SLACK_MS;
}

/**
 * Estimates the expiry after a renewal, until the registry shows its own date. If the previous expiry is
 * unknown, the name is assumed to be in the last days of its auto-renew grace period: an early estimate only
 * warns too soon, but a late one could lose the name.
 */
function estimateExpiry({ expiry }: NameDates, name: string, years: number, doneAt: Date): Date {
  if (expiry !== undefined) return addYears(expiry.at, years);
  return new Date(addYears(doneAt, years).getTime() - getGracePeriodDays(findZoneProfile(name)) * DAY_MS);
}

/**
 * In the auto-renew grace period, the record includes a year that the registry added but nobody has paid for.
 * Until that year is paid for, the name keeps its old expiry.
 */
function computePaidUntil(expiresAt: Date, { statuses }: Registration, zone: ZoneProfile, now: Date): Date {
  const oldExpiry = addYears(expiresAt, -1);
  const graceEndsAt = oldExpiry.getTime() + (getGracePeriodDays(zone) + 1) * DAY_MS;
  const isInGrace = oldExpiry <= now && now.getTime() < graceEndsAt;
  return statuses?.includes('auto renew period') && isInGrace ? oldExpiry : expiresAt;
}

function getGracePeriodDays({ lifecycle }: ZoneProfile): number {
  return lifecycle?.autoRenewGraceDays ?? DEFAULT_GRACE_DAYS;
}

/** Whether the registry publishes no expiry dates (for example, .de), so that orders and people set them. */
export function isDateless({ doubt }: NameDates): boolean {
  if (doubt?.code !== 'undated') return false;
  return doubt.problem.code === 'no_public_record' || doubt.problem.code === 'no_expiration';
}
