import type { PolicyRule } from '../../src/policy/policy.ts';

/** A rule that asks `U0CFO` about every order of every name, but for what a test says of it. */
export function rule(fields: Partial<PolicyRule> = {}): PolicyRule {
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
