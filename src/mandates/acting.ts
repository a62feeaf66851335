import { DAY_MS, HOUR_MS } from '../lib/duration.ts';
import type { Amount } from '../money/amount.ts';
import { type BudgetSpan, periodOf } from '../money/budget.ts';
import { utcDay } from '../zones/calendar-day.ts';
import type { HeldCode } from './codes.ts';
import { covers, isInForce, type Mandate } from './mandate.ts';
import type { MandateTerms } from './terms.ts';

/**
 * Decides when a mandate acts for a name, when the order is sent, and why it doesn't act. Pure. Runs when the order
 * is made and again in the transaction that marks it as sent.
 */

/** Mandate renewals sent per day (UTC). */
export const MAX_SENT_A_DAY = 200;
/** Time between the announcement and the request, in which people can stop it. */
export const ANNOUNCED_MS = DAY_MS;
/** The requests of one day are spread over this time. */
const SPREAD_MS = 8 * HOUR_MS;
/** Two expiry dates of a name nearer than this are the same one, corrected. */
export const SAME_END_MS = 180 * DAY_MS;

/** Codes of names that need no action, so no ordinary order is made when theirs is stopped. */
const NEEDS_NOBODY: ReadonlySet<HeldCode> = new Set<HeldCode>([
  'renewed_meanwhile',
  'let_go',
  'mandate_ended',
]);

/** Whether a name its mandate doesn't act for gets an ordinary order. Not if the policy refuses: no one could request it. */
export function needsOrder(code: HeldCode): boolean {
  return code !== 'policy_refuses' && code !== 'earlier_unknown' && !NEEDS_NOBODY.has(code);
}

/** A mandate's amounts in use by other orders: sent, unsent, or with an unknown outcome. */
export interface Taken {
  /** By the day (UTC, YYYY-MM-DD) of sending. */
  readonly byDay: readonly { readonly day: string; readonly minor: bigint }[];
  /** Orders of all mandates sent on a day. */
  readonly countOn: (day: string) => number;
}

/** The used part of a mandate's total in a period. */
function takenIn(span: BudgetSpan, day: string, byDay: Taken['byDay']): bigint {
  const period = periodOf(span, day);
  return byDay.reduce((sum, each) => (periodOf(span, each.day) === period ? sum + each.minor : sum), 0n);
}

/** Why an amount exceeds a mandate's ceilings on a day; undefined if it fits. Ceilings are inclusive. */
export function overCeiling(
  { max_price, max_total, span }: MandateTerms,
  amount: Amount | undefined,
  day: string,
  taken: Taken,
): Extract<HeldCode, 'price_unknown' | 'price_above' | 'total_spent' | 'day_full'> | undefined {
  if (amount === undefined || amount.currency !== max_price.currency) return 'price_unknown';
  if (amount.minor > max_price.minor) return 'price_above';
  if (takenIn(span, day, taken.byDay) + BigInt(amount.minor) > BigInt(max_total.minor)) return 'total_spent';
  return taken.countOn(day) >= MAX_SENT_A_DAY ? 'day_full' : undefined;
}

export interface NameEnd {
  readonly name: string;
  readonly expiresAt: Date;
  /** Last moment at which a renewal keeps the name. */
  readonly renewableUntil: Date;
}

/** Whether a mandate's notice period for a name has begun. */
export function isDueFor({ terms }: Mandate, { expiresAt }: NameEnd, now: Date): boolean {
  return expiresAt.getTime() - now.getTime() <= terms.notice * DAY_MS;
}

/** Whether a mandate can still send a renewal for this expiry before it ends. */
export function isInTimeFor(
  { terms, endsAt }: Mandate,
  { name, expiresAt }: Omit<NameEnd, 'renewableUntil'>,
  now: Date,
): boolean {
  const actsAt = Math.max(now.getTime(), expiresAt.getTime() - terms.notice * DAY_MS);
  return actsAt + ANNOUNCED_MS + spreadOf(name) < endsAt.getTime();
}

