import type { Policy, PolicyRule } from './policy.ts';
import type { PolicyDraft } from './ports.ts';

/**
 * Edits a list of rules. A rule is identified by its name, and by its position where that matters, so that a click on
 * an outdated list, or a redelivered click, changes nothing else.
 */

export interface DraftBase {
  /** A change is saved only if this revision is still the current one. */
  readonly revision: string;
  readonly rules: readonly PolicyRule[];
}

/** The draft, or else the current version. */
export function getDraftBase(current: Policy, draft: PolicyDraft | undefined): DraftBase {
  return draft ?? { revision: `version ${current.version}`, rules: current.rules };
}

/** @param position from 1 @returns undefined when another rule has that position, or it is the first */
export function moveRuleUp(
  rules: readonly PolicyRule[],
  position: number,
  name: string,
): readonly PolicyRule[] | undefined {
  const index = position - 1;
  const [above, rule] = [rules[index - 1], rules[index]];
  if (above === undefined || rule?.name !== name) return undefined;
  return [...rules.slice(0, index - 1), rule, above, ...rules.slice(index + 1)];
}

/** @returns undefined when there is no such rule */
export function removeRule(rules: readonly PolicyRule[], name: string): readonly PolicyRule[] | undefined {
  const kept = rules.filter((rule) => rule.name !== name);
  return kept.length === rules.length ? undefined : kept;
}
