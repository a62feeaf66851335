import { z } from 'zod';

export const storedPauseReasonSchema = z.discriminatedUnion('code', [
  z.object({ code: z.literal('refusals'), names: z.array(z.string()) }),
  z.object({ code: z.literal('unknown'), names: z.array(z.string()), wave: z.number(), rows: z.number() }),
]);

/** Why a bulk order is paused until a person resumes or stops it. */
export type PauseReason = z.output<typeof storedPauseReasonSchema>;

/** A warning to check before approving a bulk order. */
export const planFindingSchema = z.object({
  code: z.enum([
    'expires_soon',
    'in_use',
    'not_watched',
    'price_unknown',
    'set_to_lapse',
    'unusual_period',
    'unusual_price',
    'use_unknown',
  ]),
  count: z.number(),
  names: z.array(z.string()),
});

export type PlanFinding = z.output<typeof planFindingSchema>;

/** Data of an order created from a file. Each valid row of the file is an item of the order. */
export const storedBulkSchema = z.object({
  waveSize: z.number(),
  /** The number of the first item that no person has reviewed. The pause rules ignore earlier items. */
  unreviewedFrom: z.number(),
  pause: storedPauseReasonSchema.exactOptional(),
  findings: z.array(planFindingSchema),
  /** Rows of the file that were omitted because of issues. */
  skipped: z.number(),
});

export type Bulk = z.output<typeof storedBulkSchema>;
