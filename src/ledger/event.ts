import { z } from 'zod';

export const textsSchema = z.array(z.string()).readonly();
export const timestampSchema = z.coerce.date();
/** Slack user id, `system`, or `evidence` for public records. */
export const actorSchema = z.string();
export const amountSchema = z.object({ currency: z.string(), minor: z.int() });
/** The second person, for changes that need a confirmation. */
export const confirmedBySchema = z.string().optional();
const valuesSchema = z.record(z.string(), z.string()).optional();
export const changedValues = { before: valuesSchema, after: valuesSchema, confirmedBy: confirmedBySchema };

/** The schema of an event that isn't about an order. */
export function defineEvent<Subject extends string, Kind extends string, Data extends z.ZodRawShape>(
  subject: Subject,
  kinds: readonly [Kind, ...Kind[]],
  data: Data,
) {
  const subjectField = z.object({ kind: z.literal(subject), id: z.string() });
  return z.object({
    subject: subjectField,
    kind: z.enum(kinds),
    actor: actorSchema,
    at: timestampSchema,
    ...data,
  });
}
