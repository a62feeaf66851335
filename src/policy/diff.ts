import type { PolicyRule } from './policy.ts';
import { RULE_FIELDS, type RuleField, ruleToText } from './rule-text.ts';

/** Differences between two policy versions. Rules are identified by their unique names. */

export interface FieldChange {
  readonly field: RuleField;
  /** As in a YAML file; empty if absent. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** Positions count from 1. */
export type PolicyChange =
  | { readonly kind: 'added'; readonly rule: PolicyRule; readonly to: number }
  | { readonly kind: 'removed'; readonly rule: PolicyRule; readonly from: number }
  | { readonly kind: 'moved'; readonly rule: PolicyRule; readonly from: number; readonly to: number }
  | {
      readonly kind: 'changed';
      readonly rule: PolicyRule;
      readonly to: number;
      readonly fields: readonly FieldChange[];
    };

/** Removals first, then the new rules from top to bottom. */
export function diffPolicies(
  before: readonly PolicyRule[],
  after: readonly PolicyRule[],
  currency: string,
): PolicyChange[] {
  const old = new Map(before.map((rule, index) => [rule.name, { rule, index }]));
  const kept = new Set(after.map(({ name }) => name));
  const removed = before.flatMap((rule, index): PolicyChange[] =>
    kept.has(rule.name) ? [] : [{ kind: 'removed', rule, from: index + 1 }],
  );
  const unmoved = findUnmoved(after.flatMap(({ name }) => old.get(name)?.index ?? []));
  const others = after.flatMap((rule, index): PolicyChange[] => {
    const former = old.get(rule.name);
    const to = index + 1;
    if (former === undefined) return [{ kind: 'added', rule, to }];
    const fields = diffFields(former.rule, rule, currency);
    return [
      ...(unmoved.has(former.index) ? [] : [{ kind: 'moved' as const, rule, from: former.index + 1, to }]),
      ...(fields.length === 0 ? [] : [{ kind: 'changed' as const, rule, to, fields }]),
    ];
  });
  return [...removed, ...others];
}

function diffFields(before: PolicyRule, after: PolicyRule, currency: string): FieldChange[] {
  const [oldText, newText] = [ruleToText(before, currency), ruleToText(after, currency)];
  return RULE_FIELDS.flatMap((field) => {
    const change = { field, before: [oldText[field] ?? []].flat(), after: [newText[field] ?? []].flat() };
    return JSON.stringify(change.before) === JSON.stringify(change.after) ? [] : [change];
  });
}

/** The longest sequence of old positions that kept their order. All other rules moved. */
function findUnmoved(positions: readonly number[]): ReadonlySet<number> {
  const best: number[][] = [];
  for (const position of positions) {
    const before = best.filter((run) => (run.at(-1) ?? -1) < position);
    const longest = before.reduce<number[]>((most, run) => (run.length > most.length ? run : most), []);
    best.push([...longest, position]);
  }
  return new Set(best.reduce<number[]>((most, run) => (run.length > most.length ? run : most), []));
}
