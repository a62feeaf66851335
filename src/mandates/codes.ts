import { z } from 'zod';

/** Why a mandate doesn't renew a name. */
const HOLD_REASONS = [
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
  /** When sending: the order wasn't announced at least a day before. */
  'not_announced',
  /** When sending: the mandate's patterns no longer match the name. */
  'moved_out',
  /** When sending: the name's expiry has changed. */
  'renewed_meanwhile',
  /** When sending: two people decided to let the name lapse. */
  'set_to_lapse',
  'mandate_ended',
] as const;

export const holdReasonSchema = z.enum(HOLD_REASONS);

export type HoldReason = z.output<typeof holdReasonSchema>;

/** Why a mandate has ended. */
const MANDATE_END_CAUSES = [
  'person',
  'expired',
  'requester_left',
  'owner_left',
  'approver_left',
  /** The database may have lost more than a day, so the mandate's spending is uncertain. */
  'database_restored',
  'log_differs',
] as const;

export const storedMandateEndSchema = z.object({
  at: z.coerce.date(),
  cause: z.enum(MANDATE_END_CAUSES),
  /** The person who ended the mandate, or who has left. */
  by: z.string().exactOptional(),
});

export type MandateEnd = Readonly<z.output<typeof storedMandateEndSchema>>;

export interface MandateReference {
  readonly id: string;
}
