import { DAY_MS, HOUR_MS } from '../lib/duration.ts';
import { findDeletionPhase } from '../registry/rdap/status.ts';
import type { WhoisAnswer } from '../registry/whois/client.ts';
import type { DeletionPhase } from '../zones/lifecycle.ts';
import { zoneFor } from '../zones/rules.ts';
import type { ZoneProfile } from '../zones/zone.ts';
import type { Facts } from './facts.ts';
import type { RecordProblem, Registration, RegistryLookup } from './registry-record.ts';
import { type Distrust, findDistrust, type TrustedRecord, updateTrust } from './trust.ts';

/*
 * When a registration ends, from the registry's record, orders and people. Each lookup and order updates the previous
 * dates; observations keep them all.
 */

/** Dates of one expiry differ by less than this; those of two expiries by about a year. */
export const SAME_EXPIRY_MS = 30 * DAY_MS;

export function isSameExpiry(a: Date, b: Date): boolean {
  return Math.abs(a.getTime() - b.getTime()) < SAME_EXPIRY_MS;
}

/** The expiry of a name. Its renewal may not be at the registry yet. */
export function pickLaterExpiry<End extends Date | undefined>(
  end: End,
  renewedUntil: Date | undefined,
): End | Date {
  return renewedUntil !== undefined && (end === undefined || renewedUntil > end) ? renewedUntil : end;
}

/** The registry's record, its WHOIS answer, the bot's own order (an estimate), or a person. */
export type ExpirySource = 'rdap' | 'whois' | 'order' | 'person';

/** The last WHOIS answer. Only displayed: it is no evidence. */
export interface LastWhoisAnswer {
  /** When it was asked. */
  readonly at: Date;
  readonly registeredAt: Date | undefined;
  readonly registrar: string | undefined;
}

/** Why the registry's date isn't used. */
export type DateDoubt =
  | { readonly code: 'not_registered' }
  | { readonly code: 'undated'; readonly problem: RecordProblem }
  /** The date changed as in an unknown transfer. */
  | { readonly code: 'distrusted'; readonly distrust: Distrust; readonly movedTo: Date }
  /** Long after a renewal, the record still shows an earlier date. */
  | { readonly code: 'renewal_not_shown'; readonly shown: Date };

