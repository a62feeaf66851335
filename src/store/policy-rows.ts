import { z } from 'zod';
import { type PolicyRule, RULE_DECISIONS } from '../policy/policy.ts';

const texts = z.array(z.string());
/** A field that is left out in a charter but null in a row. */
function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined);
}

const milliseconds = optional(z.number());

/**
 * A stored rule. It isn't parsed like user input: a version must stay readable if a later release removes a task, and
 * amounts keep their currency if `CURRENCY` changes.
 */
const storedRuleSchema = z.object({
  name: z.string(),
  tasks: texts,
  names: texts,
  by: texts,
  over: optional(z.object({ currency: z.string(), minor: z.int() })),
  decision: z.enum(RULE_DECISIONS),
  approvers: texts,
  silent: texts,
  needed: z.int().min(1),
  ttlMs: milliseconds,
  remindAfterMs: milliseconds,
  escalateAfterMs: milliseconds,
  escalateTo: texts,
  breakGlass: z.boolean(),
  signed: z.boolean(),
});
export const storedRulesSchema = z.array(storedRuleSchema);

export const policyRow = z.object({ version: z.number(), rules: storedRulesSchema });

/** The next version, as stored in a proposal. */
export const nextPolicySchema = policyRow.extend({ before: storedRulesSchema });

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
