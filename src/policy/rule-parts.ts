import { isGroupId, type PolicyRule, parseTagPattern, TASK_SELECTORS } from './policy.ts';

/*
 * Parts from which views write a sentence about a rule, such as “*Transfers* of `*.rest` requested by
 * *@marketing* over *€500* need *2 of @finance*”.
 */

export type TaskPart =
  | { readonly kind: 'task'; readonly task: string }
  | { readonly kind: (typeof TASK_SELECTORS)[number] };

export type NamePart =
  | { readonly kind: 'all' }
  /** Every name below `parent`, which is `rest` for `*.rest`. */
  | { readonly kind: 'under'; readonly parent: string }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'tag'; readonly tag: string };

export interface PersonPart {
  readonly kind: 'user' | 'group';
  readonly id: string;
}

export interface RuleDescription
  extends Omit<PolicyRule, 'tasks' | 'names' | 'by' | 'approvers' | 'silent' | 'escalateTo'> {
  readonly tasks: readonly TaskPart[];
  readonly names: readonly NamePart[];
  /** Empty for everyone. */
  readonly by: readonly PersonPart[];
  readonly approvers: readonly PersonPart[];
  readonly silent: readonly PersonPart[];
  readonly escalateTo: readonly PersonPart[];
}

/** Omits tasks and names that `all` or `*` already includes. */
export function describeRule(rule: PolicyRule): RuleDescription {
  return {
    ...rule,
    tasks: rule.tasks.includes('all') ? [{ kind: 'all' }] : rule.tasks.map(toTaskPart),
    names: rule.names.includes('*') ? [{ kind: 'all' }] : rule.names.map(toNamePart),
    by: rule.by.map(toPersonPart),
    approvers: rule.approvers.map(toPersonPart),
    silent: rule.silent.map(toPersonPart),
    escalateTo: rule.escalateTo.map(toPersonPart),
  };
}

function toTaskPart(task: string): TaskPart {
  const selector = TASK_SELECTORS.find((name) => name === task);
  return selector === undefined ? { kind: 'task', task } : { kind: selector };
}

function toNamePart(pattern: string): NamePart {
  const tag = parseTagPattern(pattern);
  if (tag !== undefined) return { kind: 'tag', tag };
  if (pattern.startsWith('*.')) return { kind: 'under', parent: pattern.slice('*.'.length) };
  return { kind: 'name', name: pattern };
}

function toPersonPart(id: string): PersonPart {
  return { kind: isGroupId(id) ? 'group' : 'user', id };
}
