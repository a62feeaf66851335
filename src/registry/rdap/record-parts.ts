import { domainToASCII } from 'node:url';
import { z } from 'zod';

/**
 * Parts of a registry's record (RFC 9083). Each part is read separately, because registries leave out members or use
 * the wrong types.
 */

const MAX_TEXT = 200;

const optionalText = z.string().optional().catch(undefined);

/** Some registries write a single member without a list. */
export const listSchema = z
  .unknown()
  .optional()
  .transform((value) => (value === undefined || value === null ? undefined : [value].flat()));

export const domainObjectSchema = z.object({
  objectClassName: z.string().regex(/^domain$/i),
  ldhName: optionalText,
  unicodeName: optionalText,
  status: listSchema,
  events: listSchema,
  entities: listSchema,
  nameservers: listSchema,
  secureDNS: z.unknown().optional(),
  redacted: listSchema,
});

export const entitySchema = z.object({
  roles: listSchema,
  handle: optionalText,
  publicIds: listSchema,
  vcardArray: z.unknown().optional(),
});

export const eventSchema = z.object({ eventAction: z.string(), eventDate: z.unknown().optional() });

/** Properties of a jCard (RFC 7095): name, parameters, type, values. */
export const jCardSchema = z.tuple([z.literal('vcard'), z.array(z.unknown())]);

/** Converts host names to ASCII and keeps other texts. A missing name becomes empty. */
export const nameserverSchema = z
  .union([z.string(), z.object({ ldhName: optionalText, unicodeName: optionalText })])
  .transform((server) => (typeof server === 'string' ? server : (server.ldhName ?? server.unicodeName ?? '')))
  .transform((host) => toAsciiName(host) || cleanText(host).toLowerCase());

/** @returns lower-case ASCII without a trailing dot; empty if it isn't a name */
export function toAsciiName(name: string): string {
  return domainToASCII(name.trim().replace(/\.$/, '')).toLowerCase();
}

/** Replaces invisible characters with spaces, and truncates the text. */
export function cleanText(value: string): string {
  return value
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')
    .trim()
    .slice(0, MAX_TEXT);
}

export function parseMatching<T>(schema: z.ZodType<T>, values: readonly unknown[] = []): T[] {
  return values.flatMap((value) => {
    const parsed = schema.safeParse(value);
    return parsed.success ? [parsed.data] : [];
  });
}
