import { z } from 'zod';
import { getUtcDay } from '../zones/calendar-day.ts';
import type { Amount } from './amount.ts';
import type { PriceStore } from './ports.ts';
import { calculateCost, getZone, isAlwaysCharged, isPricedTask, type OrderCost } from './prices.ts';

export interface PricedOrder {
  readonly task: string;
  readonly names: readonly string[];
  readonly input: unknown;
  /** When the order is sent; undefined if immediately. Determines the day whose prices apply. */
  readonly sendAfter?: Date | undefined;
}

/** The earliest day (UTC) on which an order can be sent. Determines the prices and budgets that apply. */
export function getSendingDay({ sendAfter }: Pick<PricedOrder, 'sendAfter'>, now: Date): string {
  return getUtcDay(sendAfter !== undefined && sendAfter > now ? sendAfter : now);
}

/** Either one period for all names, or a period for each name. */
const periodFieldsSchema = z
  .object({ period: z.number().exactOptional(), periods: z.record(z.string(), z.number()).exactOptional() })
  .catch({});

/**
 * The cost of an order on the day (UTC) on which it is sent.
 * @returns undefined for a task without prices, and for a task that may be free if no price is listed
 */
export type PriceOrder = (order: PricedOrder) => Promise<OrderCost | undefined>;

export function createOrderPricer({
  prices,
  now,
}: {
  readonly prices: PriceStore;
  readonly now: () => Date;
}): PriceOrder {
  return async ({ task, names, input, sendAfter }) => {
    if (!isPricedTask(task)) return undefined;
    const { period, periods } = periodFieldsSchema.parse(input);
    const priceList = await prices.listForZones([...new Set(names.map(getZone))]);
    const day = getSendingDay({ sendAfter }, now());
    const cost = calculateCost(priceList, { task, names, period, periods }, day);
    return isAlwaysCharged(task) || cost.sums.length > 0 ? cost : undefined;
  };
}

/** Names with unknown prices are omitted. */
export function mapAmountsByName(cost: OrderCost | undefined): ReadonlyMap<string, Amount> {
  const amounts = new Map<string, Amount>();
  for (const { name, quote } of cost?.names ?? []) if (quote !== undefined) amounts.set(name, quote.amount);
  return amounts;
}
