import { z } from 'zod';

/*
 * Why a request cannot be sent as it is, as codes with their data. They are kept with orders, so a code stays once it is
 * released. No data holds a secret: of a credential only the kind of the fault is told.
 */

const PLAIN_CODES = [
  'credential_with_control_characters',
  'credential_not_unicode',
  /** The interface that was asked for does not document the task, and the other one does. */
  'other_interface_needed',
  /** A two-factor account is to carry out a task that the JSON interface alone documents. */
  'json_takes_no_two_factor',
  /** What is not worth a code of its own: no input of a person leads to it. */
  'not_sendable',
  'shared_secret_empty',
  'shared_secret_not_base32',
  'token_malformed',
  'two_factor_needs_xml',
  'user_name_with_colon',
  /** The task needs the XML interface, and its address is not set. */
  'xml_address_missing',
] as const;

const field = z.string();
const interfaceName = z.enum(['json', 'xml']);

export const requestIssue = z.discriminatedUnion('code', [
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
  /** A segment of a path that is empty or means another folder. */
  z.object({ code: z.literal('not_in_address'), text: z.string() }),
]);

/** Why a request cannot be sent as it is. */
export type RequestIssue = z.output<typeof requestIssue>;
export type PlainRequestIssue = (typeof PLAIN_CODES)[number];

/** What is said where an error has no issue of its own. */
export const NOT_SENDABLE: RequestIssue = { code: 'not_sendable' };
