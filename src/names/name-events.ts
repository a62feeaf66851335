import { z } from 'zod';
import {
  buildEventSchema,
  changedValuesShape,
  confirmedBySchema,
  textsSchema,
  timestampSchema,
} from '../ledger/event.ts';
import { holdReasonSchema } from '../mandates/codes.ts';
import { messagePlaceSchema } from '../outbox/notifications.ts';
import { FACT_NAMES } from './facts.ts';
import { INCIDENT_KINDS } from './unexplained-changes.ts';

const routingSchema = z.object({ owner: z.string().exactOptional(), channel: z.string().exactOptional() });
const incidentKindSchema = z.enum(INCIDENT_KINDS);

export const nameEvents = [
  buildEventSchema(
    'name',
    [
      ...(['name_watched', 'name_dated', 'name_unwatched', 'name_snoozed', 'name_renewed'] as const),
      ...(['lapse_requested', 'lapse_confirmed', 'name_kept', 'name_handed_over'] as const),
    ],
    {
      /** The end of a snooze, or the expiry date that a person entered. */
      until: timestampSchema.optional(),
      reason: z.string().optional(),
      confirmedBy: confirmedBySchema,
      askedBy: z.string().optional(),
      /** The new owner. */
      to: z.string().optional(),
      /** Where the event's notification is posted. */
      origin: messagePlaceSchema.optional(),
    },
  ),
  /** `incident_joined`: the change was added to an open incident. */
  buildEventSchema('name', ['incident_opened', 'incident_joined'], {
    incident: incidentKindSchema,
    fact: z.enum(FACT_NAMES),
    before: textsSchema,
    after: textsSchema,
  }),
  /** `incident_proposed`: the first of two people confirmed. `incident_over`: the name is back to normal. */
  buildEventSchema('name', ['incident_proposed', 'incident_ours', 'incident_raised', 'incident_over'], {
    incidents: z.array(incidentKindSchema).readonly(),
    reason: z.string().optional(),
  }),
  /** `orderId`: the regular order that replaces the mandate's order, or the mandate's unsent order. */
  buildEventSchema('name', ['mandate_held'], {
    mandate: z.string(),
    holdReason: holdReasonSchema,
    orderId: z.string().optional(),
  }),
  buildEventSchema('name', ['name_changed'], changedValuesShape),
  /** `names`: some of the names with a new owner or channel. `count`: the number of all such names. */
  buildEventSchema('name', ['notices_rerouted'], {
    count: z.int(),
    names: z.array(z.object({ name: z.string(), before: routingSchema, after: routingSchema })).readonly(),
    confirmedBy: confirmedBySchema,
  }),
] as const;
