import { z } from 'zod';

const text = z.string().optional().catch(undefined);
/** Nothing is not 0. */
const typed = z.string().trim().min(1).transform(Number).pipe(z.int());
const whole = z.union([z.int(), typed]).optional().catch(undefined);

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
