import { z } from 'zod';
import { DAY_MS } from '../lib/duration.ts';
import { parseEnteredDate } from '../lib/entered-date.ts';
import { type Amount, type AmountIssue, formatDecimal, parseAmount } from '../money/amount.ts';
import { BUDGET_SPANS } from '../money/budget.ts';
import { normalizePattern } from '../policy/name-patterns.ts';
import { getUtcDay } from '../zones/calendar-day.ts';

/** The terms of a mandate: the names to renew without individual approval, and the limits. Pure. */

/** Limited, because each pattern takes a line of the mandate's card. */
const MAX_PATTERNS = 50;
const MAX_DAYS_AHEAD = 400;
export const MIN_NOTICE_DAYS = 3;
export const MAX_NOTICE_DAYS = 30;
export const DEFAULT_NOTICE_DAYS = 14;

const limitSchema = z.object({ currency: z.string(), minor: z.int().min(1) });

/** The input of a mandate's order, keyed by form field. */
export const mandateTermsSchema = z.object({
  /** Patterns as in policy rules: `*.rest`, `tag:brand`, or a name. */
  mandate_names: z.array(z.string()).min(1).max(MAX_PATTERNS),
  /** The highest price for renewing one name for a year. */
  max_price: limitSchema,
  /** The most that may be spent in a calendar month or year. */
  max_total: limitSchema,
  span: z.enum(BUDGET_SPANS),
  /** The last day on which the mandate sends orders (UTC, YYYY-MM-DD). */
  until: z.iso.date(),
  /** How many days before a name's expiry its renewal is announced. */
  notice: z.int().min(MIN_NOTICE_DAYS).max(MAX_NOTICE_DAYS),
});
export type MandateTerms = Readonly<z.output<typeof mandateTermsSchema>>;

export function computeMandateEnd({ until }: MandateTerms): Date {
  return new Date(Date.parse(until) + DAY_MS);
}

/** The terms as shown in a statement: amounts have all decimals and the currency. */
export function toStatementTerms({ max_price, max_total, span, until, notice }: MandateTerms) {
  const formatWithCurrency = (amount: Amount) => `${formatDecimal(amount)} ${amount.currency}`;
  return {
    max_price: formatWithCurrency(max_price),
    max_total: formatWithCurrency(max_total),
    span,
    until,
    notice,
  };
}

export interface TermsInput {
  /** Patterns separated by commas, spaces or new lines. */
  readonly mandate_names: string;
  readonly max_price: string;
  readonly max_total: string;
  readonly span: string;
  readonly until: string;
  /** If empty, {@link DEFAULT_NOTICE_DAYS}. */
  readonly notice: string;
}

export type MandateField = keyof TermsInput | 'account';

export type MandateIssue = { readonly field: MandateField } & (
  | {
      readonly code:
        | AmountIssue
        | 'no_names'
        /** A limit of zero. No order could be sent. */
        | 'zero'
        /** A total below the maximum price of one name. */
        | 'below_max_price'
        | 'span_unknown'
        | 'invalid_date'
        | 'date_in_past'
        /** A pattern that matches every name, including future ones. */
        | 'matches_everything';
    }
  | { readonly code: 'unreadable_pattern'; readonly pattern: string }
  /** The pattern matches no name on the watch list. */
  | { readonly code: 'matches_nothing'; readonly pattern: string }
  /** The person has no account of their own, or the team has none. */
  | { readonly code: 'no_account' }
  /** Nothing is renewed in the demo system. */
  | { readonly code: 'demo_account' }
  | { readonly code: 'wrong_currency'; readonly currency: string }
  | { readonly code: 'too_many_names' | 'too_far_ahead'; readonly max: number }
  | { readonly code: 'notice_out_of_range'; readonly min: number; readonly max: number }
);

export type TermsResult =
  | { readonly ok: true; readonly terms: MandateTerms }
  | { readonly ok: false; readonly issues: readonly MandateIssue[] };

