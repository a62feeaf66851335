import type { PolicyRule } from './policy.ts';
import { RULE_FIELDS, type RuleField, serializeRule } from './rule-text.ts';

export interface FieldChange {
  readonly field: RuleField;
  /** As in the YAML file; empty if absent. */
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

/** Matches rules by name. Lists removed rules first, then the changes from top to bottom. */
export function diffPolicies(
  before: readonly PolicyRule[],
  after: readonly PolicyRule[],
  currency: string,
): PolicyChange[] {
  const oldRules = new Map(before.map((rule, index) => [rule.name, { rule, index }]));
  const newNames = new Set(after.map(({ name }) => name));
  const removals = before.flatMap((rule, index): PolicyChange[] =>
    newNames.has(rule.name) ? [] : [{ kind: 'removed', rule, from: index + 1 }],
  );
  const unmovedPositions = findUnmovedPositions(after.flatMap(({ name }) => oldRules.get(name)?.index ?? []));
  const otherChanges = after.flatMap((rule, index): PolicyChange[] => {
    const old = oldRules.get(rule.name);
    const to = index + 1;
    if (old === undefined) return [{ kind: 'added', rule, to }];
    const fields = diffFields(old.rule, rule, currency);
    return [
      ...(unmovedPositions.has(old.index) ? [] : [{ kind: 'moved' as const, rule, from: old.index + 1, to }]),
      ...(fields.length === 0 ? [] : [{ kind: 'changed' as const, rule, to, fields }]),
    ];
  });
  return [...removals, ...otherChanges];
}

function diffFields(before: PolicyRule, after: PolicyRule, currency: string): FieldChange[] {
  const [oldFields, newFields] = [serializeRule(before, currency), serializeRule(after, currency)];
  return RULE_FIELDS.flatMap((field) => {
    const change = { field, before: [oldFields[field] ?? []].flat(), after: [newFields[field] ?? []].flat() };
    return JSON.stringify(change.before) === JSON.stringify(change.after) ? [] : [change];
  });
}

/** Finds the longest sequence of old positions that are still in order. All other rules count as moved. */
function findUnmovedPositions(positions: readonly number[]): ReadonlySet<number> {
  const runs: number[][] = [];
  for (const position of positions) {
    const extendableRuns = runs.filter((run) => (run.at(-1) ?? -1) < position);
    runs.push([...findLongest(extendableRuns), position]);
  }
  return new Set(findLongest(runs));
}

function findLongest(runs: readonly (readonly number[])[]): readonly number[] {
  return runs.reduce((longest, run) => (run.length > longest.length ? run : longest), []);
}
