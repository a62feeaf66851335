import { DAY_MS, HOUR_MS } from '../lib/duration.ts';
import type { Amount } from '../money/amount.ts';
import { type BudgetSpan, periodOf } from '../money/budget.ts';
import { utcDay } from '../zones/calendar-day.ts';
import type { HeldCode } from './codes.ts';
import { covers, isInForce, type Mandate } from './mandate.ts';
import type { MandateTerms } from './terms.ts';

/*
 * When a mandate acts for a name, when that goes out, and why it does not act. Pure: everything that is known comes as an
 * argument, when the order is made and again in the transaction that marks it as sent.
 */

/** Renewals by mandates that go out on one day (UTC). */
export const MAX_SENT_A_DAY = 200;
/** Between the message that says so and the request: the time in which people can stop it. */
export const ANNOUNCED_MS = DAY_MS;
/** The requests of one day are spread over this time. */
const SPREAD_MS = 8 * HOUR_MS;
/** Two ends of one name lie further apart than this. Nearer together they are the same end, of which a better date came. */
export const SAME_END_MS = 180 * DAY_MS;

/** What became of a name that needs nobody any more, so that it is not asked for when its order is stopped. */
const NEEDS_NOBODY: ReadonlySet<HeldCode> = new Set<HeldCode>([
  'renewed_meanwhile',
  'let_go',
  'mandate_ended',
]);

/** Whether a name for which a mandate does not act is asked for in the ordinary way. Where the policy refuses, nobody could ask. */
export function isAskedFor(code: HeldCode): boolean {
  return code !== 'policy_refuses' && code !== 'earlier_unknown' && !NEEDS_NOBODY.has(code);
}

/** What is taken out of the ceilings of a mandate by its other orders: sent, waiting to be sent, or of unknown outcome. */
export interface Taken {
  /** By the day (UTC, YYYY-MM-DD) on which it is sent. */
  readonly byDay: readonly { readonly day: string; readonly minor: bigint }[];
  /** How many orders of any mandate are sent on a day. */
  readonly countOn: (day: string) => number;
}

/** What a span of a mandate has taken out of its sum. */
function takenIn(span: BudgetSpan, day: string, byDay: Taken['byDay']): bigint {
  const period = periodOf(span, day);
  return byDay.reduce((sum, each) => (periodOf(span, each.day) === period ? sum + each.minor : sum), 0n);
}

/** Why an amount does not fit under the ceilings of a mandate on a day; undefined when it does. Ceilings are included. */
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

/** The end of a name by which a mandate goes. */
export interface NameEnd {
  readonly name: string;
  /** The date that counts. */
  readonly expiresAt: Date;
  /** Last moment at which a renewal keeps it. */
  readonly renewableUntil: Date;
}

/** Whether a mandate has to act for a name by now. */
export function isDueFor({ terms }: Mandate, { expiresAt }: NameEnd, now: Date): boolean {
  return expiresAt.getTime() - now.getTime() <= terms.notice * DAY_MS;
}

/** Whether a mandate still sends something for an end of a name before it is over itself. */
export function isInTimeFor(
  { terms, endsAt }: Mandate,
  { name, expiresAt }: Omit<NameEnd, 'renewableUntil'>,
  now: Date,
): boolean {
  const actsAt = Math.max(now.getTime(), expiresAt.getTime() - terms.notice * DAY_MS);
  return actsAt + ANNOUNCED_MS + spreadOf(name) < endsAt.getTime();
}

/** A moment of sending, and what it takes. */
export interface SendPlan {
  readonly sendAfter: Date;
  readonly day: string;
  readonly amount: Amount;
}

/**
 * Plans when a name goes out: a day from now, spread over some hours, and a day later for each day that has as many orders as
 * may go. @returns why not, where that leaves no time or a ceiling is in the way
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

/** The same for a name at all times, and different for different names. */
function spreadOf(name: string): number {
  let hash = 2_166_136_261;
  for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16_777_619);
  return (hash >>> 0) % SPREAD_MS;
}

