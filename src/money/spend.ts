import { groupBy } from '../lib/collections.ts';
import { utcDay } from '../zones/calendar-day.ts';
import { type Amount, sumByCurrency } from './amount.ts';
import { isCharged, type Price, type PricedTask, type Quote, quoteOn, zoneOf } from './prices.ts';

/* What was spent and what is ahead, by the price list, because the service's answers state no amounts. */

/** One name of an order that succeeded. */
export interface Purchase {
  /** In ASCII. */
  readonly name: string;
  readonly task: PricedTask;
  /** Years; undefined for tasks without a period. */
  readonly period: number | undefined;
  /** Slack user id of who asked. */
  readonly requesterId: string;
  readonly at: Date;
  /** The order of the mandate that made its order; undefined where a person asked. */
  readonly mandate?: string | undefined;
  /** Everybody who asked for its order, where that is private; undefined where everybody may see it. */
  readonly privateTo?: readonly string[] | undefined;
}

/** The key under which the purchases stand whose zone or requester the reader may not see. */
export const CONCEALED = '';

/** Sums of names that belong together. */
export interface SpendSum {
  readonly names: number;
  /** Names whose price is not known: they are in no sum. */
  readonly unknown: number;
  /** An amount a currency. */
  readonly sums: readonly Amount[];
}

export interface SpendLine extends SpendSum {
  readonly key: string;
}

/** What was spent. Each name counts once in every list except `byTag`. */
export interface Spend {
  readonly total: SpendSum;
  /** YYYY-MM, in UTC. */
  readonly byMonth: readonly SpendLine[];
  readonly byTask: readonly SpendLine[];
  readonly byZone: readonly SpendLine[];
  /** By who asked. */
  readonly byPerson: readonly SpendLine[];
  /**
   * A name of several tags stands in the line of each; names without a tag, those that the reader may not see, and the
   * list without a line are left out.
   */
  readonly byTag: readonly SpendLine[];
  /** By the mandates that renewed; what people asked for is left out. */
  readonly byMandate: readonly SpendLine[];
}

/**
 * What names cost by the list of the day on which each was carried out.
 * @param tags of names as they are now, by name
 * @param isConcealed whether the reader may not see a purchase. It counts in every sum; under a person it would tell who
 *   asked, under a tag or a zone of few names what for
 */
export function spendOf(
  list: readonly Price[],
  purchases: readonly Purchase[],
  tags: ReadonlyMap<string, readonly string[]> = new Map(),
  isConcealed: (purchase: Purchase) => boolean = () => false,
): Spend {
  const priced = purchases
    .map((purchase) => {
      const day = utcDay(purchase.at);
      return { purchase, day, quote: quoteOn(list, purchase, day) };
    })
    .filter(({ purchase, quote }) => isCharged(purchase.task) || quote !== undefined);
  type Priced = (typeof priced)[number];
  const byEach = (keysOf: (each: Priced) => readonly string[]): SpendLine[] => {
    const keyed = priced.flatMap((each) =>
      [...new Set(keysOf(each))].map((key) => ({ key, quote: each.quote })),
    );
    return [...groupBy(keyed, ({ key }) => key)]
      .map(([key, group]) => ({ key, ...sumOf(group) }))
      .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  };
  const by = (keyOf: (each: Priced) => string) => byEach((each) => [keyOf(each)]);
  return {
    total: sumOf(priced),
    byMonth: by(({ day }) => day.slice(0, 7)),
    byTask: by(({ purchase }) => purchase.task),
    byZone: by(({ purchase }) => (isConcealed(purchase) ? CONCEALED : zoneOf(purchase.name))),
    byPerson: by(({ purchase }) => (isConcealed(purchase) ? CONCEALED : purchase.requesterId)),
    byMandate: byEach(({ purchase: { mandate } }) => (mandate === undefined ? [] : [mandate])),
    byTag: byEach(({ purchase }) => (isConcealed(purchase) ? [] : (tags.get(purchase.name) ?? []))),
  };
}

