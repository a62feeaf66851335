import type { PolicyRule } from '../../src/policy/policy.ts';

/** A rule that requires approval by `U0CFO` for every order, unless a test overrides fields. */
export function newPolicyRule(fields: Partial<PolicyRule> = {}): PolicyRule {
  return {
    name: 'a rule',
    tasks: ['all'],
    names: ['*'],
    by: [],
    over: undefined,
    decision: 'approve',
    approvers: ['U0CFO'],
    silent: [],
    needed: 1,
    ttlMs: undefined,
    remindAfterMs: undefined,
    escalateAfterMs: undefined,
    escalateTo: [],
    breakGlass: false,
    signed: false,
    ...fields,
  };
}
