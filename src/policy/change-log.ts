import { z } from 'zod';
import { textsSchema } from '../ledger/event.ts';
import { diffPolicies, type PolicyChange } from './diff.ts';
import type { PolicyRule } from './policy.ts';
import { RULE_FIELDS, serializeRule } from './rule-text.ts';

/** Changes are logged as text, so that they stay readable if a later release changes the format of rules. */
export const loggedChangeSchema = z
  .object({
    kind: z.enum(['added', 'removed', 'moved', 'changed']),
    rule: z.string(),
    /** The rule's position before the change, from 1. */
    from: z.number().nullable(),
    to: z.number().nullable(),
    fields: z
      .array(z.object({ field: z.string(), before: textsSchema, after: textsSchema }).readonly())
      .readonly(),
  })
  .readonly();
export type LoggedChange = z.output<typeof loggedChangeSchema>;

/** Makes every logged amount include its currency, because `CURRENCY` may change. */
const NO_CURRENCY = '';

export function toLoggedChanges(
  before: readonly PolicyRule[],
  after: readonly PolicyRule[],
): readonly LoggedChange[] {
  return diffPolicies(before, after, NO_CURRENCY).map((change) => ({
    kind: change.kind,
    rule: change.rule.name,
    from: 'from' in change ? change.from : null,
    to: 'to' in change ? change.to : null,
    fields: listLoggedFields(change),
  }));
}

function listLoggedFields(change: PolicyChange): LoggedChange['fields'] {
  if (change.kind === 'moved') return [];
  if (change.kind === 'changed') return change.fields;
  const serializedRule = serializeRule(change.rule, NO_CURRENCY);
  return RULE_FIELDS.flatMap((field) => {
    const values = [serializedRule[field] ?? []].flat();
    if (values.length === 0) return [];
    return [
      change.kind === 'added' ? { field, before: [], after: values } : { field, before: values, after: [] },
    ];
  });
}
