import { DAY_MS, HOUR_MS } from '../lib/duration.ts';
import type { Amount } from '../money/amount.ts';
import { type BudgetSpan, getPeriod } from '../money/budget.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import type { HoldReason } from './codes.ts';
import { coversName, isActive, type Mandate } from './mandate.ts';
import type { MandateTerms } from './terms.ts';

/**
 * Decides whether a mandate renews a name, and when the renewal's order is sent. Pure. Runs when the order is created
 * and again in the transaction that marks it as sent.
 */

/** Maximum number of mandate renewals sent per day (UTC). */
export const MAX_RENEWALS_PER_DAY = 200;
/** Time between the announcement and the request, during which people can stop the order. */
export const ANNOUNCEMENT_PERIOD_MS = DAY_MS;
/** A day's requests are spread over this time. */
const SPREAD_MS = 8 * HOUR_MS;
/** If an expiry date changes by less than this, it was corrected, and the name wasn't renewed. */
export const SAME_PERIOD_MS = 180 * DAY_MS;

/**
 * No regular order is created if the policy would refuse it, the name may already be renewed, or it needs no renewal.
 */
const HOLDS_WITHOUT_ORDER: ReadonlySet<HoldReason> = new Set<HoldReason>([
  'policy_refuses',
  'earlier_unknown',
  'renewed_meanwhile',
  'set_to_lapse',
  'mandate_ended',
]);

export function needsRegularOrder(holdReason: HoldReason): boolean {
  return !HOLDS_WITHOUT_ORDER.has(holdReason);
}

/** The amounts that a mandate's orders use, including unsent orders and orders with an unknown outcome. */
export interface UsedAmounts {
  /** `day` is the day on which the order is sent (UTC, YYYY-MM-DD). */
  readonly amountsByDay: readonly { readonly day: string; readonly minor: bigint }[];
  readonly countOrdersOn: (day: string) => number;
}

/** The amount of a mandate's total that is used in the period of `day`. */
function sumUsedInPeriod(span: BudgetSpan, day: string, byDay: UsedAmounts['amountsByDay']): bigint {
  const period = getPeriod(span, day);
  return byDay.reduce((sum, entry) => (getPeriod(span, entry.day) === period ? sum + entry.minor : sum), 0n);
}

/** The mandate's limit that an amount would exceed on a day; undefined if none. Limits are inclusive. */
export function findExceededLimit(
  { max_price, max_total, span }: MandateTerms,
  amount: Amount | undefined,
  day: string,
  usedAmounts: UsedAmounts,
): Extract<HoldReason, 'price_unknown' | 'price_above' | 'total_spent' | 'day_full'> | undefined {
  if (amount === undefined || amount.currency !== max_price.currency) return 'price_unknown';
  if (amount.minor > max_price.minor) return 'price_above';
  if (sumUsedInPeriod(span, day, usedAmounts.amountsByDay) + BigInt(amount.minor) > BigInt(max_total.minor))
    return 'total_spent';
  return usedAmounts.countOrdersOn(day) >= MAX_RENEWALS_PER_DAY ? 'day_full' : undefined;
}

export interface NameExpiry {
  readonly name: string;
  readonly expiresAt: Date;
  /** After this time, the name can no longer be renewed. */
  readonly renewableUntil: Date;
}

/** Whether the notice period before a name's expiry has begun, and the name can still be renewed. */
export function isRenewalDue(
  { terms }: Mandate,
  { expiresAt, renewableUntil }: NameExpiry,
  now: Date,
): boolean {
  return expiresAt.getTime() - now.getTime() <= terms.notice * DAY_MS && now < renewableUntil;
}

/** Whether a mandate will renew a name before the mandate ends. */
export function willActInTime(
  { terms, endsAt }: Mandate,
  { name, expiresAt }: Omit<NameExpiry, 'renewableUntil'>,
  now: Date,
): boolean {
  const actionTime = Math.max(now.getTime(), expiresAt.getTime() - terms.notice * DAY_MS);
  return actionTime + ANNOUNCEMENT_PERIOD_MS + computeSpreadDelayMs(name) < endsAt.getTime();
}

export interface SendPlan {
  readonly sendAfter: Date;
  readonly day: string;
  readonly amount: Amount;
}

/**
 * Plans when a name's renewal is sent: after the announcement period, or later if the day's limit is already reached.
 * @returns a hold reason if no time is left or another limit is exceeded
 */
export function planSending(
  mandate: Mandate,
  expiry: NameExpiry,
  amount: Amount | undefined,
  usedAmounts: UsedAmounts,
  now: Date,
): SendPlan | HoldReason {
  let sendAfter = computeEarliestSendTime(expiry.name, now);
  if (sendAfter >= expiry.renewableUntil) return 'too_late';
  for (;;) {
    const day = getUtcDay(sendAfter);
    const exceededLimit = findExceededLimit(mandate.terms, amount, day, usedAmounts);
    if (exceededLimit !== undefined && exceededLimit !== 'day_full') return exceededLimit;
    if (exceededLimit === undefined && amount !== undefined)
      return sendAfter < mandate.endsAt ? { sendAfter, day, amount } : 'mandate_ended';
    sendAfter = new Date(sendAfter.getTime() + DAY_MS);
    // People need the last day to act themselves.
    if (sendAfter.getTime() + DAY_MS >= expiry.renewableUntil.getTime()) return 'day_full';
  }
}

