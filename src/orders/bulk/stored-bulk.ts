import { z } from 'zod';

export const storedPauseReason = z.discriminatedUnion('code', [
  z.object({ code: z.literal('refusals'), names: z.array(z.string()) }),
  z.object({ code: z.literal('unknown'), names: z.array(z.string()), wave: z.number(), rows: z.number() }),
]);

/** Why a bulk order is paused until a person resumes or stops it. */
export type PauseReason = z.output<typeof storedPauseReason>;

/** A warning to check before approving a bulk order. */
export const planFinding = z.object({
  code: z.enum([
    'expires_soon',
    'far_period',
    'far_price',
    'let_go',
    'lives_on_it',
    'not_watched',
    'price_unknown',
    'unseen',
  ]),
  count: z.number(),
  names: z.array(z.string()),
});

export type PlanFinding = z.output<typeof planFinding>;

/** Bulk data of an order made from a file. The file's rows are the order's items. */
export const storedBulk = z.object({
  waveSize: z.number(),
  /** The first item that the pause rules consider. A person has reviewed the earlier ones. */
  unreviewedFrom: z.number(),
  pause: storedPauseReason.exactOptional(),
  findings: z.array(planFinding),
  /** Rows of the file that were omitted because of issues. */
  skipped: z.number(),
});

export type Bulk = z.output<typeof storedBulk>;