export interface NameDates {
  /** The current date; undefined while none is known. */
  readonly expiry:
    | {
        readonly at: Date;
        readonly source: ExpirySource;
        readonly by?: string;
      }
    | undefined;
  /** The previous expiry, and when the registry first showed a later one. */
  readonly changed: { readonly from: Date; readonly at: Date } | undefined;
  /** A renewal that the registry doesn't show yet: earlier dates of its record are stale. */
  readonly renewed: { readonly until: Date; readonly at: Date } | undefined;
  /** Its dates are trusted; undefined before the first record. */
  readonly trusted: TrustedRecord | undefined;
  readonly deletedAt: Date | undefined;
  /** From the last record that showed it. */
  readonly deletionPhase: DeletionPhase | undefined;
  /** Undefined if the last registry lookup provided the date. */
  readonly doubt: DateDoubt | undefined;
  /** Last registry lookup. */
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
/** Registries may show a deletion this late. */
const DELETION_DELAY_MS = HOUR_MS;
/** Registries show a renewal within hours. After this time it is probably unknown to them. */
export const RENEWAL_DISPUTE_DAYS = 14;
/** Estimates are computed from the old expiry or the clock, so the registry's date may be slightly earlier. */
const ESTIMATE_SLACK_MS = 2 * DAY_MS;

export const UNKNOWN_DATES: NameDates = {
  expiry: undefined,
  changed: undefined,
  renewed: undefined,
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
  const known = { ...before, lastLookupAt: now };
  if (result.kind === 'not_registered')
    return { ...known, deletionPhase: undefined, doubt: { code: 'not_registered' } };
  if (result.kind === 'unread') return { ...known, doubt: { code: 'undated', problem: result.problem } };

  const { registration } = result;
  const distrust = findDistrust(known.trusted, registration, now);
  const updated = {
    ...known,
    trusted: distrust === undefined ? updateTrust(known.trusted, registration, now) : known.trusted,
    ...findDeletion(registration, before, zoneFor(name), now),
  };
  const { expiresAt } = registration;
  if (expiresAt === undefined) return { ...updated, doubt: explainMissingDate(facts) };
  const { renewed } = known;
  if (isStale(expiresAt, renewed)) return { ...updated, doubt: createStaleDoubt(expiresAt, renewed, now) };
  const at =
    renewed === undefined ? computePaidUntil(expiresAt, registration, zoneFor(name), now) : expiresAt;
  const after: NameDates = {
    ...updated,
    expiry: { at, source: 'rdap' },
    renewed: undefined,
    doubt: undefined,
  };
  if (known.expiry === undefined || !hasNewExpiry(known, after)) return after;
  // The name keeps its old expiry, so reminders continue.
  return distrust !== undefined
    ? { ...updated, doubt: { code: 'distrusted', distrust, movedTo: expiresAt } }
    : { ...after, changed: { from: known.expiry.at, at: now } };
}

/**
 * For lookups without a date ({@link updateDatesAfterLookup}). The registry's date is preferred, then the earlier of WHOIS's
 * and a person's.
 * @param before the dates before both lookups
 * @param answer undefined: not asked
 */
export function updateDatesAfterWhois(
  before: NameDates,
  known: NameDates,
  answer: WhoisAnswer | undefined,
  now: Date,
): NameDates {
  // An earlier answer is used until the next one.
  const isAnswered = known.expiry?.source === 'whois' || (answer === undefined && hasWhoisFailed(before));
  const unchanged = isAnswered ? { ...known, doubt: before.doubt } : addWhoisProblem(known, answer);
  if (answer === undefined || answer.kind === 'waiting') return unchanged;
  const { registeredAt, registrar } = known.whois ?? {};
  if (answer.kind !== 'record') return { ...unchanged, whois: { at: now, registeredAt, registrar } };
  const { expiry, created, registrar: seenRegistrar } = answer;
  const updated = { ...known, whois: { at: now, registeredAt: created, registrar: seenRegistrar } };
  if (expiry === undefined) return updated;
  if (expiry.kind === 'unreadable') {
    const problem = { code: 'unreadable_expiration', detail: expiry.text } as const;
    return { ...updated, doubt: { code: 'undated', problem } };
  }
  const { expiry: former, renewed } = known;
  if (former?.source === 'rdap' || (former?.source === 'person' && former.at <= expiry.at)) return updated;
  if (isStale(expiry.at, renewed)) return { ...updated, doubt: createStaleDoubt(expiry.at, renewed, now) };
  const after: NameDates = {
    ...updated,
    expiry: { at: expiry.at, source: 'whois' },
    renewed: undefined,
    doubt: undefined,
  };
  return former !== undefined && hasNewExpiry(known, after)
    ? { ...after, changed: { from: former.at, at: now } }
    : after;
}

/** Why WHOIS shows no date, though one may be published. */
const WHOIS_PROBLEMS = {
  waiting: 'waiting',
  limited: 'waiting',
  timeout: 'timeout',
  unreachable: 'unreachable',
  too_large: 'too_large',
  other_name: 'other_name',
  not_whois: 'not_a_domain',
} as const satisfies Partial<Record<WhoisAnswer['kind'], RecordProblem['code']>>;

/** Only WHOIS could show a date, and it wasn't read: the registry may publish one. */
function addWhoisProblem(known: NameDates, answer: WhoisAnswer | undefined): NameDates {
  if (answer === undefined || !isPublicRecordMissing(known) || !isWhoisProblem(answer.kind)) return known;
  return { ...known, doubt: { code: 'undated', problem: { code: WHOIS_PROBLEMS[answer.kind] } } };
}

function isWhoisProblem(kind: WhoisAnswer['kind']): kind is keyof typeof WHOIS_PROBLEMS {
  return kind in WHOIS_PROBLEMS;
}

/** Since the last WHOIS answer. */
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

/** The registry has no public record or no date, and WHOIS wasn't asked within a day. */
export function isWhoisDue({ whois }: NameDates, { result, at }: RegistryLookup): boolean {
  return lacksDate(result) && (whois === undefined || at.getTime() - whois.at.getTime() >= WHOIS_INTERVAL_MS);
}

export function lacksDate(result: RegistryLookup['result']): boolean {
  if (result.kind === 'registered') return result.registration.expiresAt === undefined;
  return result.kind === 'unread' && result.problem.code === 'no_public_record';
}

type Renewed = NonNullable<NameDates['renewed']>;

/** A record older than a renewal. */
function isStale(expiresAt: Date, renewed: NameDates['renewed']): renewed is Renewed {
  return renewed !== undefined && expiresAt.getTime() < renewed.until.getTime() - ESTIMATE_SLACK_MS;
}

function createStaleDoubt(shown: Date, renewed: Renewed, now: Date): DateDoubt | undefined {
  const isLongAgo = now.getTime() - renewed.at.getTime() > RENEWAL_DISPUTE_DAYS * DAY_MS;
  return isLongAgo ? { code: 'renewal_not_shown', shown } : undefined;
}

/** By the registry, so that it needs no estimate. */
function isPublished({ expiry }: Pick<NameDates, 'expiry'>): boolean {
  return expiry?.source === 'rdap' || expiry?.source === 'whois';
}

export function updateDatesAfterOrder(
  known: NameDates,
  name: string,
  { task, years, sentAt, doneAt }: DatedOrder,
): NameDates {
  switch (task) {
    case 'create':
      return {
        ...UNKNOWN_DATES,
        lastLookupAt: known.lastLookupAt,
        expiry: { at: addYears(doneAt, years), source: 'order' },
        // The first registrar of the new registration is trusted.
        trusted: { registrar: undefined, at: doneAt, transferKnownAt: undefined },
      };
    case 'renew': {
      if (isRenewalShown(known, years, sentAt)) return known;
      const until = estimateExpiry(known, name, years, doneAt);
      const expiry = { at: until, source: 'order' } as const;
      return { ...known, expiry, renewed: { until, at: doneAt }, doubt: undefined };
    }
    case 'transfer': {
      // A transfer takes days and may be refused, so the registry's date stays until its record changes.
      const expected = { ...markTransferKnown(known, doneAt), doubt: undefined };
      if (isPublished(known)) return expected;
      return { ...expected, expiry: { at: estimateExpiry(known, name, years, doneAt), source: 'order' } };
    }
    case 'delete':
      return { ...known, deletedAt: doneAt, deletionPhase: undefined };
    case 'restore':
      // Only accepted by the service: the name is treated as deleted until the registry shows otherwise.
      return known;
  }
}

/** The next registrar seen is trusted. */
export function updateDatesAfterTransfer(known: NameDates, at: Date): NameDates {
  return { ...known, trusted: { registrar: undefined, at, transferKnownAt: at } };
}

/** Until when a registry's date is treated as older than a renewal elsewhere; undefined without a registry's date. */
export function computeStaleLimit({ expiry }: NameDates): Date | undefined {
  if (expiry === undefined || expiry.source === 'person') return undefined;
  return new Date(expiry.at.getTime() + 2 * ESTIMATE_SLACK_MS);
}

/** Decisions about the old expiry no longer apply. */
export function hasNewExpiry(before: NameDates, after: NameDates): boolean {
  if (before.expiry === undefined || after.expiry === undefined) return false;
  return after.expiry.at.getTime() - before.expiry.at.getTime() > SAME_EXPIRY_MS;
}

/** 29 February becomes the 28th, so that the result is never too late. */
export function addYears(date: Date, years: number): Date {
  const shifted = new Date(date);
  shifted.setUTCFullYear(date.getUTCFullYear() + years);
  if (shifted.getUTCMonth() !== date.getUTCMonth()) shifted.setUTCDate(0);
  return shifted;
}

type Deletion = Pick<NameDates, 'deletedAt' | 'deletionPhase'>;

/**
 * A deletion without a date is assumed at the earliest possible time, so that no restore is promised for too long: the
 * last record without a deletion, or else the longest duration of its phase. A record without statuses shows nothing.
 */
function findDeletion(
  { deletedAt, statuses }: Registration,
  before: NameDates,
  zone: ZoneProfile,
  now: Date,
): Deletion {
  if (statuses === undefined) return { deletedAt: before.deletedAt, deletionPhase: before.deletionPhase };
  const deletionPhase = findDeletionPhase(statuses);
  const assumed =
    deletionPhase === undefined
      ? keepRecentDeletion(before, now)
      : (before.deletedAt ?? getLastRecordTime(before) ?? estimateEarliestDeletion(zone, deletionPhase, now));
  return { deletedAt: deletedAt ?? assumed, deletionPhase };
}

function getLastRecordTime({ doubt, lastLookupAt }: NameDates): Date | undefined {
  if (doubt?.code === 'not_registered') return undefined;
  const wasRead =
    doubt?.code !== 'undated' || ['no_expiration', 'unreadable_expiration'].includes(doubt.problem.code);
  return wasRead ? lastLookupAt : undefined;
}

function estimateEarliestDeletion({ lifecycle }: ZoneProfile, phase: DeletionPhase, now: Date): Date {
  const { redemptionDays = 0, pendingDeleteDays = 0 } = lifecycle ?? {};
  const days = redemptionDays + (phase === 'pending_delete' ? pendingDeleteDays : 0);
  return new Date(now.getTime() - days * DAY_MS);
}

/** Why a readable record has no date. */
function explainMissingDate({ expires_at: expiry }: Facts): DateDoubt {
  const detail = expiry?.state === 'unseen' ? expiry.text : undefined;
  if (detail === undefined) return { code: 'undated', problem: { code: 'no_expiration' } };
  return { code: 'undated', problem: { code: 'unreadable_expiration', detail } };
}

/** Too recent for the registry's record. */
function keepRecentDeletion({ deletedAt }: NameDates, now: Date): Date | undefined {
  return deletedAt !== undefined && now.getTime() - deletedAt.getTime() < DELETION_DELAY_MS
    ? deletedAt
    : undefined;
}

/** Trusted until the requested transfer brings another one. */
function markTransferKnown(known: NameDates, at: Date): NameDates {
  return {
    ...known,
    trusted: { registrar: known.trusted?.registrar, at: known.trusted?.at ?? at, transferKnownAt: at },
  };
}

/**
 * Whether the registry showed a renewal since its request was sent. A lookup may happen before the success is
 * processed; after a lost answer, it reveals the success.
 */
function isRenewalShown({ expiry, changed }: NameDates, years: number, sentAt: Date): boolean {
  if (expiry === undefined || !isPublished({ expiry }) || changed === undefined || changed.at < sentAt)
    return false;
  return expiry.at.getTime() >= addYears(changed.from, years).getTime() - ESTIMATE_SLACK_MS;
}

/**
 * Estimated expiry after paying for more years, until the registry shows its own date. An unknown previous expiry is
 * assumed as early as possible, in the last days of the auto-renew grace period: too early only warns too soon, too
 * late could lose the name.
 */
function estimateExpiry({ expiry }: NameDates, name: string, years: number, doneAt: Date): Date {
  if (expiry !== undefined) return addYears(expiry.at, years);
  return new Date(addYears(doneAt, years).getTime() - getGracePeriodDays(zoneFor(name)) * DAY_MS);
}

/**
 * In the auto-renew grace period, the record includes a year that the registry added unpaid; the name still has its old
 * expiry.
 */
function computePaidUntil(expiresAt: Date, { statuses }: Registration, zone: ZoneProfile, now: Date): Date {
  const before = addYears(expiresAt, -1);
  const graceEnds = before.getTime() + (getGracePeriodDays(zone) + 1) * DAY_MS;
  const isInGrace = before <= now && now.getTime() < graceEnds;
  return statuses?.includes('auto renew period') && isInGrace ? before : expiresAt;
}

function getGracePeriodDays({ lifecycle }: ZoneProfile): number {
  return lifecycle?.autoRenewGraceDays ?? DEFAULT_GRACE_DAYS;
}

/** The registry publishes no expiry dates, like .de. Dates come from orders and people. */
export function isDateless({ doubt }: NameDates): boolean {
  if (doubt?.code !== 'undated') return false;
  return doubt.problem.code === 'no_public_record' || doubt.problem.code === 'no_expiration';
}
