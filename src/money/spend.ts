import { groupBy } from '../lib/collections.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import { type Amount, sumByCurrency } from './amount.ts';
import { findQuote, getZone, isAlwaysCharged, type Price, type PricedTask, type Quote } from './prices.ts';

/** Spending is calculated from the price list, because the service's responses contain no amounts. */

export interface Purchase {
  readonly name: string;
  readonly task: PricedTask;
  /** Years; undefined for tasks without a period. */
  readonly period: number | undefined;
  readonly requesterId: string;
  readonly at: Date;
  /** The mandate that renewed the name; undefined for a person's request. */
  readonly mandate?: string | undefined;
  /** The people who may see a private order; undefined if everyone may see it. */
  readonly privateTo?: readonly string[] | undefined;
}

/** The key of a line for purchases whose zone or requester the reader may not see. */
export const CONCEALED_KEY = '';

export interface SpendSum {
  readonly nameCount: number;
  /** The number of names without a known price, which the sums don't include. */
  readonly unpricedCount: number;
  readonly sums: readonly Amount[];
}

export interface SpendLine extends SpendSum {
  readonly key: string;
}

export interface Spend {
  readonly total: SpendSum;
  /** YYYY-MM, in UTC. */
  readonly byMonth: readonly SpendLine[];
  readonly byTask: readonly SpendLine[];
  readonly byZone: readonly SpendLine[];
  readonly byPerson: readonly SpendLine[];
  /** A name with several tags is counted in each tag's line. Untagged and concealed names are omitted. */
  readonly byTag: readonly SpendLine[];
  /** Keyed by mandate id. Only renewals by mandates are included. */
  readonly byMandate: readonly SpendLine[];
}

/**
 * Calculates spending with the prices of the day on which each order succeeded.
 * @param tags current tags by name
 * @param isConcealed whether the reader may not see a purchase. Concealed purchases are included in the sums, but not
 * in the lines for a person, tag or zone, which would reveal them
 */
export function calculateSpend(
  list: readonly Price[],
  purchases: readonly Purchase[],
  tags: ReadonlyMap<string, readonly string[]> = new Map(),
  isConcealed: (purchase: Purchase) => boolean = () => false,
): Spend {
  const pricedPurchases = purchases
    .map((purchase) => {
      const day = getUtcDay(purchase.at);
      return { purchase, day, quote: findQuote(list, purchase, day) };
    })
    .filter(({ purchase, quote }) => isAlwaysCharged(purchase.task) || quote !== undefined);
  type PricedPurchase = (typeof pricedPurchases)[number];
  const sumByKeys = (getKeys: (priced: PricedPurchase) => readonly string[]): SpendLine[] => {
    const keyedQuotes = pricedPurchases.flatMap((priced) =>
      [...new Set(getKeys(priced))].map((key) => ({ key, quote: priced.quote })),
    );
    return [...groupBy(keyedQuotes, ({ key }) => key)]
      .map(([key, group]) => ({ key, ...sumPurchases(group) }))
      .sort(compareKeys);
  };
  const sumByKey = (getKey: (priced: PricedPurchase) => string) => sumByKeys((priced) => [getKey(priced)]);
  return {
    total: sumPurchases(pricedPurchases),
    byMonth: sumByKey(({ day }) => day.slice(0, 7)),
    byTask: sumByKey(({ purchase }) => purchase.task),
    byZone: sumByKey(({ purchase }) => (isConcealed(purchase) ? CONCEALED_KEY : getZone(purchase.name))),
    byPerson: sumByKey(({ purchase }) => (isConcealed(purchase) ? CONCEALED_KEY : purchase.requesterId)),
    byMandate: sumByKeys(({ purchase: { mandate } }) => (mandate === undefined ? [] : [mandate])),
    byTag: sumByKeys(({ purchase }) => (isConcealed(purchase) ? [] : (tags.get(purchase.name) ?? []))),
  };
}

