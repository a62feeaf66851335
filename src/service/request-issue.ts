import { z } from 'zod';

// Why a request can't be sent. Issues are stored with orders, so released codes must not be removed or
// renamed. An issue never contains a secret, only what is wrong with it.

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

const fieldSchema = z.string();
const interfaceSchema = z.enum(['json', 'xml']);

export const requestIssueSchema = z.discriminatedUnion('code', [
  z.object({ code: z.enum(PLAIN_CODES) }),
  z.object({ code: z.literal('fields_invalid'), fields: z.array(fieldSchema) }),
  z.object({ code: z.literal('field_not_documented'), field: fieldSchema, interface: interfaceSchema }),
  z.object({
    code: z.literal('value_not_documented'),
    field: fieldSchema,
    interface: interfaceSchema,
    documented: z.array(z.string()),
  }),
  z.object({ code: z.enum(['not_unicode', 'not_xml_character']), field: fieldSchema }),
  /** A path segment that is empty, `.` or `..`. */
  z.object({ code: z.literal('not_in_address'), text: z.string() }),
]);

export type RequestIssue = z.output<typeof requestIssueSchema>;
export type PlainRequestIssue = (typeof PLAIN_CODES)[number];

/** Used if an error has no issue of its own. */
export const NOT_SENDABLE: RequestIssue = { code: 'not_sendable' };
