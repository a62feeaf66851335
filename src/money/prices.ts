import { z } from 'zod';
import { groupBy } from '../lib/collections.ts';
import { zoneFor } from '../zones/rules.ts';
import { type Amount, sumByCurrency } from './amount.ts';

/*
 * The team's own price list, as dated data. A price that is not listed is unknown: the task is neither taken to be free
 * nor refused.
 */

/** The tasks that cost money in any zone. */
export const CHARGED_TASKS = ['create', 'transfer', 'renew', 'restore'] as const;
/** The tasks that can have a price: also those of which the document does not say whether they cost money. */
export const PRICED_TASKS = [...CHARGED_TASKS, 'owner-change', 'authcode'] as const;
export type PricedTask = (typeof PRICED_TASKS)[number];

/** The tasks whose price is for a number of years. The others have one price, kept with the period 1. */
const TASKS_WITH_PERIOD: ReadonlySet<PricedTask> = new Set<PricedTask>(['create', 'renew']);
/** The tasks that include a registration or a renewal, which cost more for a premium name. */
const PREMIUM_TASKS: ReadonlySet<PricedTask> = new Set<PricedTask>(['create', 'transfer', 'renew']);

/** One line of the price list. */
export interface Price {
  /** In ASCII without a dot in front: `rest`, `co.uk`. */
  readonly zone: string;
  readonly task: PricedTask;
  /** Years; 1 for tasks without a period. */
  readonly period: number;
  readonly amount: Amount;
  /** The first day on which it is valid, YYYY-MM-DD. */
  readonly validFrom: string;
  /** The team's source of the price, such as a contract. */
  readonly source: string;
}

const amount = z.object({ currency: z.string(), minor: z.int() });
const texts = z.array(z.string()).readonly();
/** What a task costs for one name by the list. */
const quote = z.object({
  amount,
  validFrom: z.string(),
  source: z.string(),
  /** How often the price of one year was added up, where the list has none for the whole period. */
  times: z.int(),
});
export type Quote = Readonly<z.output<typeof quote>>;

/** What an order costs, as far as the list tells. An event of the order keeps it. */
export const storedCost = z.object({
  names: z
    .array(
      z.object({
        name: z.string(),
        /** Undefined: not known. */
        quote: quote.optional(),
      }),
    )
    .readonly(),
  /** The sum of the known prices, an amount a currency; empty when none is known. */
  sums: z.array(amount).readonly(),
  /** Names whose price is not known: they are in no sum. */
  unknown: z.int(),
  /** One of the names may be a premium name, for which the sum is too low. */
  mayCostMore: z.boolean(),
  /** The days since which the prices in the sum are valid, the latest first. */
  days: texts,
  sources: texts,
});
export type OrderCost = Readonly<z.output<typeof storedCost>>;

/** Whether a text names a task that can have a price. */
export function isPricedTask(task: string): task is PricedTask {
  return PRICED_TASKS.some((each) => each === task);
}

/** Whether a task is known to cost money. For the other tasks a missing price is not mentioned. */
export function isCharged(task: PricedTask): boolean {
  return CHARGED_TASKS.some((each) => each === task);
}

/** Whether the price of a task is for a number of years. */
export function hasPeriod(task: PricedTask): boolean {
  return TASKS_WITH_PERIOD.has(task);
}

/** What is priced: a task in a zone for a period. */
type Product = Pick<Price, 'zone' | 'task' | 'period'>;

function productKey({ zone, task, period }: Product): string {
  return `${zone} ${task} ${period}`;
}

/** Identifies a price in a list: two prices with the same key would contradict each other. */
export function priceKey(price: Omit<Price, 'amount' | 'source'>): string {
  return `${productKey(price)} ${price.validFrom}`;
}

/** A change of one price of a list. */
export interface PriceEdit {
  /** Undefined for a new price. */
  readonly before: Price | undefined;
  readonly after: Price;
}

/** Whether two prices say the same. */
export function isSamePrice(a: Price, b: Price): boolean {
  return (
    priceKey(a) === priceKey(b) &&
    a.amount.minor === b.amount.minor &&
    a.amount.currency === b.amount.currency &&
    a.source === b.source
  );
}