/** What is known of a name besides its mandate when that is to act. */
export interface ActingFacts {
  readonly end: NameEnd;
  /** The registry shows the date, and nothing makes it doubtful. */
  readonly isDateCertain: boolean;
  readonly hasOwnerLeft: boolean;
  readonly hasOpenIncident: boolean;
  readonly isAccountLinked: boolean;
  /** Its latest registration or renewal went out with another account. */
  readonly isInOtherAccount: boolean;
  /** An order to renew it has gone out, and nobody knows what became of it. */
  readonly hasUnknownRenewal: boolean;
  /** What the policy asks for the name at this moment, of what the mandate was given. */
  readonly policy: 'satisfied' | 'asks_more' | 'refuses';
  /** What one year costs; undefined when the list does not tell. */
  readonly amount: Amount | undefined;
}

/** Why a mandate does not act for a name, as far as the name itself tells; undefined when nothing stands in the way. */
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

/** Decides about a name for which a mandate is due. */
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

/** What is read in the transaction that marks an order of a mandate as sent. */
export interface SendingFacts {
  readonly mandate: Mandate | undefined;
  /** The mandate's rows still give the statement that was approved. */
  readonly isUnchanged: boolean;
  readonly name: string;
  /** The tags that it touches at this moment. */
  readonly touched: readonly string[];
  /** The end that it was to be renewed for, and the one that it has by now; undefined when it is not watched any more. */
  readonly actedFor: Date;
  readonly expiresAt: Date | undefined;
  /** Two people have decided to let the name go. */
  readonly isLapsing: boolean;
  /** When people were told; undefined while they were not. */
  readonly announcedAt: Date | undefined;
  readonly amount: Amount | undefined;
  /** Without this order. */
  readonly taken: Taken;
}

/** Why an order of a mandate may not be marked as sent at a moment; undefined when it may. */
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

/** Whether two dates are of the same end of a name. */
export function isSameEnd(a: Date, b: Date): boolean {
  return Math.abs(a.getTime() - b.getTime()) < SAME_END_MS;
}

/** When an order of a mandate is looked at before it is sent. */
export type Clearance =
  | { readonly kind: 'clear' }
  /** Nothing is wrong, and it is not time yet. */
  | { readonly kind: 'later'; readonly until: Date }
  | { readonly kind: 'held'; readonly code: HeldCode };

/** What is known of an order of a mandate when it is due: all that an approval looks at, and what its mark will look at. */
export interface DueFacts extends ActingFacts, SendingFacts {
  /** The budgets have what it costs. */
  readonly fitsBudgets: boolean;
  /** When the order was made, and when the registry was last asked about its name. */
  readonly madeAt: Date;
  readonly lookedAt: Date | undefined;
}

/** The registry was asked so shortly before a name goes out: names that end soon are looked at every few hours. */
const LOOKED_WITHIN_MS = DAY_MS;

/** Between two looks at an order that waits for people to be told, or for the registry. */
const WAIT_MS = HOUR_MS / 4;

/**
 * Decides about an order that is due. It waits for its message and for a look at the registry, since it was made and lately: a
 * database that was put back knows nothing of a renewal that the registry shows by then.
 */
export function decideClearance(facts: DueFacts, now: Date): Clearance {
  const held = (code: HeldCode): Clearance => ({ kind: 'held', code });
  const refusal = refusalToSend(facts, now);
  if (refusal === 'not_announced') {
    const { announcedAt } = facts;
    // Said now it could go out in a day: where that is too late, people have the rest of the time, and hear of it out of band.
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
    // A day is left to people who may ask the registry themselves.
    const last = new Date(until.getTime() + DAY_MS);
    return isTooLate(facts.end, last) ? held('date_in_doubt') : { kind: 'later', until };
  }
  return facts.end.renewableUntil <= now ? held('too_late') : { kind: 'clear' };
}

function isTooLate({ renewableUntil }: NameEnd, at: Date): boolean {
  return at >= renewableUntil;
}