/** Parses the terms and reports all issues by field. @param today in UTC, YYYY-MM-DD */
export function parseTerms(input: TermsInput, currency: string, today: string): TermsResult {
  const issues: MandateIssue[] = [];
  const report = (issue: MandateIssue) => void issues.push(issue);
  const patterns = parsePatterns(input.mandate_names, report);
  const maxPrice = parseLimit('max_price', input.max_price, currency, report);
  const maxTotal = parseLimit('max_total', input.max_total, currency, report);
  if (maxPrice !== undefined && maxTotal !== undefined && maxTotal.minor < maxPrice.minor)
    report({ field: 'max_total', code: 'below_max_price' });
  const span = BUDGET_SPANS.find((option) => option === input.span.trim());
  if (span === undefined) report({ field: 'span', code: 'span_unknown' });
  const until = parseLastDay(input.until, today, report);
  const notice = parseNotice(input.notice, report);
  const isComplete = maxPrice && maxTotal && span && until && notice;
  if (issues.length > 0 || !isComplete) return { ok: false, issues };
  return {
    ok: true,
    terms: { mandate_names: patterns, max_price: maxPrice, max_total: maxTotal, span, until, notice },
  };
}

type ReportIssue = (issue: MandateIssue) => void;

function parsePatterns(text: string, report: ReportIssue): string[] {
  const field = 'mandate_names';
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
  if (entries.length === 0) report({ field, code: 'no_names' });
  const patterns = entries.flatMap((entry) => {
    const pattern = normalizePattern(entry);
    if (pattern === undefined) report({ field, code: 'unreadable_pattern', pattern: entry });
    if (pattern === '*') report({ field, code: 'matches_everything' });
    return pattern ?? [];
  });
  const distinctPatterns = [...new Set(patterns)];
  if (distinctPatterns.length > MAX_PATTERNS) report({ field, code: 'too_many_names', max: MAX_PATTERNS });
  return distinctPatterns;
}

function parseLimit(
  field: 'max_price' | 'max_total',
  text: string,
  currency: string,
  report: ReportIssue,
): Amount | undefined {
  const [, amountText = text, enteredCurrency] = /^(\S+)\s+([A-Za-z]{3})$/.exec(text.trim()) ?? [];
  if (enteredCurrency !== undefined && enteredCurrency.toUpperCase() !== currency) {
    report({ field, code: 'wrong_currency', currency });
    return undefined;
  }
  const parsed = parseAmount(amountText, currency);
  if (!parsed.ok) {
    report({ field, code: parsed.issue });
    return undefined;
  }
  if (parsed.amount.minor === 0) report({ field, code: 'zero' });
  return parsed.amount;
}

function parseLastDay(text: string, today: string, report: ReportIssue): string | undefined {
  const field = 'until';
  const parsed = parseEnteredDate(text);
  const day = parsed.ok ? getUtcDay(parsed.value) : undefined;
  if (day === undefined) report({ field, code: 'invalid_date' });
  // Orders created today are sent tomorrow at the earliest.
  else if (day <= today) report({ field, code: 'date_in_past' });
  else if (Date.parse(day) - Date.parse(today) > MAX_DAYS_AHEAD * DAY_MS)
    report({ field, code: 'too_far_ahead', max: MAX_DAYS_AHEAD });
  return day;
}

function parseNotice(text: string, report: ReportIssue): number | undefined {
  const input = text.trim();
  if (input === '') return DEFAULT_NOTICE_DAYS;
  const days = /^\d{1,3}$/.test(input) ? Number(input) : 0;
  if (days >= MIN_NOTICE_DAYS && days <= MAX_NOTICE_DAYS) return days;
  report({ field: 'notice', code: 'notice_out_of_range', min: MIN_NOTICE_DAYS, max: MAX_NOTICE_DAYS });
  return undefined;
}
