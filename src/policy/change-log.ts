import { z } from 'zod';
import { diffPolicies, type PolicyChange } from './diff.ts';
import type { PolicyRule } from './policy.ts';
import { RULE_FIELDS, ruleToText } from './rule-text.ts';

/*
 * What a change did to the rules, in the form of the audit log: texts that stay readable whatever later releases make
 * of rules.
 */

const texts = z.array(z.string()).readonly();

export const loggedChange = z
  .object({
    kind: z.enum(['added', 'removed', 'moved', 'changed']),
    rule: z.string(),
    /** The position, from 1, where the rule stood and where it stands. */
    from: z.number().nullable(),
    to: z.number().nullable(),
    fields: z.array(z.object({ field: z.string(), before: texts, after: texts }).readonly()).readonly(),
  })
  .readonly();
export type LoggedChange = z.output<typeof loggedChange>;

/** Amounts are kept with their currency, because `CURRENCY` may change. */
const NO_CURRENCY = '';

/** The differences between two lists of rules, as they are kept. */
export function loggedChanges(
  before: readonly PolicyRule[],
  after: readonly PolicyRule[],
): readonly LoggedChange[] {
  return diffPolicies(before, after, NO_CURRENCY).map((change) => ({
    kind: change.kind,
    rule: change.rule.name,
    from: 'from' in change ? change.from : null,
    to: 'to' in change ? change.to : null,
    fields: fieldsOf(change),
  }));
}

function fieldsOf(change: PolicyChange): LoggedChange['fields'] {
  if (change.kind === 'moved') return [];
  if (change.kind === 'changed') return change.fields;
  const text = ruleToText(change.rule, NO_CURRENCY);
  return RULE_FIELDS.flatMap((field) => {
    const values = [text[field] ?? []].flat();
    if (values.length === 0) return [];
    return [
      change.kind === 'added' ? { field, before: [], after: values } : { field, before: values, after: [] },
    ];
  });
}
