import { z } from 'zod';

const text = z.string().optional().catch(undefined);
/** Rejects an empty text, which `Number` would turn into 0. */
const numericText = z.string().trim().min(1).transform(Number).pipe(z.int());
const wholeNumber = z.union([z.int(), numericText]).optional().catch(undefined);

/** The part of a user's record that is stored. Fields of the wrong type are dropped. */
const userRecordSchema = z.object({
  defaultEmail: text,
  status: wholeNumber,
  substatus: wholeNumber,
  language: text,
  owner: z.object({ user: text, context: wholeNumber }).optional().catch(undefined),
});

/** The user's record in a login response (service API, User). */
export type AccountProfile = Readonly<z.output<typeof userRecordSchema>>;

export function readProfile(value: unknown): AccountProfile | undefined {
  return userRecordSchema.safeParse(value).data;
}
