import { z } from 'zod';
import type { AccountProfile } from './account.ts';

const text = z.string().optional().catch(undefined);
const whole = z.coerce.number().int().optional().catch(undefined);

/** What is kept of a user's record. Anything of another shape is left out. */
const record = z.object({
  defaultEmail: text,
  status: whole,
  substatus: whole,
  language: text,
  owner: z.object({ user: text, context: whole }).optional().catch(undefined),
});

/** Reads a user's record as a login answers with it, or as it was kept. */
export function readProfile(value: unknown): AccountProfile | undefined {
  return record.safeParse(value).data;
}
