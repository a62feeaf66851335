import { z } from 'zod';
import { utcDay } from '../zones/calendar-day.ts';
import type { Amount } from './amount.ts';
import type { PriceStore } from './ports.ts';
import { costOf, isCharged, isPricedTask, type OrderCost, zoneOf } from './prices.ts';

/* What an order costs by the team's price list. */

export interface PricedOrder {
  readonly task: string;
  /** In ASCII. */
  readonly names: readonly string[];
  /** What the task asks of the service; its period counts. */
  readonly input: unknown;
}

/** Of one period for all names, or of a period for each. */
const periodOf = z
  .object({ period: z.number().exactOptional(), periods: z.record(z.string(), z.number()).exactOptional() })
  .catch({});

/**
 * What an order costs today (UTC).
 * @returns undefined for a task that cannot have a price, and for one that may be free and is not on the list
 */
export type PriceOrder = (order: PricedOrder) => Promise<OrderCost | undefined>;

/** Applies the team's price list to orders. */
export function createOrderPricer({
  prices,
  now,
}: {
  readonly prices: PriceStore;
  readonly now: () => Date;
}): PriceOrder {
  return async ({ task, names, input }) => {
    if (!isPricedTask(task)) return undefined;
    const { period, periods } = periodOf.parse(input);
    const list = await prices.listOf([...new Set(names.map(zoneOf))]);
    const order = { task, names, period, ...(periods === undefined ? {} : { periods }) };
    const cost = costOf(list, order, utcDay(now()));
    return isCharged(task) || cost.sums.length > 0 ? cost : undefined;
  };
}

/** What an order costs for each of its names, for rules that look at amounts; names of unknown price are left out. */
export function amountsByName(cost: OrderCost | undefined): ReadonlyMap<string, Amount> {
  const amounts = new Map<string, Amount>();
  for (const { name, quote } of cost?.names ?? []) if (quote !== undefined) amounts.set(name, quote.amount);
  return amounts;
}