/** Returns a time after the announcement period. The exact time depends on the name. */
export function computeEarliestSendTime(name: string, now: Date): Date {
  return new Date(now.getTime() + ANNOUNCEMENT_PERIOD_MS + computeSpreadDelayMs(name));
}

/** The delay is derived from the FNV-1a hash of the name, so it never changes. */
function computeSpreadDelayMs(name: string): number {
  let hash = 2_166_136_261;
  for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16_777_619);
  return (hash >>> 0) % SPREAD_MS;
}

export interface RenewalFacts {
  readonly expiry: NameExpiry;
  /** The registry shows the expiry date, and nothing contradicts it. */
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
  usedAmounts: UsedAmounts,
  now: Date,
): SendPlan | HoldReason {
  return findHoldReason(facts) ?? planSending(mandate, facts.expiry, facts.amount, usedAmounts, now);
}

/** Facts that are read in the transaction that marks a mandate's order as sent. */
export interface FinalCheckFacts {
  readonly mandate: Mandate | undefined;
  /** Whether the mandate's rows still match the approved statement. */
  readonly isMandateUnchanged: boolean;
  readonly name: string;
  readonly affectedTags: readonly string[];
  /** The expiry when the order was created. */
  readonly plannedExpiry: Date;
  /** The current expiry; undefined if the name is no longer watched. */
  readonly expiresAt: Date | undefined;
  /** Two people decided to let the name lapse. */
  readonly isLapsing: boolean;
  /** Undefined until the order is announced. */
  readonly announcedAt: Date | undefined;
  readonly amount: Amount | undefined;
  /** The mandate's used amounts without this order's. */
  readonly usedAmounts: UsedAmounts;
}

/** Why a mandate's order must not be sent now; undefined if it may be sent. */
export function findSendHoldReason(facts: FinalCheckFacts, now: Date): HoldReason | undefined {
  const { mandate, expiresAt, announcedAt } = facts;
  if (mandate === undefined || !facts.isMandateUnchanged || !isActive(mandate, now)) return 'mandate_ended';
  if (expiresAt === undefined || !coversName(mandate, facts.name, facts.affectedTags)) return 'moved_out';
  if (!isSameRegistrationPeriod(facts.plannedExpiry, expiresAt)) return 'renewed_meanwhile';
  if (facts.isLapsing) return 'set_to_lapse';
  if (announcedAt === undefined || now.getTime() - announcedAt.getTime() < ANNOUNCEMENT_PERIOD_MS)
    return 'not_announced';
  return findExceededLimit(mandate.terms, facts.amount, getUtcDay(now), facts.usedAmounts);
}

export function isSameRegistrationPeriod(a: Date, b: Date): boolean {
  return Math.abs(a.getTime() - b.getTime()) < SAME_PERIOD_MS;
}

export type SendDecision =
  | { readonly kind: 'clear' }
  /** Too early to send. */
  | { readonly kind: 'later'; readonly until: Date }
  | { readonly kind: 'held'; readonly code: HoldReason };

export interface DueOrderFacts extends RenewalFacts, FinalCheckFacts {
  readonly fitsBudgets: boolean;
  readonly createdAt: Date;
  /** The time of the last registry lookup. */
  readonly lastLookupAt: Date | undefined;
}

/** Maximum age of the registry lookup at sending. Names that expire soon are looked up more often. */
const MAX_LOOKUP_AGE_MS = DAY_MS;

/** Interval between checks of an order that waits for its announcement or the registry. */
const RECHECK_INTERVAL_MS = HOUR_MS / 4;

/**
 * Decides whether a due order is sent. The order waits for its announcement, and for a registry lookup that is recent
 * and newer than the order, because a restored database may lack a renewal that the registry shows.
 */
export function decideSend(facts: DueOrderFacts, now: Date): SendDecision {
  const hold = (code: HoldReason): SendDecision => ({ kind: 'held', code });
  const finalHold = findSendHoldReason(facts, now);
  if (finalHold === 'not_announced') {
    const { announcedAt } = facts;
    // An order announced now could be sent in a day. If the name can't wait that long, people must act, and the expiry
    // alerts notify them.
    const until = new Date((announcedAt ?? now).getTime() + ANNOUNCEMENT_PERIOD_MS);
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
  const oldestAllowedLookup = Math.max(facts.createdAt.getTime(), now.getTime() - MAX_LOOKUP_AGE_MS);
  if (facts.lastLookupAt === undefined || facts.lastLookupAt.getTime() < oldestAllowedLookup) {
    const until = new Date(now.getTime() + RECHECK_INTERVAL_MS);
    // People need a day to check the registry themselves.
    const manualCheckEnd = new Date(until.getTime() + DAY_MS);
    return isTooLate(facts.expiry, manualCheckEnd) ? hold('date_in_doubt') : { kind: 'later', until };
  }
  return facts.expiry.renewableUntil <= now ? hold('too_late') : { kind: 'clear' };
}

function isTooLate({ renewableUntil }: NameExpiry, time: Date): boolean {
  return time >= renewableUntil;
}
