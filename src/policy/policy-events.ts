import { z } from 'zod';
import { confirmedBy, defineEvent, timestamp } from '../ledger/event.ts';
import { loggedChange } from './change-log.ts';

export const policyEvents = [
  defineEvent('setting', ['setting_changed'], { before: z.string(), after: z.string(), confirmedBy }),
  /** Without a stand-in: the person is back. */
  defineEvent('person', ['stand_in_changed'], {
    standIn: z.object({ userId: z.string(), until: timestamp }).optional(),
    /** The previous stand-in. */
    replaced: z.string().optional(),
  }),
  defineEvent(
    'policy',
    ['policy_draft_changed', 'policy_draft_discarded', 'policy_published', 'policy_confirmed'],
    {
      version: z.int().optional(),
      changes: z.array(loggedChange).readonly(),
    },
  ),
] as const;
