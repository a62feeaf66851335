import { z } from 'zod';
import { groupBy } from '../lib/collections.ts';
import { findZoneProfile } from '../zones/rules.ts';
import { type Amount, sumByCurrency } from './amount.ts';

/**
 * The team's own price list. If no price is listed for a task, its cost is unknown, but the task is allowed.
 */

/** Tasks that cost money in every zone. */
export const CHARGED_TASKS = ['create', 'transfer', 'renew', 'restore'] as const;
/** Includes tasks whose cost the service API doesn't document. */
export const PRICED_TASKS = [...CHARGED_TASKS, 'owner-change', 'authcode'] as const;
export type PricedTask = (typeof PRICED_TASKS)[number];

/** Tasks whose price depends on the number of years. Others have the period 1. */
const TASKS_WITH_PERIOD: ReadonlySet<PricedTask> = new Set<PricedTask>(['create', 'renew']);
/** Tasks that include a registration or renewal, which costs more for premium names. */
const PREMIUM_TASKS: ReadonlySet<PricedTask> = new Set<PricedTask>(['create', 'transfer', 'renew']);

export interface Price {
  /** In ASCII without a leading dot: `rest`, `co.uk`. */
  readonly zone: string;
  readonly task: PricedTask;
  /** Years; 1 for tasks without a period. */
  readonly period: number;
  readonly amount: Amount;
  /** YYYY-MM-DD. */
  readonly validFrom: string;
  readonly source: string;
}

const amountSchema = z.object({ currency: z.string(), minor: z.int() });
const stringsSchema = z.array(z.string()).readonly();
const quoteSchema = z.object({
  amount: amountSchema,
  validFrom: z.string(),
  source: z.string(),
  /**
   * How many listed prices the amount contains: the number of years if only a one-year price is listed, otherwise 1.
   */
  times: z.int(),
});
export type Quote = Readonly<z.output<typeof quoteSchema>>;

/** Stored with the order's events. */
export const storedCostSchema = z.object({
  names: z.array(z.object({ name: z.string(), quote: quoteSchema.optional() })).readonly(),
  /** The sum of the known prices in each currency. */
  sums: z.array(amountSchema).readonly(),
  /** The number of names without a known price, which the sums don't include. */
  unknown: z.int(),
  /** At least one name may be premium, so the sums may be too low. */
  mayCostMore: z.boolean(),
  /** The `validFrom` days of the prices, latest first. */
  days: stringsSchema,
  sources: stringsSchema,
});
export type OrderCost = Readonly<z.output<typeof storedCostSchema>>;

export function isPricedTask(task: string): task is PricedTask {
  return PRICED_TASKS.some((pricedTask) => pricedTask === task);
}

/** Whether a task always costs money, so that a missing price must be mentioned. */
export function isAlwaysCharged(task: PricedTask): boolean {
  return CHARGED_TASKS.some((chargedTask) => chargedTask === task);
}

export function hasPeriod(task: PricedTask): boolean {
  return TASKS_WITH_PERIOD.has(task);
}

type Product = Pick<Price, 'zone' | 'task' | 'period'>;

function formatProductKey({ zone, task, period }: Product): string {
  return `${zone} ${task} ${period}`;
}

export function formatPriceKey(price: Omit<Price, 'amount' | 'source'>): string {
  return `${formatProductKey(price)} ${price.validFrom}`;
}

export interface PriceEdit {
  readonly before: Price | undefined;
  readonly after: Price;
}

export function isSamePrice(a: Price, b: Price): boolean {
  return (
    formatPriceKey(a) === formatPriceKey(b) &&
    a.amount.minor === b.amount.minor &&
    a.amount.currency === b.amount.currency &&
    a.source === b.source
  );
}

/** A new price replaces a listed one with the same zone, task, period and day. */
export function diffPrices(list: readonly Price[], prices: readonly Price[]): readonly PriceEdit[] {
  const listedPricesByKey = new Map(list.map((price) => [formatPriceKey(price), price]));
  return prices
    .map((after) => ({ before: listedPricesByKey.get(formatPriceKey(after)), after }))
    .filter(({ before, after }) => before === undefined || !isSamePrice(before, after));
}

