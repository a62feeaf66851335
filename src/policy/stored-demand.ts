import { z } from 'zod';
import type { Demand } from './evaluate.ts';

/* What an order needs, as it is kept with the order. Its JSON is read here only. */

/** A rule as a demand and the events of an order name it. */
export const storedRule = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('rule'), version: z.int(), index: z.int(), name: z.string() }),
  z.object({ kind: z.literal('approval_tasks') }),
  z.object({ kind: z.literal('rest') }),
  z.object({ kind: z.literal('team_account') }),
]);

/** A demand out of its JSON. */
export const storedDemand: z.ZodType<Demand> = z.object({
  outcome: z.enum(['free', 'approve', 'refuse']),
  requirements: z.array(
    z.object({
      rule: storedRule,
      names: z.array(z.string()),
      needed: z.int().min(1),
      approvers: z.array(z.string()),
    }),
  ),
  refusedBy: z.array(storedRule),
  ttlMs: z.number(),
  remindAfterMs: z.number(),
  escalateAfterMs: z.number(),
  escalateTo: z.array(z.string()),
  escalateToAdmins: z.boolean(),
  breakGlass: z.boolean(),
});
