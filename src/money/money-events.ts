import { z } from 'zod';
import { amount, confirmedBy, defineEvent } from '../ledger/event.ts';
import { BUDGET_SPANS } from './budget.ts';
import { PRICED_TASKS } from './prices.ts';

/** Used in the log and in proposals. */
export const loggedPrice = z.object({
  zone: z.string(),
  task: z.enum(PRICED_TASKS),
  period: z.number(),
  amount,
  validFrom: z.string(),
  source: z.string(),
});
const budget = z.object({ id: z.string(), tag: z.string().optional(), span: z.enum(BUDGET_SPANS), amount });

export const moneyEvents = [
  defineEvent('price', ['price_changed'], {
    before: loggedPrice.optional(),
    after: loggedPrice,
    confirmedBy,
  }),
  defineEvent('budget', ['budget_changed'], { before: budget.optional(), after: budget.optional() }),
] as const;