/** The time of sending, and the amount. */
export interface SendPlan {
  readonly sendAfter: Date;
  readonly day: string;
  readonly amount: Amount;
}

/**
 * Plans when a name's renewal is sent: in a day, spread over some hours, and a day later for each day that is full.
 * @returns the reason if there is no time left or a ceiling is exceeded
 */
export function planSending(
  mandate: Mandate,
  end: NameEnd,
  amount: Amount | undefined,
  taken: Taken,
  now: Date,
): SendPlan | HeldCode {
  let sendAfter = new Date(now.getTime() + ANNOUNCED_MS + spreadOf(end.name));
  if (sendAfter >= end.renewableUntil) return 'too_late';
  for (;;) {
    const day = utcDay(sendAfter);
    const over = overCeiling(mandate.terms, amount, day, taken);
    if (over !== undefined && over !== 'day_full') return over;
    if (over === undefined && amount !== undefined)
      return sendAfter < mandate.endsAt ? { sendAfter, day, amount } : 'mandate_ended';
    sendAfter = new Date(sendAfter.getTime() + DAY_MS);
    // The last day before the end is kept for people.
    if (sendAfter.getTime() + DAY_MS >= end.renewableUntil.getTime()) return 'day_full';
  }
}

/** Always the same for a name, different for different names. */
function spreadOf(name: string): number {
  let hash = 2_166_136_261;
  for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16_777_619);
  return (hash >>> 0) % SPREAD_MS;
}

/** Facts about a name, besides its mandate, that decide whether the mandate acts. */
export interface ActingFacts {
  readonly end: NameEnd;
  /** The registry shows the date, and nothing makes it doubtful. */
  readonly isDateCertain: boolean;
  readonly hasOwnerLeft: boolean;
  readonly hasOpenIncident: boolean;
  readonly isAccountLinked: boolean;
  /** Its latest registration or renewal used another account. */
  readonly isInOtherAccount: boolean;
  /** A renewal was sent with unknown outcome. */
  readonly hasUnknownRenewal: boolean;
  /** The policy's current requirements, compared with the mandate's approvals. */
  readonly policy: 'satisfied' | 'asks_more' | 'refuses';
  /** Price of one year; undefined when not in the price list. */
  readonly amount: Amount | undefined;
}

/** Why a mandate doesn't act for a name, by the name's own facts; undefined if it does. */
function heldByFacts(facts: ActingFacts): HeldCode | undefined {
  if (facts.hasUnknownRenewal) return 'earlier_unknown';
  if (facts.policy === 'refuses') return 'policy_refuses';
  if (!facts.isAccountLinked) return 'account_gone';
  if (!facts.isDateCertain) return 'date_in_doubt';
  if (facts.hasOpenIncident) return 'incident_open';
  if (facts.hasOwnerLeft) return 'owner_left';
  if (facts.isInOtherAccount) return 'other_account';
  return facts.policy === 'asks_more' ? 'policy_asks_more' : undefined;
}

export function decideActing(
  mandate: Mandate,
  facts: ActingFacts,
  taken: Taken,
  now: Date,
): SendPlan | HeldCode {
  const held = heldByFacts(facts);
  if (held !== undefined) return held;
  return planSending(mandate, facts.end, facts.amount, taken, now);
}

/** Read in the transaction that marks an order of a mandate as sent. */
export interface SendingFacts {
  readonly mandate: Mandate | undefined;
  /** The mandate's rows still give the approved statement. */
  readonly isUnchanged: boolean;
  readonly name: string;
  /** Tags the name touches now. */
  readonly touched: readonly string[];
  /** The expiry it was to be renewed for, and the current one; undefined when no longer watched. */
  readonly actedFor: Date;
  readonly expiresAt: Date | undefined;
  /** Two people decided to let the name lapse. */
  readonly isLapsing: boolean;
  /** When people were notified; undefined while they weren't. */
  readonly announcedAt: Date | undefined;
  readonly amount: Amount | undefined;
  /** Without this order. */
  readonly taken: Taken;
}

