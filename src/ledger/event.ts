import { z } from 'zod';

export const textsSchema = z.array(z.string()).readonly();
export const timestampSchema = z.coerce.date();
/** A Slack user id, `system`, or `evidence` (public records). */
export const actorSchema = z.string();
export const amountSchema = z.object({ currency: z.string(), minor: z.int() });
/** The person who confirmed a change that needed confirmation. */
export const confirmedBySchema = z.string().optional();
const valuesSchema = z.record(z.string(), z.string()).optional();
export const changedValuesShape = {
  before: valuesSchema,
  after: valuesSchema,
  confirmedBy: confirmedBySchema,
};

/** Builds the schema of an event that isn't about an order. */
export function buildEventSchema<Subject extends string, Kind extends string, Data extends z.ZodRawShape>(
  subject: Subject,
  kinds: readonly [Kind, ...Kind[]],
  data: Data,
) {
  return z.object({
    subject: z.object({ kind: z.literal(subject), id: z.string() }),
    kind: z.enum(kinds),
    actor: actorSchema,
    at: timestampSchema,
    ...data,
  });
}
