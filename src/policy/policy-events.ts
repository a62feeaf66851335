import { z } from 'zod';
import { buildEventSchema, confirmedBySchema, timestampSchema } from '../ledger/event.ts';
import { loggedChangeSchema } from './change-log.ts';

export const policyEvents = [
  buildEventSchema('setting', ['setting_changed'], {
    before: z.string(),
    after: z.string(),
    confirmedBy: confirmedBySchema,
  }),
  /** `standIn` is missing if the person is back. */
  buildEventSchema('person', ['stand_in_changed'], {
    standIn: z.object({ userId: z.string(), until: timestampSchema }).optional(),
    /** The previous stand-in's user id. */
    replaced: z.string().optional(),
  }),
  buildEventSchema(
    'policy',
    ['policy_draft_changed', 'policy_draft_discarded', 'policy_published', 'policy_confirmed'],
    {
      version: z.int().optional(),
      changes: z.array(loggedChangeSchema).readonly(),
    },
  ),
] as const;
