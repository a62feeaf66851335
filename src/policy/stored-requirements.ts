import { z } from 'zod';

/* The only schemas for requirements that are stored with an order. */

const texts = z.array(z.string()).readonly();

/**
 * A rule in an order's requirements and events. Kinds other than `rule` apply after the rules of every policy and can't
 * be removed.
 */
export const storedRuleSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('rule'), version: z.int(), index: z.int(), name: z.string() }),
  /** Tasks in the setting `APPROVAL_TASKS` need `APPROVALS_REQUIRED` of `APPROVERS`. */
  z.object({ kind: z.literal('approval_tasks') }),
  /** Everything else is free. */
  z.object({ kind: z.literal('rest') }),
  /** An order that is otherwise free needs approval if it uses the team's account. */
  z.object({ kind: z.literal('team_account') }),
  /**
   * A mandate, or an order that its mandate doesn't cover, always needs approval by someone other than the requester.
   */
  z.object({ kind: z.literal('mandate') }),
  /** A charter was signed, but none is valid. The environment's settings apply, with signatures. */
  z.object({ kind: z.literal('environment') }),
]);

export const storedRequirementSchema = z.object({
  rule: storedRuleSchema,
  names: texts,
  needed: z.int().min(1),
  /** Ids of people and groups. */
  approvers: texts,
  /** Approvers who are never notified. */
  silent: texts,
  /** Approvals must be passkey signatures. */
  signed: z.boolean(),
});

export const storedRequirementsSchema = z.object({
  outcome: z.enum(['free', 'approve', 'refuse']),
  /** Empty unless the outcome is `approve`. */
  list: z.array(storedRequirementSchema).readonly(),
  /** Empty unless the outcome is `refuse`. */
  refusedBy: z.array(storedRuleSchema).readonly(),
  /** The shortest duration of all rules that applied. The same holds for the next two. */
  ttlMs: z.number(),
  remindAfterMs: z.number(),
  escalateAfterMs: z.number(),
  /** Ids of people and groups. */
  escalateTo: texts,
  escalateToAdmins: z.boolean(),
  /** All rules that applied allow it. */
  breakGlass: z.boolean(),
});
