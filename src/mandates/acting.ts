import { DAY_MS, HOUR_MS } from '../lib/duration.ts';
import type { Amount } from '../money/amount.ts';
import { type BudgetSpan, getPeriod } from '../money/budget.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import type { HoldReason } from './codes.ts';
import { coversName, isActive, type Mandate } from './mandate.ts';
import type { MandateTerms } from './terms.ts';

/**
 * Decides whether a mandate renews a name, and when the order is sent. Pure. Runs when the order is created and again
 * in the transaction that marks it as sent.
 */

/** Maximum number of mandate renewals sent per day (UTC). */
export const MAX_SENT_A_DAY = 200;
/** Time between the announcement and the request. People can stop the order until then. */
export const ANNOUNCEMENT_MS = DAY_MS;
/** A day's requests are spread over this time. */
const SPREAD_MS = 8 * HOUR_MS;
/** If a name's expiry moves by less than this, it was corrected, and the name wasn't renewed. */
export const SAME_PERIOD_MS = 180 * DAY_MS;

/** No regular order is made if the policy would refuse it, another renewal may have succeeded, or nothing is needed. */
const HOLDS_WITHOUT_ORDER: ReadonlySet<HoldReason> = new Set<HoldReason>([
  'policy_refuses',
  'earlier_unknown',
  'renewed_meanwhile',
  'set_to_lapse',
  'mandate_ended',
]);

/** Whether a name that its mandate doesn't renew gets a regular order. */
export function needsRegularOrder(holdReason: HoldReason): boolean {
  return !HOLDS_WITHOUT_ORDER.has(holdReason);
}

/** The amounts of a mandate that its orders use: sent ones, unsent ones, and those with an unknown outcome. */
export interface UsedAmounts {
  /** The day is the one on which the order is sent (UTC, YYYY-MM-DD). */
  readonly byDay: readonly { readonly day: string; readonly minor: bigint }[];
  readonly countOn: (day: string) => number;
}

/** The amount that a mandate has used of its total in a period. */
function sumUsedInPeriod(span: BudgetSpan, day: string, byDay: UsedAmounts['byDay']): bigint {
  const period = getPeriod(span, day);
  return byDay.reduce((sum, used) => (getPeriod(span, used.day) === period ? sum + used.minor : sum), 0n);
}

/** The limit of a mandate that an amount exceeds on a day; undefined if none. Limits are inclusive. */
export function findExceededLimit(
  { max_price, max_total, span }: MandateTerms,
  amount: Amount | undefined,
  day: string,
  used: UsedAmounts,
): Extract<HoldReason, 'price_unknown' | 'price_above' | 'total_spent' | 'day_full'> | undefined {
  if (amount === undefined || amount.currency !== max_price.currency) return 'price_unknown';
  if (amount.minor > max_price.minor) return 'price_above';
  if (sumUsedInPeriod(span, day, used.byDay) + BigInt(amount.minor) > BigInt(max_total.minor))
    return 'total_spent';
  return used.countOn(day) >= MAX_SENT_A_DAY ? 'day_full' : undefined;
}

export interface NameExpiry {
  readonly name: string;
  readonly expiresAt: Date;
  /** The latest time at which a renewal still saves the name. */
  readonly renewableUntil: Date;
}

/** Whether a mandate's notice period for a name has begun, and the name can still be renewed. */
export function isRenewalDue(
  { terms }: Mandate,
  { expiresAt, renewableUntil }: NameExpiry,
  now: Date,
): boolean {
  return expiresAt.getTime() - now.getTime() <= terms.notice * DAY_MS && now < renewableUntil;
}

export function willActInTime(
  { terms, endsAt }: Mandate,
  { name, expiresAt }: Omit<NameExpiry, 'renewableUntil'>,
  now: Date,
): boolean {
  const actsAt = Math.max(now.getTime(), expiresAt.getTime() - terms.notice * DAY_MS);
  return actsAt + ANNOUNCEMENT_MS + computeSpreadDelayMs(name) < endsAt.getTime();
}

/** When a renewal is sent, and its amount. */
export interface SendPlan {
  readonly sendAfter: Date;
  readonly day: string;
  readonly amount: Amount;
}

