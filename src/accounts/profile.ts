import { z } from 'zod';

const text = z.string().optional().catch(undefined);
/** Nothing, or what is no number, is not 0. */
const whole = z
  .union([
    z.int(),
    z
      .string()
      .regex(/^\d{1,15}$/)
      .transform(Number),
  ])
  .optional()
  .catch(undefined);

/** What is kept of a user's record. Anything of another shape is left out. */
const record = z.object({
  defaultEmail: text,
  status: whole,
  substatus: whole,
  language: text,
  owner: z.object({ user: text, context: whole }).optional().catch(undefined),
});

/** What the answer to a login says of its user. Service API, section "User". */
export type AccountProfile = Readonly<z.output<typeof record>>;

/** Reads a user's record as a login answers with it, or as it was kept. */
export function readProfile(value: unknown): AccountProfile | undefined {
  return record.safeParse(value).data;
}
