import { z } from 'zod';

const textSchema = z.string().optional().catch(undefined);
/** Rejects empty text, which `Number` would turn into 0. */
const numericTextSchema = z.string().trim().min(1).transform(Number).pipe(z.int());
const integerSchema = z.union([z.int(), numericTextSchema]).optional().catch(undefined);

/** The stored part of a user's record. Drops fields of the wrong type. */
const userRecordSchema = z.object({
  defaultEmail: textSchema,
  status: integerSchema,
  substatus: integerSchema,
  language: textSchema,
  owner: z.object({ user: textSchema, context: integerSchema }).optional().catch(undefined),
});

/** From the user's record in a login response (service API, section User). */
export type AccountProfile = Readonly<z.output<typeof userRecordSchema>>;

export function parseProfile(value: unknown): AccountProfile | undefined {
  return userRecordSchema.safeParse(value).data;
}
