import { z } from 'zod';
import { confirmedBySchema, defineEvent, timestampSchema } from '../ledger/event.ts';
import { loggedChangeSchema } from './change-log.ts';

export const policyEvents = [
  defineEvent('setting', ['setting_changed'], {
    before: z.string(),
    after: z.string(),
    confirmedBy: confirmedBySchema,
  }),
  /** Has no `standIn` if the person is back. */
  defineEvent('person', ['stand_in_changed'], {
    standIn: z.object({ userId: z.string(), until: timestampSchema }).optional(),
    /** The previous stand-in's user id. */
    replaced: z.string().optional(),
  }),
  defineEvent(
    'policy',
    ['policy_draft_changed', 'policy_draft_discarded', 'policy_published', 'policy_confirmed'],
    {
      version: z.int().optional(),
      changes: z.array(loggedChangeSchema).readonly(),
    },
  ),
] as const;