/**
 * Returns everything after the first label. Prices for `de` don't apply to `com.de`, which is another registry's zone.
 */
export function getZone(name: string): string {
  return name.slice(name.indexOf('.') + 1);
}

export interface PriceQuery {
  readonly name: string;
  readonly task: PricedTask;
  /** Years, 1 by default. */
  readonly period?: number | undefined;
}

/**
 * Uses the newest valid price. If the list has no price for several years, the one-year price is multiplied.
 * @param day YYYY-MM-DD
 * @returns undefined if no price is listed
 */
export function findQuote(list: readonly Price[], query: PriceQuery, day: string): Quote | undefined {
  const { name, task } = query;
  const period = hasPeriod(task) ? (query.period ?? 1) : 1;
  const zone = getZone(name);
  const exactPrice = findPrice(list, { zone, task, period }, day);
  if (exactPrice !== undefined) return { ...exactPrice, times: 1 };
  const yearlyPrice = findPrice(list, { zone, task, period: 1 }, day);
  return yearlyPrice && { ...yearlyPrice, amount: multiplyAmount(yearlyPrice.amount, period), times: period };
}

/** The newest price that is valid on a day. @param day YYYY-MM-DD */
export function findPrice(
  list: readonly Price[],
  product: Product,
  day: string,
): Pick<Price, 'amount' | 'validFrom' | 'source'> | undefined {
  const price = listProductPrices(list, product).find(({ validFrom }) => validFrom <= day);
  return price && { amount: price.amount, validFrom: price.validFrom, source: price.source };
}

/** Caches each list's sorted prices, because reports look up tens of thousands of prices. */
const sortedPricesByList = new WeakMap<readonly Price[], ReadonlyMap<string, readonly Price[]>>();

function listProductPrices(list: readonly Price[], product: Product): readonly Price[] {
  let pricesByProduct = sortedPricesByList.get(list);
  if (pricesByProduct === undefined) {
    pricesByProduct = groupBy(
      list.toSorted((a, b) => (a.validFrom < b.validFrom ? 1 : -1)),
      formatProductKey,
    );
    sortedPricesByList.set(list, pricesByProduct);
  }
  return pricesByProduct.get(formatProductKey(product)) ?? [];
}

function multiplyAmount({ currency, minor }: Amount, factor: number): Amount {
  return { currency, minor: minor * factor };
}

function mayBePremium(name: string, task: PricedTask): boolean {
  const zone = findZoneProfile(name);
  return PREMIUM_TASKS.has(task) && (zone.premiumNamesNote !== undefined || !zone.isDocumented);
}

/** @param day YYYY-MM-DD */
export function calculateCost(
  list: readonly Price[],
  order: {
    readonly task: PricedTask;
    readonly names: readonly string[];
    readonly period?: number | undefined;
    /** By name, for orders with a period per name. */
    readonly periods?: Readonly<Record<string, number>> | undefined;
  },
  day: string,
): OrderCost {
  const { task, period, periods } = order;
  const names = order.names.map((name) => ({
    name,
    quote: findQuote(list, { name, task, period: periods?.[name] ?? period }, day),
  }));
  const quotes = names.flatMap(({ quote }) => quote ?? []);
  return {
    names,
    sums: sumByCurrency(quotes.map(({ amount }) => amount)),
    unknown: names.length - quotes.length,
    mayCostMore: order.names.some((name) => mayBePremium(name, task)),
    days: [...new Set(quotes.map(({ validFrom }) => validFrom))].sort().reverse(),
    sources: [...new Set(quotes.map(({ source }) => source).filter((source) => source !== ''))],
  };
}

/** Whether each name has the same price in both costs, or none in both. */
export function isSameCost(a: OrderCost, b: OrderCost): boolean {
  const formatPrices = ({ names }: OrderCost) =>
    names.map(({ name, quote }) => `${name} ${quote?.amount.minor} ${quote?.amount.currency}`).join();
  return formatPrices(a) === formatPrices(b);
}
