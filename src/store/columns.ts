import { z } from 'zod';

/*
 * How columns are read that several tables have alike.
 */

/** A column that may be NULL, which is read as undefined. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullable().transform((value) => value ?? undefined);
}

export const optionalText = optional(z.string());
