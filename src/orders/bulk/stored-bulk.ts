import { z } from 'zod';
export const storedPauseReason = z.discriminatedUnion('code', [
  z.object({ code: z.literal('refusals'), names: z.array(z.string()) }),
  z.object({ code: z.literal('unknown'), names: z.array(z.string()), wave: z.number(), rows: z.number() }),
]);

/** Why an order waits for a person to resume or stop it. */
export type PauseReason = z.output<typeof storedPauseReason>;

/** Something that people should look at before they approve many rows. */
export const finding = z.object({
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
  /** The first of the names. */
  names: z.array(z.string()),
});

export type PlanFinding = z.output<typeof finding>;

/** What an order keeps that was made from a file of rows; the rows themselves are its items. */
export const storedBulk = z.object({
  waveSize: z.number(),
  /** The rules look at items from this number on: what came before was looked at by a person. */
  judgedFrom: z.number(),
  /** Set while it waits for a person. */
  pause: storedPauseReason.exactOptional(),
  findings: z.array(finding),
  /** Rows of the file that were left out because something is wrong with them. */
  leftOut: z.number(),
});

export type Bulk = z.output<typeof storedBulk>;