/**
 * Plans when a name is renewed: a day or a little more from now, and another day later for each day that is full.
 * @returns the hold reason if no time is left or a limit is exceeded
 */
export function planSending(
  mandate: Mandate,
  expiry: NameExpiry,
  amount: Amount | undefined,
  used: UsedAmounts,
  now: Date,
): SendPlan | HoldReason {
  let sendAfter = computeEarliestSendTime(expiry.name, now);
  if (sendAfter >= expiry.renewableUntil) return 'too_late';
  for (;;) {
    const day = getUtcDay(sendAfter);
    const exceededLimit = findExceededLimit(mandate.terms, amount, day, used);
    if (exceededLimit !== undefined && exceededLimit !== 'day_full') return exceededLimit;
    if (exceededLimit === undefined && amount !== undefined)
      return sendAfter < mandate.endsAt ? { sendAfter, day, amount } : 'mandate_ended';
    sendAfter = new Date(sendAfter.getTime() + DAY_MS);
    // The last day is left for people to act.
    if (sendAfter.getTime() + DAY_MS >= expiry.renewableUntil.getTime()) return 'day_full';
  }
}

/** Returns a time after a day's notice. The exact time depends on the name. */
export function computeEarliestSendTime(name: string, now: Date): Date {
  return new Date(now.getTime() + ANNOUNCEMENT_MS + computeSpreadDelayMs(name));
}

/** Derived from the name's FNV-1a hash, so it is always the same for one name. */
function computeSpreadDelayMs(name: string): number {
  let hash = 2_166_136_261;
  for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16_777_619);
  return (hash >>> 0) % SPREAD_MS;
}

/** Facts about a name that decide whether its mandate renews it. */
export interface RenewalFacts {
  readonly expiry: NameExpiry;
  /** The registry shows the date, and nothing casts doubt on it. */
  readonly isDateCertain: boolean;
  readonly hasOwnerLeft: boolean;
  readonly hasOpenIncident: boolean;
  readonly isAccountLinked: boolean;
  /** The name's latest registration or renewal used another account. */
  readonly isInOtherAccount: boolean;
  readonly hasUnknownRenewal: boolean;
  /** The policy's current requirements, compared with the mandate's approvals. */
  readonly policy: 'satisfied' | 'needs_more_approvals' | 'refuses';
  /** The price of one year; undefined if it isn't listed. */
  readonly amount: Amount | undefined;
}

/** Why a mandate doesn't renew a name, from the facts about the name; undefined if it does. */
function findHoldReason(facts: RenewalFacts): HoldReason | undefined {
  if (facts.hasUnknownRenewal) return 'earlier_unknown';
  if (facts.policy === 'refuses') return 'policy_refuses';
  if (!facts.isAccountLinked) return 'account_gone';
  if (!facts.isDateCertain) return 'date_in_doubt';
  if (facts.hasOpenIncident) return 'incident_open';
  if (facts.hasOwnerLeft) return 'owner_left';
  if (facts.isInOtherAccount) return 'other_account';
  return facts.policy === 'needs_more_approvals' ? 'policy_asks_more' : undefined;
}

export function decideRenewal(
  mandate: Mandate,
  facts: RenewalFacts,
  used: UsedAmounts,
  now: Date,
): SendPlan | HoldReason {
  const holdReason = findHoldReason(facts);
  return holdReason ?? planSending(mandate, facts.expiry, facts.amount, used, now);
}

/** Facts read in the transaction that marks a mandate's order as sent. */
export interface FinalCheckFacts {
  readonly mandate: Mandate | undefined;
  /** The mandate's rows still match the approved statement. */
  readonly isUnchanged: boolean;
  readonly name: string;
  /** The name's current tags. */
  readonly affectedTags: readonly string[];
  /** The expiry when the order was created, and the current one; undefined if the name is no longer watched. */
  readonly plannedExpiry: Date;
  readonly expiresAt: Date | undefined;
  /** Two people decided to let the name lapse. */
  readonly isLapsing: boolean;
  /** When the order was announced; undefined if it wasn't yet. */
  readonly announcedAt: Date | undefined;
  readonly amount: Amount | undefined;
  /** The mandate's used amounts, without this order. */
  readonly used: UsedAmounts;
}

