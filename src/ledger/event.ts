import { z } from 'zod';

export const texts = z.array(z.string()).readonly();
export const timestamp = z.coerce.date();
/** Slack user id, `system`, or `evidence` for public records. */
export const actor = z.string();
export const amount = z.object({ currency: z.string(), minor: z.int() });
/** The second person, for changes that need a confirmation. */
export const confirmedBy = z.string().optional();
const values = z.record(z.string(), z.string()).optional();
export const changedValues = { before: values, after: values, confirmedBy };

/** The schema of an event that isn't about an order. */
export function defineEvent<Subject extends string, Kind extends string, Data extends z.ZodRawShape>(
  subject: Subject,
  kinds: readonly [Kind, ...Kind[]],
  data: Data,
) {
  const subjectField = z.object({ kind: z.literal(subject), id: z.string() });
  return z.object({ subject: subjectField, kind: z.enum(kinds), actor, at: timestamp, ...data });
}
