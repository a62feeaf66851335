import { domainToASCII } from 'node:url';
import { z } from 'zod';

/*
 * The parts of a registry's record (RFC 9083) that every reader of it needs. Registries leave members out and fill them
 * with other types, so each part is read by itself.
 */

const MAX_TEXT = 200;

const optionalText = z.string().optional().catch(undefined);

/** A registry that has one member writes it without the list now and then. */
export const list = z
  .unknown()
  .optional()
  .transform((value) => (value === undefined || value === null ? undefined : [value].flat()));

export const domainObject = z.object({
  objectClassName: z.string().regex(/^domain$/i),
  ldhName: optionalText,
  unicodeName: optionalText,
  status: list,
  events: list,
  entities: list,
  nameservers: list,
  secureDNS: z.unknown().optional(),
  redacted: list,
});

export const entity = z.object({
  roles: list,
  handle: optionalText,
  publicIds: list,
  vcardArray: z.unknown().optional(),
});

export const event = z.object({ eventAction: z.string(), eventDate: z.unknown().optional() });

/** Properties of a jCard (RFC 7095): name, parameters, type, values. */
export const jCard = z.tuple([z.literal('vcard'), z.array(z.unknown())]);

/** The host name of a nameserver in ASCII, or as it came when it is no host name; empty when it has none. */
export const nameserver = z
  .union([z.string(), z.object({ ldhName: optionalText, unicodeName: optionalText })])
  .transform((server) => (typeof server === 'string' ? server : (server.ldhName ?? server.unicodeName ?? '')))
  .transform((host) => asciiName(host) || cleanText(host).toLowerCase());

/** A name as names are compared: in ASCII, lower case, without a dot at its end. Empty when it is no name. */
export function asciiName(name: string): string {
  return domainToASCII(name.trim().replace(/\.$/, '')).toLowerCase();
}

/** A text of a record, cut to a length that can be shown and without characters that nobody sees. */
export function cleanText(value: string): string {
  return value
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')
    .trim()
    .slice(0, MAX_TEXT);
}

/** The members of a list that fit a schema. */
export function fitting<T>(schema: z.ZodType<T>, values: readonly unknown[] = []): T[] {
  return values.flatMap((value) => {
    const parsed = schema.safeParse(value);
    return parsed.success ? [parsed.data] : [];
  });
}