export function addSpend(a: Spend, b: Spend): Spend {
  const addLines = (getLines: (spend: Spend) => readonly SpendLine[]): SpendLine[] =>
    [...groupBy([...getLines(a), ...getLines(b)], ({ key }) => key)]
      .map(([key, group]) => ({ key, ...sumSpend(group) }))
      .sort(compareKeys);
  return {
    total: sumSpend([a.total, b.total]),
    byMonth: addLines(({ byMonth }) => byMonth),
    byTask: addLines(({ byTask }) => byTask),
    byZone: addLines(({ byZone }) => byZone),
    byPerson: addLines(({ byPerson }) => byPerson),
    byTag: addLines(({ byTag }) => byTag),
    byMandate: addLines(({ byMandate }) => byMandate),
  };
}

function compareKeys(a: SpendLine, b: SpendLine): number {
  return a.key < b.key ? -1 : 1;
}

function sumPurchases(group: readonly { readonly quote: Quote | undefined }[]): SpendSum {
  const quotes = group.flatMap(({ quote }) => quote ?? []);
  return {
    nameCount: group.length,
    unpricedCount: group.length - quotes.length,
    sums: sumByCurrency(quotes.map(({ amount }) => amount)),
  };
}

export interface ZoneCount {
  /** In ASCII, without a leading dot. */
  readonly zone: string;
  readonly count: number;
}

export interface RenewalCount extends ZoneCount {
  readonly month: string;
}

/**
 * Computes the cost of renewing each name for a year, by expiry month, at the prices of one day.
 * @param months YYYY-MM, including months without renewals
 * @param day YYYY-MM-DD
 */
export function forecastRenewals(
  list: readonly Price[],
  counts: readonly RenewalCount[],
  months: readonly string[],
  day: string,
): SpendLine[] {
  return months.map((key) => ({
    key,
    ...sumRenewals(
      list,
      counts.filter(({ month }) => month === key),
      day,
    ),
  }));
}

/** @param day YYYY-MM-DD */
export function sumRenewals(list: readonly Price[], counts: readonly ZoneCount[], day: string): SpendSum {
  return sumSpend(
    counts.map(({ zone, count }): SpendSum => {
      const amount = findQuote(list, { name: `name.${zone}`, task: 'renew' }, day)?.amount;
      return amount === undefined
        ? { nameCount: count, unpricedCount: count, sums: [] }
        : { nameCount: count, unpricedCount: 0, sums: [{ ...amount, minor: amount.minor * count }] };
    }),
  );
}

export function sumSpend(lines: readonly SpendSum[]): SpendSum {
  return {
    nameCount: lines.reduce((sum, { nameCount }) => sum + nameCount, 0),
    unpricedCount: lines.reduce((sum, { unpricedCount }) => sum + unpricedCount, 0),
    sums: sumByCurrency(lines.flatMap(({ sums }) => sums)),
  };
}

/** @param day YYYY-MM-DD */
export function computeRenewalCost(list: readonly Price[], names: readonly string[], day: string): SpendSum {
  return sumPurchases(names.map((name) => ({ quote: findQuote(list, { name, task: 'renew' }, day) })));
}

export interface SpendPeriod {
  readonly text: string;
  readonly from: Date;
  readonly to: Date;
}

/** Accepts `2026` or `2026-11`. */
export function parseSpendPeriod(text: string): SpendPeriod | undefined {
  const [matched, year = '', month] = /^(20\d\d)(?:-(0[1-9]|1[0-2]))?$/.exec(text) ?? [];
  if (matched === undefined) return undefined;
  const getMonthStart = (monthIndex: number) => new Date(Date.UTC(Number(year), monthIndex));
  const firstMonth = month === undefined ? 0 : Number(month) - 1;
  return {
    text,
    from: getMonthStart(firstMonth),
    to: getMonthStart(firstMonth + (month === undefined ? 12 : 1)),
  };
}
