import { z } from 'zod';

const text = z.string().optional().catch(undefined);
/** Rejects an empty text, which `Number` would turn into 0. */
const typed = z.string().trim().min(1).transform(Number).pipe(z.int());
const whole = z.union([z.int(), typed]).optional().catch(undefined);

/** The part of a user's record that is stored. Fields of the wrong type are dropped. */
const record = z.object({
  defaultEmail: text,
  status: whole,
  substatus: whole,
  language: text,
  owner: z.object({ user: text, context: whole }).optional().catch(undefined),
});

/** The user's record in a login response (service API, User). */
export type AccountProfile = Readonly<z.output<typeof record>>;

export function readProfile(value: unknown): AccountProfile | undefined {
  return record.safeParse(value).data;
}