/** Why an order of a mandate may not be marked as sent now; undefined if it may. */
export function refusalToSend(facts: SendingFacts, now: Date): HeldCode | undefined {
  const { mandate, expiresAt, announcedAt } = facts;
  if (mandate === undefined || !facts.isUnchanged || !isInForce(mandate, now)) return 'mandate_ended';
  if (expiresAt === undefined || !covers(mandate, facts.name, facts.touched)) return 'moved_out';
  if (!isSameEnd(facts.actedFor, expiresAt)) return 'renewed_meanwhile';
  if (facts.isLapsing) return 'let_go';
  if (announcedAt === undefined || now.getTime() - announcedAt.getTime() < ANNOUNCED_MS)
    return 'not_announced';
  return overCeiling(mandate.terms, facts.amount, utcDay(now), facts.taken);
}

/** Whether two dates are the same expiry of a name. */
export function isSameEnd(a: Date, b: Date): boolean {
  return Math.abs(a.getTime() - b.getTime()) < SAME_END_MS;
}

/** The decision about an order of a mandate before it is sent. */
export type Clearance =
  | { readonly kind: 'clear' }
  /** Nothing is wrong, but it is too early. */
  | { readonly kind: 'later'; readonly until: Date }
  | { readonly kind: 'held'; readonly code: HeldCode };

/**
 * Facts about a mandate's order when it is due: those an approval checks, and those checked when it is marked as
 * sent.
 */
export interface DueFacts extends ActingFacts, SendingFacts {
  readonly fitsBudgets: boolean;
  /** When the order was made, and when the registry was last asked about its name. */
  readonly madeAt: Date;
  readonly lookedAt: Date | undefined;
}

/** The registry was asked within this time before sending: names that expire soon are looked up every few hours. */
const LOOKED_WITHIN_MS = DAY_MS;

/** Interval between checks of an order that waits for its announcement or the registry. */
const WAIT_MS = HOUR_MS / 4;

/**
 * Decides about an order that is due. It waits for its announcement and for a registry lookup that is recent and
 * after its creation: a restored database may lack a renewal that the registry shows.
 */
export function decideClearance(facts: DueFacts, now: Date): Clearance {
  const held = (code: HeldCode): Clearance => ({ kind: 'held', code });
  const refusal = refusalToSend(facts, now);
  if (refusal === 'not_announced') {
    const { announcedAt } = facts;
    // Announced now it could be sent in a day. If that is too late, people have the remaining time, and the
    // out-of-band channel tells them.
    const until = new Date((announcedAt ?? now).getTime() + ANNOUNCED_MS);
    if (isTooLate(facts.end, until)) return held(refusal);
    return { kind: 'later', until: announcedAt === undefined ? new Date(now.getTime() + WAIT_MS) : until };
  }
  if (refusal === 'day_full') {
    const until = new Date(Date.parse(utcDay(now)) + DAY_MS + spreadOf(facts.name));
    return isTooLate(facts.end, until) ? held(refusal) : { kind: 'later', until };
  }
  const code = refusal ?? heldByFacts(facts) ?? (facts.fitsBudgets ? undefined : 'budget_empty');
  if (code !== undefined) return held(code);
  const seenSince = Math.max(facts.madeAt.getTime(), now.getTime() - LOOKED_WITHIN_MS);
  if (facts.lookedAt === undefined || facts.lookedAt.getTime() < seenSince) {
    const until = new Date(now.getTime() + WAIT_MS);
    // A day is left for people to ask the registry themselves.
    const last = new Date(until.getTime() + DAY_MS);
    return isTooLate(facts.end, last) ? held('date_in_doubt') : { kind: 'later', until };
  }
  return facts.end.renewableUntil <= now ? held('too_late') : { kind: 'clear' };
}

function isTooLate({ renewableUntil }: NameEnd, at: Date): boolean {
  return at >= renewableUntil;
}
