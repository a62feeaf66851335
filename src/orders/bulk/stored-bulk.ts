import { z } from 'zod';
export const storedPauseReason = z.discriminatedUnion('code', [
  z.object({ code: z.literal('refusals'), names: z.array(z.string()) }),
  z.object({ code: z.literal('unknown'), names: z.array(z.string()), wave: z.number(), rows: z.number() }),
]);

/** Why an order waits for a person to resume or stop it. */
export type PauseReason = z.output<typeof storedPauseReason>;

/** A warning to check before approving many rows. */
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

/** Bulk data of an order made from a file; the rows are its items. */
export const storedBulk = z.object({
  waveSize: z.number(),
  /** The stop rules consider items from this number on: a person has reviewed the earlier ones. */
  unreviewedFrom: z.number(),
  pause: storedPauseReason.exactOptional(),
  findings: z.array(planFinding),
  /** Rows of the file that were omitted because of issues. */
  skipped: z.number(),
});

export type Bulk = z.output<typeof storedBulk>;
