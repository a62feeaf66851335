import { z } from 'zod';

/*
 * How columns are read and written that several tables have alike.
 */

/** A column that may be NULL, which is read as undefined. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullable().transform((value) => value ?? undefined);
}

export function jsonColumn<Output>(schema: z.ZodType<Output>) {
  return z.json().transform((value) => (value === null ? undefined : schema.parse(value)));
}

export const optionalText = optional(z.string());

/** A sealed secret, in a row that was read without Prisma. */
export const sealedBytes = z.instanceof(Uint8Array).transform((bytes) => Uint8Array.from(bytes));

/**
 * JSON that PostgreSQL can store. It takes no NUL and no lone surrogates, which an answer of the service may contain.
 * They become U+FFFD, because an outcome that cannot be stored would be lost.
 */
export function storableJson(value: unknown): string {
  const json = JSON.stringify(value);
  // Both are escaped in JSON. A text that merely looks like such an escape is only checked more closely.
  if (!/\\u(?:0000|d[89a-f])/.test(json)) return json;
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' ? part.replace(/[\0\p{Surrogate}]/gu, '\uFFFD') : part,
  );
}