/** Why a mandate's order must not be marked as sent now; undefined if it may. */
export function findSendHoldReason(facts: FinalCheckFacts, now: Date): HoldReason | undefined {
  const { mandate, expiresAt, announcedAt } = facts;
  if (mandate === undefined || !facts.isUnchanged || !isActive(mandate, now)) return 'mandate_ended';
  if (expiresAt === undefined || !coversName(mandate, facts.name, facts.affectedTags)) return 'moved_out';
  if (!isSameRegistrationPeriod(facts.plannedExpiry, expiresAt)) return 'renewed_meanwhile';
  if (facts.isLapsing) return 'set_to_lapse';
  if (announcedAt === undefined || now.getTime() - announcedAt.getTime() < ANNOUNCEMENT_MS)
    return 'not_announced';
  return findExceededLimit(mandate.terms, facts.amount, getUtcDay(now), facts.used);
}

export function isSameRegistrationPeriod(a: Date, b: Date): boolean {
  return Math.abs(a.getTime() - b.getTime()) < SAME_PERIOD_MS;
}

/** Whether a mandate's order may be sent. */
export type SendDecision =
  | { readonly kind: 'clear' }
  /** Too early to send. */
  | { readonly kind: 'later'; readonly until: Date }
  | { readonly kind: 'held'; readonly code: HoldReason };

/** Facts that decide whether a mandate's due order is sent. */
export interface DueFacts extends RenewalFacts, FinalCheckFacts {
  readonly fitsBudgets: boolean;
  /** When the order was created. */
  readonly createdAt: Date;
  /** When the name was last looked up at the registry. */
  readonly lastLookupAt: Date | undefined;
}

/**
 * The maximum age of the registry lookup when an order is sent. Names that expire soon are looked up more often.
 */
const MAX_LOOKUP_AGE_MS = DAY_MS;

/** Interval between checks of an order that waits for its announcement or the registry. */
const RECHECK_INTERVAL_MS = HOUR_MS / 4;

/**
 * Decides whether a due order is sent. It waits for its announcement, and for a recent registry lookup after the order
 * was created, because a restored database may lack a renewal that the registry shows.
 */
export function decideSend(facts: DueFacts, now: Date): SendDecision {
  const hold = (code: HoldReason): SendDecision => ({ kind: 'held', code });
  const finalHold = findSendHoldReason(facts, now);
  if (finalHold === 'not_announced') {
    const { announcedAt } = facts;
    // If announced now, the order could be sent in a day. If that is too late, people are left the remaining time, and
    // the expiry alerts notify them.
    const until = new Date((announcedAt ?? now).getTime() + ANNOUNCEMENT_MS);
    if (isTooLate(facts.expiry, until)) return hold(finalHold);
    return {
      kind: 'later',
      until: announcedAt === undefined ? new Date(now.getTime() + RECHECK_INTERVAL_MS) : until,
    };
  }
  if (finalHold === 'day_full') {
    const until = new Date(Date.parse(getUtcDay(now)) + DAY_MS + computeSpreadDelayMs(facts.name));
    return isTooLate(facts.expiry, until) ? hold(finalHold) : { kind: 'later', until };
  }
  const code = finalHold ?? findHoldReason(facts) ?? (facts.fitsBudgets ? undefined : 'budget_empty');
  if (code !== undefined) return hold(code);
  const requiredSince = Math.max(facts.createdAt.getTime(), now.getTime() - MAX_LOOKUP_AGE_MS);
  if (facts.lastLookupAt === undefined || facts.lastLookupAt.getTime() < requiredSince) {
    const until = new Date(now.getTime() + RECHECK_INTERVAL_MS);
    // People are left a day to check the registry.
    const latest = new Date(until.getTime() + DAY_MS);
    return isTooLate(facts.expiry, latest) ? hold('date_in_doubt') : { kind: 'later', until };
  }
  return facts.expiry.renewableUntil <= now ? hold('too_late') : { kind: 'clear' };
}

function isTooLate({ renewableUntil }: NameExpiry, at: Date): boolean {
  return at >= renewableUntil;
}
