import { z } from 'zod';

/**
 * Codes with data for why a request can't be sent. They are stored with orders, so don't remove or rename released
 * codes. The data never contains a secret, only what is wrong with it.
 */

const PLAIN_CODES = [
  'credential_with_control_characters',
  'credential_not_unicode',
  /** The task is documented only for the other interface. */
  'other_interface_needed',
  /** The task is documented only for JSON, and the account uses two-factor authentication. */
  'json_takes_no_two_factor',
  /** Can't be caused by user input. */
  'not_sendable',
  'shared_secret_empty',
  'shared_secret_not_base32',
  'token_malformed',
  'two_factor_needs_xml',
  'user_name_with_colon',
  /** The task needs XML, and `SERVICE_XML_URL` isn't set. */
  'xml_address_missing',
] as const;

const field = z.string();
const interfaceName = z.enum(['json', 'xml']);

export const requestIssueSchema = z.discriminatedUnion('code', [
  z.object({ code: z.enum(PLAIN_CODES) }),
  z.object({ code: z.literal('fields_invalid'), fields: z.array(field) }),
  z.object({ code: z.literal('field_not_documented'), field, interface: interfaceName }),
  z.object({
    code: z.literal('value_not_documented'),
    field,
    interface: interfaceName,
    documented: z.array(z.string()),
  }),
  z.object({ code: z.enum(['not_unicode', 'not_xml_character']), field }),
  /** A path segment that is empty, `.` or `..`. */
  z.object({ code: z.literal('not_in_address'), text: z.string() }),
]);

export type RequestIssue = z.output<typeof requestIssueSchema>;
export type PlainRequestIssue = (typeof PLAIN_CODES)[number];

/** For errors without an issue. */
export const NOT_SENDABLE: RequestIssue = { code: 'not_sendable' };
