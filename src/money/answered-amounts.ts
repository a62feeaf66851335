import { z } from 'zod';
import { utcDay } from '../zones/calendar-day.ts';
import { type Amount, parseAmount } from './amount.ts';
import { type Price, type PricedTask, quoteOn } from './prices.ts';

/*
 * Amounts in the service's answers. Its document shows none, so an amount is taken only where it cannot be anything
 * else: a single price or amount with its currency beside it.
 */

/** What the service answered to one name. */
export interface PricedAnswer {
  readonly orderId: string;
  readonly name: string;
  readonly task: PricedTask;
  /** Years; undefined for tasks without a period. */
  readonly period: number | undefined;
  readonly at: Date;
  /** As the store keeps it. */
  readonly answer: unknown;
}

const AMOUNT_FIELDS: ReadonlySet<string> = new Set(['price', 'amount', 'value']);
/** Nothing in the service's document nests deeper than this. */
const MAX_DEPTH = 6;

const answerParts = z.looseObject({ object: z.unknown(), data: z.unknown() }).partial();

/** The only amount in an answer's object and data; undefined where there is none, or more than one. */
export function amountInAnswer(answer: unknown): Amount | undefined {
  const parts = answerParts.safeParse(answer).data;
  const found = parts === undefined ? [] : [...amountsIn(parts.object, 0), ...amountsIn(parts.data, 0)];
  const [first, ...others] = found;
  const isOne = others.every(({ currency, minor }) => currency === first?.currency && minor === first.minor);
  return isOne ? first : undefined;
}

function amountsIn(value: unknown, depth: number): Amount[] {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return [];
  const entries = Object.entries(value);
  const currency = entries.find(([field]) => field === 'currency')?.[1];
  const own =
    typeof currency === 'string'
      ? entries.flatMap(([field, each]) => (AMOUNT_FIELDS.has(field) ? readAmount(each, currency) : []))
      : [];
  return [...own, ...entries.flatMap(([, each]) => amountsIn(each, depth + 1))];
}

/** Accepts a text or a number, but no number that JSON may have rounded. */
function readAmount(value: unknown, currency: string): Amount[] {
  const text = typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
  const read = parseAmount(text, currency.trim().toUpperCase());
  return read.ok ? [read.amount] : [];
}

/** An answer whose amount differs from the price list. */
export interface PriceDifference {
  readonly orderId: string;
  readonly name: string;
  readonly task: PricedTask;
  readonly listed: Amount;
  readonly answered: Amount;
}

/**
 * The answers whose amount differs from the price list of their day. An answer without an amount, or a task without a
 * price, is no difference.
 */
export function priceDifferences(
  list: readonly Price[],
  answers: readonly PricedAnswer[],
): PriceDifference[] {
  return answers.flatMap((answered) => {
    const amount = amountInAnswer(answered.answer);
    const listed = quoteOn(list, answered, utcDay(answered.at))?.amount;
    if (amount === undefined || listed === undefined) return [];
    if (amount.currency === listed.currency && amount.minor === listed.minor) return [];
    const { orderId, name, task } = answered;
    return [{ orderId, name, task, listed, answered: amount }];
  });
}
