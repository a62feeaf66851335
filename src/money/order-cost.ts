import { z } from 'zod';
import { getUtcDay } from '../zones/calendar-day.ts';
import type { Amount } from './amount.ts';
import type { PriceStore } from './ports.ts';
import { calculateCost, getZone, isCharged, isPricedTask, type OrderCost } from './prices.ts';

export interface PricedOrder {
  readonly task: string;
  readonly names: readonly string[];
  readonly input: unknown;
  /** When the order is sent, if later. The prices of that day apply. */
  readonly sendAfter?: Date | undefined;
}

/** The earliest day (UTC) on which an order is sent. The prices and budgets of that day apply. */
export function getSendingDay({ sendAfter }: Pick<PricedOrder, 'sendAfter'>, now: Date): string {
  return getUtcDay(sendAfter !== undefined && sendAfter > now ? sendAfter : now);
}

/** One period for all names, or one for each. */
const periodFieldsSchema = z
  .object({ period: z.number().exactOptional(), periods: z.record(z.string(), z.number()).exactOptional() })
  .catch({});

/**
 * The cost on the day (UTC) the order is sent.
 * @returns undefined for a task without prices, or for an unlisted one that may be free
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
    const list = await prices.listForZones([...new Set(names.map(getZone))]);
    const day = getSendingDay({ sendAfter }, now());
    const cost = calculateCost(list, { task, names, period, periods }, day);
    return isCharged(task) || cost.sums.length > 0 ? cost : undefined;
  };
}

/** For policy rules with amounts. Names with unknown prices are omitted. */
export function mapAmountsByName(cost: OrderCost | undefined): ReadonlyMap<string, Amount> {
  const amounts = new Map<string, Amount>();
  for (const { name, quote } of cost?.names ?? []) if (quote !== undefined) amounts.set(name, quote.amount);
  return amounts;
}
