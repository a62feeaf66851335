import { z } from 'zod';
import { parseDomainName } from '../zones/names.ts';
import { checkRegistrable } from '../zones/rules.ts';
import type { ZoneIssue } from '../zones/zone-issue.ts';
import type { limitIssueCodeSchema, PlainIssueCode } from './input-issue.ts';

/** Schemas for order input fields, as entered and as stored. A Zod issue's message is one of our issue codes. */

/** A zone issue has more data than a code, so Zod gets the whole issue in `params`. */
const toCustomIssue = (issue: ZoneIssue) => ({ code: 'custom', params: { issue } }) as const;

export const domainNameSchema = z
  .string('no_domain_name' satisfies PlainIssueCode)
  .transform((text, context) => {
    const parsed = parseDomainName(text);
    const issues = parsed.ok ? checkRegistrable(parsed.value) : [parsed.issue];
    for (const issue of issues) context.addIssue(toCustomIssue(issue));
    return parsed.ok ? parsed.value.ascii : z.NEVER;
  });

export const hostNameSchema = z.string().transform((text, context) => {
  const parsed = parseDomainName(text);
  if (parsed.ok) return parsed.value.ascii;
  context.addIssue(toCustomIssue(parsed.issue));
  return z.NEVER;
});

/** A whole number, as stored or as entered. `1e3`, `0x1f` and empty text are rejected. */
const wholeNumber = (issueCode: PlainIssueCode) =>
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
      issueCode,
    )
    .pipe(z.int(issueCode));

const MAX_INT32 = 2_147_483_647;

const NO_CONTACT: PlainIssueCode = 'no_contact_id';
export const contactIdSchema = wholeNumber(NO_CONTACT)
  .pipe(z.number().positive(NO_CONTACT))
  .pipe(z.number().max(MAX_INT32, 'number_too_large_for_contact' satisfies PlainIssueCode));

export const yearsSchema = wholeNumber('no_whole_years');

/** Control characters and lone surrogates, which neither the service's interfaces nor the database accept. */
const INVISIBLE_CHARACTERS = /[\p{Cc}\p{Cs}]/u;

const TOO_LONG: z.output<typeof limitIssueCodeSchema> = 'text_too_long';
const INVISIBLE_CHARACTER: PlainIssueCode = 'invisible_character';

export const requiredText = (issueCode: PlainIssueCode, maxLength = 255) =>
  z
    .string(issueCode)
    .trim()
    .min(1, issueCode)
    .max(maxLength, TOO_LONG)
    .refine((text) => !INVISIBLE_CHARACTERS.test(text), INVISIBLE_CHARACTER);

const NO_SSL_CONTACT: PlainIssueCode = 'no_ssl_contact_id';
/** Any text, because the service API documents no type for an SSL contact's id. */
export const sslContactIdSchema = z
  .union([z.string(), z.number().transform(String)], NO_SSL_CONTACT)
  .pipe(requiredText(NO_SSL_CONTACT));

/** Empty text becomes undefined, because empty fields aren't sent. */
export const optionalText = (maxLength = 255) =>
  z
    .string()
    .trim()
    .max(maxLength, TOO_LONG)
    .refine((text) => !INVISIBLE_CHARACTERS.test(text), INVISIBLE_CHARACTER)
    .transform((text) => (text === '' ? undefined : text))
    .optional();

const NO_NUMBER: PlainIssueCode = 'no_number_from_0';
export const optionalNumberSchema = wholeNumber(NO_NUMBER)
  .pipe(z.number().nonnegative(NO_NUMBER))
  .pipe(z.number().max(MAX_INT32, 'number_too_large' satisfies PlainIssueCode))
  .optional();

const NO_CONTEXT: PlainIssueCode = 'no_context_number';
export const contextNumberSchema = wholeNumber(NO_CONTEXT)
  .pipe(z.number().positive(NO_CONTEXT))
  .pipe(z.number().max(MAX_INT32, 'number_too_large_for_context' satisfies PlainIssueCode));

export const emailSchema = z.email('email_missing' satisfies PlainIssueCode);

/** International format, as in the SSL contact section of the service API. */
export const phoneNumberSchema = z
  .string()
  .trim()
  .regex(/^(\+[1-9][0-9 ().-]{4,30})?$/, 'phone_number_malformed' satisfies PlainIssueCode)
  .transform((text) => (text === '' ? undefined : text))
  .optional();

const twoLetterCode = (issueCode: PlainIssueCode, changeCase: (text: string) => string) =>
  z
    .string()
    .trim()
    .regex(/^([A-Za-z]{2})?$/, issueCode)
    .transform((text) => (text === '' ? undefined : changeCase(text)))
    .optional();

export const countryCodeSchema = twoLetterCode('country_code_malformed', (code) => code.toUpperCase());

export const languageCodeSchema = twoLetterCode('language_code_malformed', (code) => code.toLowerCase());
