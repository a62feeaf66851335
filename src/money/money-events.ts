import { z } from 'zod';
import { amountSchema, buildEventSchema, confirmedBySchema } from '../ledger/event.ts';
import { BUDGET_SPANS } from './budget.ts';
import { PRICED_TASKS } from './prices.ts';

/** A price as stored in the log and in proposals. */
export const loggedPriceSchema = z.object({
  zone: z.string(),
  task: z.enum(PRICED_TASKS),
  period: z.number(),
  amount: amountSchema,
  validFrom: z.string(),
  source: z.string(),
});
const budgetSchema = z.object({
  id: z.string(),
  tag: z.string().optional(),
  span: z.enum(BUDGET_SPANS),
  amount: amountSchema,
});

export const moneyEvents = [
  buildEventSchema('price', ['price_changed'], {
    before: loggedPriceSchema.optional(),
    after: loggedPriceSchema,
    confirmedBy: confirmedBySchema,
  }),
  buildEventSchema('budget', ['budget_changed'], {
    before: budgetSchema.optional(),
    after: budgetSchema.optional(),
  }),
] as const;
