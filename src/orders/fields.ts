import { z } from 'zod';
import { parseDomainName, parseHostName } from '../zones/names.ts';
import { checkName } from '../zones/rules.ts';

/*
 * The fields that inputs of orders are made of, as people type them and as they are stored. Each message says what
 * to give.
 */

export const domainName = z.string('Give a domain name, such as cafe.rest.').transform((text, context) => {
  const parsed = parseDomainName(text);
  const problems = parsed.ok ? checkName(parsed.value) : [parsed.problem];
  for (const message of problems) context.addIssue({ code: 'custom', message });
  return parsed.ok ? parsed.value.ascii : z.NEVER;
});

export const hostName = z.string().transform((text, context) => {
  const parsed = parseHostName(text);
  if (parsed.ok) return parsed.value.ascii;
  context.addIssue({ code: 'custom', message: parsed.problem });
  return z.NEVER;
});

/** A number as it is stored, or as people type it: `1e3`, `0x1f` and an empty text are none. */
const wholeNumber = (message: string) =>
  z
    .union(
      [
        z.number(),
        z
          .string()
          .trim()
          .regex(/^[+-]?\d{1,15}$/)
          .transform(Number),
      ],
      message,
    )
    .pipe(z.int(message));

const GIVE_CONTACT = 'Give the contact’s id, a whole number above 0.';
export const contactId = wholeNumber(GIVE_CONTACT)
  .pipe(z.number().positive(GIVE_CONTACT))
  .pipe(z.number().max(2_147_483_647, 'That number is too large for a contact’s id.'));

/** The document gives the id of an SSL contact no type: any whole number goes. */
export const sslContactId = wholeNumber(GIVE_CONTACT).pipe(z.number().positive(GIVE_CONTACT));

export const years = wholeNumber('Give the period in whole years, such as 2.');

/** Characters that nobody can see or that are half of one: neither the interfaces nor the database carry them. */
const UNSEEN = /[\p{Cc}\p{Cs}]/u;

export const requiredText = (message: string, max = 255) =>
  z
    .string(message)
    .trim()
    .min(1, message)
    .max(max, `Use at most ${max} characters.`)
    .refine((text) => !UNSEEN.test(text), 'It contains a character that cannot be seen. Type it again.');

/** A text that is left out when it is empty: "what is left empty is not sent". */
export const optionalText = (max = 255) =>
  z
    .string()
    .trim()
    .max(max, `Use at most ${max} characters.`)
    .refine((text) => !UNSEEN.test(text), 'It contains a character that cannot be seen. Type it again.')
    .transform((text) => (text === '' ? undefined : text))
    .optional();

const GIVE_NUMBER = 'Give a whole number from 0.';
export const optionalNumber = wholeNumber(GIVE_NUMBER)
  .pipe(z.number().nonnegative(GIVE_NUMBER))
  .pipe(z.number().max(2_147_483_647, 'That number is too large.'))
  .optional();

const GIVE_CONTEXT = 'Give the context’s number, such as 4.';
export const contextNumber = wholeNumber(GIVE_CONTEXT)
  .pipe(z.number().positive(GIVE_CONTEXT))
  .pipe(z.number().max(2_147_483_647, 'That number is too large for a context.'));

export const email = z.email('Give an e-mail address, such as anna@example.com.');

/** Service API, section "SSL contact": international format. */
export const phoneNumber = z
  .string()
  .trim()
  .regex(/^(\+[1-9][0-9 ().-]{4,30})?$/, 'Give the number in international format, such as +49-30-5550100.')
  .transform((text) => (text === '' ? undefined : text))
  .optional();

const twoLetters = (message: string, inCase: (text: string) => string) =>
  z
    .string()
    .trim()
    .regex(/^([A-Za-z]{2})?$/, message)
    .transform((text) => (text === '' ? undefined : inCase(text)))
    .optional();

/** ISO 3166-1 alpha-2. */
export const countryCode = twoLetters('Give the country’s two-letter code, such as DE.', (code) =>
  code.toUpperCase(),
);

/** ISO 639-1. */
export const languageCode = twoLetters('Give the language’s two-letter code, such as en.', (code) =>
  code.toLowerCase(),
);
