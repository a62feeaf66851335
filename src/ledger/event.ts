import { z } from 'zod';

/* Parts of the schemas of events, which stand beside what they are about. */

export const texts = z.array(z.string()).readonly();
export const at = z.coerce.date();
/** Slack user id, `system`, or `evidence` for public records. */
export const actor = z.string();
export const amount = z.object({ currency: z.string(), minor: z.int() });
/** The second person, where a change is confirmed. */
export const confirmedBy = z.string().optional();
const values = z.record(z.string(), z.string()).optional();
export const changedValues = { before: values, after: values, confirmedBy };

/** An event that isn't about an order. */
export function event<Subject extends string, Kind extends string, Data extends z.ZodRawShape>(
  subject: Subject,
  kinds: readonly [Kind, ...Kind[]],
  data: Data,
) {
  const about = z.object({ kind: z.literal(subject), id: z.string() });
  return z.object({ subject: about, kind: z.enum(kinds), actor, at, ...data });
}
