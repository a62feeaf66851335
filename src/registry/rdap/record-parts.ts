import { domainToASCII } from 'node:url';
import { z } from 'zod';

// Parts of a registry's record (RFC 9083). Each part is read separately, because registries leave out members
// or use the wrong types.

const MAX_TEXT_LENGTH = 200;

const optionalTextSchema = z.string().optional().catch(undefined);

/** Some registries send a single item without a list. */
export const listSchema = z
  .unknown()
  .optional()
  .transform((value) => (value === undefined || value === null ? undefined : [value].flat()));

export const domainObjectSchema = z.object({
  objectClassName: z.string().regex(/^domain$/i),
  ldhName: optionalTextSchema,
  unicodeName: optionalTextSchema,
  status: listSchema,
  events: listSchema,
  entities: listSchema,
  nameservers: listSchema,
  secureDNS: z.unknown().optional(),
  redacted: listSchema,
});

export const entitySchema = z.object({
  roles: listSchema,
  handle: optionalTextSchema,
  publicIds: listSchema,
  vcardArray: z.unknown().optional(),
});

export const eventSchema = z.object({ eventAction: z.string(), eventDate: z.unknown().optional() });

/** RFC 7095. Each property is a list of name, parameters, type and values. */
export const jCardSchema = z.tuple([z.literal('vcard'), z.array(z.unknown())]);

/** Converts host names to ASCII and keeps other text. A missing name becomes an empty string. */
export const nameserverSchema = z
  .union([z.string(), z.object({ ldhName: optionalTextSchema, unicodeName: optionalTextSchema })])
  .transform((server) => (typeof server === 'string' ? server : (server.ldhName ?? server.unicodeName ?? '')))
  .transform((host) => toAsciiName(host) || cleanText(host).toLowerCase());

/** @returns lowercase ASCII without a trailing dot; an empty string if the text isn't a name */
export function toAsciiName(name: string): string {
  return domainToASCII(name.trim().replace(/\.$/, '')).toLowerCase();
}

/** Replaces invisible characters with spaces, and truncates the text. */
export function cleanText(value: string): string {
  return value
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')
    .trim()
    .slice(0, MAX_TEXT_LENGTH);
}

export function parseValidItems<T>(schema: z.ZodType<T>, values: readonly unknown[] = []): T[] {
  return values.flatMap((value) => {
    const parsed = schema.safeParse(value);
    return parsed.success ? [parsed.data] : [];
  });
}