/** What was spent together. */
export function addSpend(a: Spend, b: Spend): Spend {
  const lines = (of: (spend: Spend) => readonly SpendLine[]): SpendLine[] =>
    [...groupBy([...of(a), ...of(b)], ({ key }) => key)]
      .map(([key, group]) => ({ key, ...totalOf(group) }))
      .sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0));
  return {
    total: totalOf([a.total, b.total]),
    byMonth: lines(({ byMonth }) => byMonth),
    byTask: lines(({ byTask }) => byTask),
    byZone: lines(({ byZone }) => byZone),
    byPerson: lines(({ byPerson }) => byPerson),
    byTag: lines(({ byTag }) => byTag),
    byMandate: lines(({ byMandate }) => byMandate),
  };
}

function sumOf(group: readonly { readonly quote: Quote | undefined }[]): SpendSum {
  const quotes = group.flatMap(({ quote }) => quote ?? []);
  return {
    names: group.length,
    unknown: group.length - quotes.length,
    sums: sumByCurrency(quotes.map(({ amount }) => amount)),
  };
}

/** How many names are in a zone. */
export interface ZoneCount {
  /** In ASCII without a dot in front. */
  readonly zone: string;
  readonly count: number;
}

/** Names of a zone whose period ends in a month. */
export interface RenewalCount extends ZoneCount {
  /** YYYY-MM */
  readonly month: string;
}

/**
 * What renewing every name for a year costs, by month, at the list of one day.
 * @param months YYYY-MM, all that are wanted, also those without a renewal
 * @param day YYYY-MM-DD
 */
export function renewalsAhead(
  list: readonly Price[],
  counts: readonly RenewalCount[],
  months: readonly string[],
  day: string,
): SpendLine[] {
  return months.map((key) => ({
    key,
    ...renewalsByZone(
      list,
      counts.filter(({ month }) => month === key),
      day,
    ),
  }));
}

/** What renewing names for a year costs on a day, where only their number is known: a zone has one price. @param day YYYY-MM-DD */
export function renewalsByZone(list: readonly Price[], counts: readonly ZoneCount[], day: string): SpendSum {
  return totalOf(
    counts.map(({ zone, count }) => {
      const amount = quoteOn(list, { name: `name.${zone}`, task: 'renew' }, day)?.amount;
      return amount === undefined
        ? { names: count, unknown: count, sums: [] }
        : { names: count, unknown: 0, sums: [{ ...amount, minor: amount.minor * count }] };
    }),
  );
}

export function totalOf(lines: readonly SpendSum[]): SpendSum {
  return {
    names: lines.reduce((sum, { names }) => sum + names, 0),
    unknown: lines.reduce((sum, { unknown }) => sum + unknown, 0),
    sums: sumByCurrency(lines.flatMap(({ sums }) => sums)),
  };
}

/** What renewing names for a year costs on a day. @param day YYYY-MM-DD */
export function renewalsOf(list: readonly Price[], names: readonly string[], day: string): SpendSum {
  return sumOf(names.map((name) => ({ quote: quoteOn(list, { name, task: 'renew' }, day) })));
}

/** A year or a month, in UTC. */
export interface SpendSpan {
  /** `2026` or `2026-11`. */
  readonly text: string;
  readonly from: Date;
  readonly to: Date;
}

/** Reads `2026` or `2026-11`; undefined when it is neither. */
export function readSpan(text: string): SpendSpan | undefined {
  const [matched, year = '', month] = /^(20\d\d)(?:-(0[1-9]|1[0-2]))?$/.exec(text) ?? [];
  if (matched === undefined) return undefined;
  const at = (months: number) => new Date(Date.UTC(Number(year), months));
  const first = month === undefined ? 0 : Number(month) - 1;
  return { text, from: at(first), to: at(first + (month === undefined ? 12 : 1)) };
}
