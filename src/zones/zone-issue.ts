import { z } from 'zod';

/** Issues are stored with orders, so existing codes must stay. Entered text is truncated and cleaned. */

const issueWithTextSchema = z.object({ text: z.string() });

const nameIssueSchemas = [
  z.object({ code: z.literal('name_missing') }),
  /** A Slack link whose label is a different name. */
  z.object({ code: z.literal('link_mismatch'), shown: z.string(), target: z.string() }),
  issueWithTextSchema.extend({
    code: z.enum([
      'email_address',
      'empty_label',
      'invalid_xn_form',
      'invisible_character',
      'ip_address',
      'letters_not_allowed',
      'symbol_not_allowed',
    ]),
  }),
  issueWithTextSchema.extend({ code: z.literal('character_not_allowed'), character: z.string() }),
  /** The name is a single label. `example` is a full name to suggest. */
  issueWithTextSchema.extend({ code: z.literal('no_ending'), example: z.string() }),
  z.object({ code: z.literal('hyphen_at_edge'), label: z.string() }),
  z.object({
    code: z.literal('label_too_long'),
    label: z.string(),
    length: z.number(),
    max: z.number(),
    /** Whether `length` is the length of the `xn--` form. */
    encoded: z.boolean(),
  }),
  z.object({ code: z.literal('name_too_long'), length: z.number(), max: z.number() }),
] as const;
const nameIssueSchema = z.discriminatedUnion('code', nameIssueSchemas);

export type NameIssue = z.output<typeof nameIssueSchema>;

export const zoneIssueSchema = z.discriminatedUnion('code', [
  ...nameIssueSchemas,
  /** The name is a subdomain of `registered`. */
  z.object({ code: z.literal('subdomain'), name: z.string(), registered: z.string() }),
  /** The name is a public suffix, such as `co.uk`. */
  z.object({ code: z.literal('public_suffix'), name: z.string() }),
  z.object({
    code: z.literal('label_length'),
    label: z.string(),
    length: z.number(),
    min: z.number(),
    max: z.number(),
  }),
  z.object({ code: z.literal('reserved_hyphens'), label: z.string() }),
  z.object({ code: z.literal('letters_not_in_zone'), label: z.string(), zone: z.string() }),
  z.object({ code: z.literal('nameserver_unreadable'), issue: nameIssueSchema }),
  /** `host` is in ASCII. */
  z.object({ code: z.literal('nameserver_repeated'), host: z.string() }),
  z.object({
    code: z.literal('nameserver_count'),
    /** Undefined if the limit is a rule of DNS. */
    zone: z.string().optional(),
    given: z.number(),
    min: z.number(),
    max: z.number().optional(),
  }),
  /** `min` and `max` are in years. */
  z.object({ code: z.literal('period_out_of_range'), min: z.number(), max: z.number().optional() }),
  /** `task` is named as in the zone's profile. */
  z.object({ code: z.literal('task_not_offered'), task: z.string(), zone: z.string() }),
]);

export type ZoneIssue = z.output<typeof zoneIssueSchema>;
