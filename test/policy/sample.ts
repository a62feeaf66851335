import type { PolicyRule } from '../../src/policy/policy.ts';

/** A rule by which `U0CFO` approves every order of every name, unless a test overrides it. */
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
