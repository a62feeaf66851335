import { z } from 'zod';
import { textsSchema } from '../ledger/event.ts';

/* Requirements are stored with an order. */

/** A rule in an order's requirements and events. Kinds other than `rule` apply after the policy's rules. */
export const storedRuleSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('rule'), version: z.int(), index: z.int(), name: z.string() }),
  /** Tasks in `APPROVAL_TASKS` need approval by `APPROVALS_REQUIRED` of `APPROVERS`. */
  z.object({ kind: z.literal('approval_tasks') }),
  /** Tasks outside `APPROVAL_TASKS` need no approval. */
  z.object({ kind: z.literal('rest') }),
  /** An order that uses the team's account needs approval, even if no other rule requires it. */
  z.object({ kind: z.literal('team_account') }),
  /** Mandates, and renewals that a mandate holds back, need approval by someone other than the requester. */
  z.object({ kind: z.literal('mandate') }),
  /** While no charter is valid, the environment's settings apply, and approvals must be signed. */
  z.object({ kind: z.literal('environment') }),
]);

export const storedRequirementSchema = z.object({
  rule: storedRuleSchema,
  names: textsSchema,
  needed: z.int().min(1),
  /** Ids of people and groups. */
  approvers: textsSchema,
  /** Approvers who are never notified. */
  silent: textsSchema,
  /** Whether approvals must be passkey signatures. */
  signed: z.boolean(),
});

export const storedRequirementsSchema = z.object({
  outcome: z.enum(['free', 'approve', 'refuse']),
  /** Empty unless the outcome is `approve`. */
  list: z.array(storedRequirementSchema).readonly(),
  /** Empty unless the outcome is `refuse`. */
  refusedBy: z.array(storedRuleSchema).readonly(),
  /** The shortest duration of all rules that applied. The same goes for the next two fields. */
  ttlMs: z.number(),
  remindAfterMs: z.number(),
  escalateAfterMs: z.number(),
  /** Ids of people and groups. */
  escalateTo: textsSchema,
  escalateToAdmins: z.boolean(),
  /** Whether all rules that applied allow break glass. */
  breakGlass: z.boolean(),
});
