import type { Policy, PolicyRule } from './policy.ts';
import type { PolicyDraft } from './ports.ts';

/**
 * Rules are identified by name and, if necessary, position, so that a redelivered click or a click on an outdated list
 * can't change another rule.
 */

export interface DraftBase {
  /** Edits are saved only if this is still the current revision. */
  readonly revision: string;
  readonly rules: readonly PolicyRule[];
}

export function getDraftBase(current: Policy, draft: PolicyDraft | undefined): DraftBase {
  return draft ?? { revision: `version ${current.version}`, rules: current.rules };
}

/**
 * @param position from 1
 * @returns undefined if another rule has that position, or if the rule is the first one
 */
export function moveRuleUp(
  rules: readonly PolicyRule[],
  position: number,
  name: string,
): readonly PolicyRule[] | undefined {
  const index = position - 1;
  const [ruleAbove, rule] = [rules[index - 1], rules[index]];
  if (ruleAbove === undefined || rule?.name !== name) return undefined;
  return [...rules.slice(0, index - 1), rule, ruleAbove, ...rules.slice(index + 1)];
}

/** @returns undefined if there is no such rule */
export function removeRule(rules: readonly PolicyRule[], name: string): readonly PolicyRule[] | undefined {
  const remainingRules = rules.filter((rule) => rule.name !== name);
  return remainingRules.length === rules.length ? undefined : remainingRules;
}
