import { z } from 'zod';
import { zoneIssueSchema } from '../zones/zone-issue.ts';
import { INTERFACE_CONSTRAINT_KINDS } from './interface-constraint.ts';

/**
 * Codes for why a request can't become an order. They are stored with orders that a zone's rules stopped, so don't
 * remove or rename released codes.
 */

const PLAIN_CODES = [
  'address_line_empty',
  'country_code_malformed',
  'email_missing',
  'interface_unknown',
  'invisible_character',
  'language_code_malformed',
  'no_contact_id',
  'no_ssl_contact_id',
  'no_context_number',
  'no_domain_name',
  'no_field_to_change',
  'no_names',
  'no_number_from_0',
  'no_redirect_source',
  'no_redirect_target',
  'no_superior_user',
  'no_user_name',
  'no_whole_years',
  'number_too_large',
  'number_too_large_for_contact',
  'number_too_large_for_context',
  'phone_number_malformed',
  'redirect_mode_unknown',
  'redirect_source_malformed',
  'redirect_type_unknown',
  'target_no_email',
  'target_no_web_address',
  'unreadable',
  'user_name_with_colon',
] as const;
export type PlainIssueCode = (typeof PLAIN_CODES)[number];

export const plainIssueCodeSchema = z.enum(PLAIN_CODES);
export const limitIssueCodeSchema = z.enum(['text_too_long', 'too_many_lines', 'too_many_names']);
const interfaceConstraintSchema = z.enum(INTERFACE_CONSTRAINT_KINDS);

/**
 * The name of the form field: `names` for any of its lines, `parent_user` for the field `user` of the object `parent`.
 */
const field = z.string();

export const inputIssueSchema = z.discriminatedUnion('code', [
  z.object({ field, code: plainIssueCodeSchema }),
  z.object({ field, code: limitIssueCodeSchema, max: z.number() }),
  z.object({ field, code: z.literal('zone_issue'), issue: zoneIssueSchema }),
  z.object({
    field,
    code: z.literal('interfaces_conflict'),
    jsonConstraint: interfaceConstraintSchema,
    xmlConstraint: interfaceConstraintSchema,
  }),
  z.object({
    field,
    code: z.literal('interface_out_of_reach'),
    needs: z.enum(['json', 'xml']),
    constraint: interfaceConstraintSchema,
  }),
]);

export type InputIssue = z.output<typeof inputIssueSchema>;
