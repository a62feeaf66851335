import { z } from 'zod';

/*
 * How columns are read that several tables have alike.
 */

/** A column that may be NULL, which is read as undefined. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullable().transform((value) => value ?? undefined);
}

export const optionalText = optional(z.string());

/** A sealed secret, in a row that was read without Prisma. */
export const sealedBytes = z.instanceof(Uint8Array).transform((bytes) => Uint8Array.from(bytes));
