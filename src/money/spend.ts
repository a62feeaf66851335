import { groupBy } from '../lib/collections.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import { type Amount, sumByCurrency } from './amount.ts';
import { findQuote, getZone, isCharged, type Price, type PricedTask, type Quote } from './prices.ts';

/** Spending is calculated from the price list, because the service's responses contain no amounts. */

export interface Purchase {
  readonly name: string;
  readonly task: PricedTask;
  /** Years; undefined for tasks without a period. */
  readonly period: number | undefined;
  readonly requesterId: string;
  readonly at: Date;
  /** Undefined for a person's request. */
  readonly mandate?: string | undefined;
  /** The requesters, if only they may see a private order; undefined if everyone may. */
  readonly privateTo?: readonly string[] | undefined;
}

/** The key for purchases whose zone or requester the reader may not see. */
export const CONCEALED = '';

export interface SpendSum {
  readonly names: number;
  /** Number of names without a known price, not included in sums. */
  readonly unknown: number;
  readonly sums: readonly Amount[];
}

export interface SpendLine extends SpendSum {
  readonly key: string;
}

/** Each name is counted in one line per list, except in `byTag`. */
export interface Spend {
  readonly total: SpendSum;
  /** YYYY-MM, in UTC. */
  readonly byMonth: readonly SpendLine[];
  readonly byTask: readonly SpendLine[];
  readonly byZone: readonly SpendLine[];
  readonly byPerson: readonly SpendLine[];
  /** A name with several tags is counted in each tag's line. Untagged and concealed names are omitted. */
  readonly byTag: readonly SpendLine[];
  /** Only renewals by mandates. */
  readonly byMandate: readonly SpendLine[];
}

/**
 * Calculates spending with the prices of the day on which each order succeeded.
 * @param tags current tags by name
 * @param isConcealed which purchases the reader may not see. They are included in sums, but not in lines for a person,
 * tag or small zone, which would reveal them
 */
export function calculateSpend(
  list: readonly Price[],
  purchases: readonly Purchase[],
  tags: ReadonlyMap<string, readonly string[]> = new Map(),
  isConcealed: (purchase: Purchase) => boolean = () => false,
): Spend {
  const priced = purchases
    .map((purchase) => {
      const day = getUtcDay(purchase.at);
      return { purchase, day, quote: findQuote(list, purchase, day) };
    })
    .filter(({ purchase, quote }) => isCharged(purchase.task) || quote !== undefined);
  type PricedPurchase = (typeof priced)[number];
  const sumByKey = (keysOf: (each: PricedPurchase) => readonly string[]): SpendLine[] => {
    const keyed = priced.flatMap((each) =>
      [...new Set(keysOf(each))].map((key) => ({ key, quote: each.quote })),
    );
    return [...groupBy(keyed, ({ key }) => key)]
      .map(([key, group]) => ({ key, ...sumPurchases(group) }))
      .sort(compareKeys);
  };
  const sumBy = (keyOf: (each: PricedPurchase) => string) => sumByKey((each) => [keyOf(each)]);
  return {
    total: sumPurchases(priced),
    byMonth: sumBy(({ day }) => day.slice(0, 7)),
    byTask: sumBy(({ purchase }) => purchase.task),
    byZone: sumBy(({ purchase }) => (isConcealed(purchase) ? CONCEALED : getZone(purchase.name))),
    byPerson: sumBy(({ purchase }) => (isConcealed(purchase) ? CONCEALED : purchase.requesterId)),
    byMandate: sumByKey(({ purchase: { mandate } }) => (mandate === undefined ? [] : [mandate])),
    byTag: sumByKey(({ purchase }) => (isConcealed(purchase) ? [] : (tags.get(purchase.name) ?? []))),
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

/** Keys are unique. */
function compareKeys(a: SpendLine, b: SpendLine): number {
  return a.key < b.key ? -1 : 1;
}

function sumPurchases(group: readonly { readonly quote: Quote | undefined }[]): SpendSum {
  const quotes = group.flatMap(({ quote }) => quote ?? []);
  return {
    names: group.length,
    unknown: group.length - quotes.length,
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
 * The cost of renewing every name for a year, by month, with the prices of one day.
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
    counts.map(({ zone, count }) => {
      const amount = findQuote(list, { name: `name.${zone}`, task: 'renew' }, day)?.amount;
      return amount === undefined
        ? { names: count, unknown: count, sums: [] }
        : { names: count, unknown: 0, sums: [{ ...amount, minor: amount.minor * count }] };
    }),
  );
}

export function sumSpend(lines: readonly SpendSum[]): SpendSum {
  return {
    names: lines.reduce((sum, { names }) => sum + names, 0),
    unknown: lines.reduce((sum, { unknown }) => sum + unknown, 0),
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
  const monthStart = (months: number) => new Date(Date.UTC(Number(year), months));
  const first = month === undefined ? 0 : Number(month) - 1;
  return { text, from: monthStart(first), to: monthStart(first + (month === undefined ? 12 : 1)) };
}
