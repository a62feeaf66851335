import { z } from 'zod';

/** Why a mandate does not act for a name. */
const HELD_CODES = [
  'price_unknown',
  'price_above',
  'total_spent',
  'day_full',
  'budget_empty',
  'owner_left',
  'incident_open',
  'account_gone',
  'other_account',
  'date_in_doubt',
  'policy_asks_more',
  'policy_refuses',
  'earlier_unknown',
  'too_late',
  /** At the time of sending: nobody could be told a day before. */
  'not_announced',
  /** At the time of sending: its patterns do not fit the name any more. */
  'moved_out',
  /** At the time of sending: the name's expiry has changed. */
  'renewed_meanwhile',
  /** At the time of sending: two people have decided to let it go. */
  'let_go',
  /** At the time of sending: it is over. */
  'mandate_ended',
] as const;

export const heldCode = z.enum(HELD_CODES);

export type HeldCode = z.output<typeof heldCode>;

/** Why a mandate ended before its last day, or with it. */
const MANDATE_ENDS = [
  'person',
  'over',
  'requester_left',
  'owner_left',
  'approver_left',
  /** Its spending is uncertain: the database may lack more than a day. */
  'database_restored',
  /** Its rows differ from its log. */
  'log_differs',
] as const;

/** How a mandate ended. */
export const storedMandateEnd = z.object({
  at: z.coerce.date(),
  because: z.enum(MANDATE_ENDS),
  /** Slack user id of who ended it, or who has left. */
  by: z.string().exactOptional(),
});

export type MandateEnd = Readonly<z.output<typeof storedMandateEnd>>;

/** That an order was made by a mandate, kept with the order. */
export interface Mandated {
  /** The order of the mandate. */
  readonly id: string;
  /** It is not sent before: a day after it was said at the earliest. */
  readonly sendAfter: Date;
}