/** The edits that put prices on a list. One of the same zone, task, period and day takes the place of the former. */
export function priceEdits(list: readonly Price[], prices: readonly Price[]): readonly PriceEdit[] {
  const listed = new Map(list.map((price) => [priceKey(price), price]));
  return prices
    .map((after) => ({ before: listed.get(priceKey(after)), after }))
    .filter(({ before, after }) => before === undefined || !isSamePrice(before, after));
}

/**
 * The zone of a name in the list: everything behind its first label. The price of `de` is therefore not taken for a
 * name of `com.de`, which another registry sells.
 */
export function zoneOf(name: string): string {
  return name.slice(name.indexOf('.') + 1);
}

/** What a list is asked for. */
export interface PriceQuestion {
  /** A name in ASCII. */
  readonly name: string;
  readonly task: PricedTask;
  /** Years; 1 when left out. */
  readonly period?: number | undefined;
}

/**
 * What a task costs for a name on a day, by the price that became valid last. Where the list has no price for a period of
 * several years, the price of one year counts for each.
 * @param day YYYY-MM-DD
 * @returns undefined when the list does not tell
 */
export function quoteOn(list: readonly Price[], question: PriceQuestion, day: string): Quote | undefined {
  const { name, task } = question;
  const period = hasPeriod(task) ? (question.period ?? 1) : 1;
  const zone = zoneOf(name);
  const whole = priceOn(list, { zone, task, period }, day);
  if (whole !== undefined) return { ...whole, times: 1 };
  const yearly = priceOn(list, { zone, task, period: 1 }, day);
  return yearly && { ...yearly, amount: times(yearly.amount, period), times: period };
}

/**
 * The price of a product on a day: the one that became valid last.
 * @param day YYYY-MM-DD
 */
export function priceOn(
  list: readonly Price[],
  product: Product,
  day: string,
): Pick<Price, 'amount' | 'validFrom' | 'source'> | undefined {
  const found = pricesOf(list, product).find(({ validFrom }) => validFrom <= day);
  return found && { amount: found.amount, validFrom: found.validFrom, source: found.source };
}

/**
 * The prices of each list by product. A list is sorted once, because a year's tens of thousands of purchases are all looked up
 * in it.
 */
const sortedLists = new WeakMap<readonly Price[], ReadonlyMap<string, readonly Price[]>>();

/** The prices of one product, the newest first. */
function pricesOf(list: readonly Price[], product: Product): readonly Price[] {
  let sorted = sortedLists.get(list);
  if (sorted === undefined) {
    sorted = groupBy(
      list.toSorted((a, b) => (a.validFrom < b.validFrom ? 1 : -1)),
      productKey,
    );
    sortedLists.set(list, sorted);
  }
  return sorted.get(productKey(product)) ?? [];
}

function times({ currency, minor }: Amount, factor: number): Amount {
  return { currency, minor: minor * factor };
}

/** Whether a name may cost more than the list says: its zone has premium names, or it is not known whether it has. */
function mayCostMore(name: string, task: PricedTask): boolean {
  const zone = zoneFor(name);
  return PREMIUM_TASKS.has(task) && (zone.premiumNames !== undefined || !zone.documented);
}

/**
 * What an order costs on a day.
 * @param day YYYY-MM-DD
 */
export function costOf(
  list: readonly Price[],
  order: {
    readonly task: PricedTask;
    readonly names: readonly string[];
    readonly period?: number | undefined;
    /** Where each name has its own: those by name. */
    readonly periods?: Readonly<Record<string, number>>;
  },
  day: string,
): OrderCost {
  const { task, period, periods } = order;
  const names = order.names.map((name) => ({
    name,
    quote: quoteOn(list, { name, task, period: periods?.[name] ?? period }, day),
  }));
  const quotes = names.flatMap(({ quote }) => quote ?? []);
  return {
    names,
    sums: sumByCurrency(quotes.map(({ amount }) => amount)),
    unknown: names.length - quotes.length,
    mayCostMore: order.names.some((name) => mayCostMore(name, task)),
    days: [...new Set(quotes.map(({ validFrom }) => validFrom))].sort().reverse(),
    sources: [...new Set(quotes.map(({ source }) => source).filter((source) => source !== ''))],
  };
}

/** Whether two costs differ in what they say: a name's price, or whether it is known. */
export function isSameCost(a: OrderCost, b: OrderCost): boolean {
  const said = ({ names }: OrderCost) =>
    names.map(({ name, quote }) => `${name} ${quote?.amount.minor} ${quote?.amount.currency}`).join();
  return said(a) === said(b);
}
