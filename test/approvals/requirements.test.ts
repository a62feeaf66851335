import { describe, expect, test } from 'vitest';
import {
  buildEnvironmentRequirement,
  evaluateOrder,
  getTaskSettings,
  loadCurrentEvaluation,
} from '../../src/approvals/requirements.ts';
import type { TeamSettings } from '../../src/config/environment.ts';
import type { OrderTaskName } from '../../src/orders/order.ts';
import type { EffectivePolicy } from '../../src/policy/policy.ts';
import { newOrder } from '../orders/sample.ts';
import { newPolicyRule } from '../policy/sample.ts';
import { NO_POLICY } from '../support/nothing-known.ts';
import { newTeamSettings } from '../support/settings.ts';

const names = ['cafe.rest'];
const POLICY = await NO_POLICY.policy.loadCurrentPolicy();
const SIGNED = { rules: [newPolicyRule({ signed: true })] };

/** The policy while no charter is valid. */
const withInvalidCharter = (needed: number, ...tasks: readonly string[]) => ({
  charterProblem: {
    problem: 'rows_differ' as const,
    environment: { approvers: ['U0ENV'], silent: [], needed, tasks },
  },
});

const sourcesOf = (policy: Partial<EffectivePolicy>, settings: Partial<TeamSettings> = {}) => ({
  ...NO_POLICY,
  loadSettings: async () => newTeamSettings({ approvalTasks: [], ...settings }),
  policy: { loadCurrentPolicy: async () => ({ ...POLICY, ...policy }) },
  ruleFacts: { ...NO_POLICY.ruleFacts, findMatchingNames: async () => names },
  directory: {
    listGroupMembers: async () => [],
    findMembership: async () => 'member' as const,
  },
});
const evaluate = (
  task: OrderTaskName,
  policy: Partial<EffectivePolicy>,
  settings: Partial<TeamSettings> = {},
  isHeld = false,
) => {
  const order = { task, names, requesterId: 'U0ALICE', input: {}, usesTeamAccount: false, isHeld };
  return evaluateOrder(sourcesOf(policy, settings), order);
};

test.each<[OrderTaskName, isHeld: boolean, rules: readonly string[]]>([
  ['renew', false, []],
  ['renew', true, ['mandate']],
  ['mandate', false, ['mandate']],
])('without rules or approval tasks, a %s (held: %s) needs %j', async (task, isHeld, rules) => {
  const { requirements } = await evaluate(task, {}, {}, isHeld);
  expect(requirements.list.map((each) => each.rule.kind)).toEqual(rules);
});

test.each([
  [[], true],
  [['U0CHEF'], false],
])('a mandate is escalated to %j, and to admins: %s', async (escalateTo, escalateToAdmins) => {
  const { requirements } = await evaluate('mandate', {}, { approvalEscalateTo: escalateTo });
  expect(requirements).toMatchObject({ escalateTo, escalateToAdmins });
});

test('self-approval is never allowed for mandates', () => {
  const settings = newTeamSettings({ allowSelfApproval: true });
  expect(getTaskSettings({ task: 'mandate' }, settings).allowSelfApproval).toBe(false);
  expect(getTaskSettings({ task: 'renew' }, settings).allowSelfApproval).toBe(true);
});

describe('while no charter is valid', () => {
  test.each<[what: string, tasks: readonly string[], Partial<EffectivePolicy>, needs: readonly string[]]>([
    ['a listed task with a signed rule', ['renew'], SIGNED, ['1 of U0CFO', '2 of U0ENV']],
    ['another task with a signed rule', [], SIGNED, ['1 of U0CFO']],
    ['another task without a rule', [], {}, ['1 of U0ENV']],
  ])('%s needs the approvers of its rule or the environment', async (_, tasks, policy, needs) => {
    const { requirements } = await evaluate('renew', { ...policy, ...withInvalidCharter(2, ...tasks) });
    expect(requirements.list.every(({ signed }) => signed)).toBe(true);
    expect(requirements.list.map(({ needed, approvers }) => `${needed} of ${approvers}`)).toEqual(needs);
  });

  test.each([
    [['renew'], 2],
    [[], 1],
  ])('and the approval tasks are %j, a protected change needs %i', (tasks, needed) => {
    const policy = { ...POLICY, ...withInvalidCharter(2, ...tasks) };
    expect(buildEnvironmentRequirement(policy, names)?.needed).toBe(needed);
  });
});

test.each<[what: string, Partial<EffectivePolicy>, isStricter: boolean]>([
  ['the same policy needs no more', {}, false],
  ['a signed rule needs more', SIGNED, true],
  ['a refusing rule needs more', { rules: [newPolicyRule({ decision: 'refuse' })] }, true],
])('an order evaluated again with %s', async (_, policy, isStricter) => {
  const sources = sourcesOf(policy, { approvalTasks: ['renew'] });
  expect(await loadCurrentEvaluation(sources, newOrder(names))).toMatchObject({ isStricter });
});
