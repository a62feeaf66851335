import { domainToASCII } from 'node:url';
import { z } from 'zod';

/*
 * The parts of a registry's record (RFC 9083) that every reader of it needs. Registries leave members out and fill them
 * with other types, so each part is read by itself.
 */

const MAX_TEXT = 200;

const optionalText = z.string().optional().catch(undefined);

const list = z.array(z.unknown()).optional().catch(undefined);

export const domainObject = z.object({
  objectClassName: z.literal('domain'),
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

/** The host name of a nameserver in ASCII; empty when it has none. */
export const nameserver = z
  .object({ ldhName: optionalText, unicodeName: optionalText })
  .transform(({ ldhName, unicodeName }) => asciiName(ldhName ?? unicodeName ?? ''));

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

/** A status in the words of RFC 8056. Registries write it so, or as in EPP: `clientTransferProhibited`. */
export function statusOf(status: string): string {
  const words = cleanText(status)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/\s+/g, ' ')
    .toLowerCase();
  return words === 'ok' ? 'active' : words;
}

/** The members of a list that fit a schema. */
export function fitting<T>(schema: z.ZodType<T>, values: readonly unknown[] = []): T[] {
  return values.flatMap((value) => {
    const parsed = schema.safeParse(value);
    return parsed.success ? [parsed.data] : [];
  });
}
