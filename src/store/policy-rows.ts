import { z } from 'zod';
import { type PolicyRule, RULE_DECISIONS } from '../policy/policy.ts';

const stringListSchema = z.array(z.string());
/** Accepts fields that are missing (in charters) or null (in rows). */
function acceptNullish<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined);
}

const optionalMillisecondsSchema = acceptNullish(z.number());

/**
 * A stored rule. It isn't parsed like user input: a policy version must stay readable if a later release
 * removes a task, and amounts keep their currency if `CURRENCY` changes.
 */
const storedRuleSchema = z.object({
  name: z.string(),
  tasks: stringListSchema,
  names: stringListSchema,
  by: stringListSchema,
  over: acceptNullish(z.object({ currency: z.string(), minor: z.int() })),
  decision: z.enum(RULE_DECISIONS),
  approvers: stringListSchema,
  silent: stringListSchema,
  needed: z.int().min(1),
  ttlMs: optionalMillisecondsSchema,
  remindAfterMs: optionalMillisecondsSchema,
  escalateAfterMs: optionalMillisecondsSchema,
  escalateTo: stringListSchema,
  breakGlass: z.boolean(),
  signed: z.boolean(),
});
export const storedRulesSchema = z.array(storedRuleSchema);

export const policyRowSchema = z.object({ version: z.number(), rules: storedRulesSchema });

/** The next version, as stored in a proposal. */
export const nextPolicySchema = policyRowSchema.extend({ before: storedRulesSchema });

/** JSON has no `undefined`, so missing members are stored as null. */
export function toStorableRules(rules: readonly PolicyRule[]) {
  return rules.map(({ over, ttlMs = null, remindAfterMs = null, escalateAfterMs = null, ...rule }) => ({
    ...rule,
    over: over === undefined ? null : { ...over },
    ttlMs,
    remindAfterMs,
    escalateAfterMs,
  }));
}
