import { describe, expect, test } from 'vitest';
import type { ProposalOf, ProposalState } from '../../../src/approvals/proposals/proposal.ts';
import type { PolicySettings } from '../../../src/policy/evaluate.ts';
import type { PolicyRule } from '../../../src/policy/policy.ts';
import type { PolicyDraft, PublishedPolicy } from '../../../src/policy/ports.ts';
import { type AnyBlock, blocksToLines } from '../../../src/slack/kit/blocks.ts';
import {
  policyMessage,
  policyProposalView,
  publishedMessage,
} from '../../../src/slack/policy/policy.view.ts';
import { policyReplayMessage, policyTestMessage } from '../../../src/slack/policy/policy-preview.view.ts';
import { implicitRuleSentences, ruleSentence } from '../../../src/slack/policy/policy-rule.view.ts';
import { newPolicyRule } from '../../policy/sample.ts';
import { expectValidMessage } from '../kit/limits.ts';

const LOCALE = 'en-GB';
const NOW = new Date('2026-11-22T08:00:00Z');
const SETTINGS: PolicySettings = {
  approvalTasks: ['renew'],
  approvers: ['U0BOSS'],
  silentApprovers: [],
  approvalsRequired: 1,
  ttlMs: 1,
  remindAfterMs: 1,
  escalateAfterMs: 1,
  escalateTo: [],
  signed: false,
};

const NEXT_VERSION = { version: 1, before: [] };
function newProposal(rules: readonly PolicyRule[], state: ProposalState = 'proposed'): ProposalOf<'policy'> {
  return {
    ...{ id: 'r1', kind: 'policy', payload: { ...NEXT_VERSION, rules }, hash: 'hash', version: 0, state },
    ...{ proposer: 'U0ADA', proposedAt: NOW, expiresAt: undefined, origin: undefined, subject: undefined },
    ...{ confirmations: [], endedBy: state === 'confirmed' ? 'U0BOB' : undefined },
  };
}

function createDraft(rules: readonly PolicyRule[], proposal?: PolicyDraft['proposal']): PolicyDraft {
  return { revision: 'r1', rules, changedBy: 'U0ADA', changedAt: NOW, proposal };
}

const formatBlocks = (blocks: readonly AnyBlock[]) => blocksToLines(blocks).join('\n');
const formatRule = (fields: Partial<PolicyRule>) => ruleSentence(newPolicyRule(fields), LOCALE);

describe('a rule as a sentence', () => {
  test('includes tasks, names, requesters, the amount and the requirements', () => {
    expect(
      formatRule({
        tasks: ['transfer'],
        names: ['*.rest'],
        by: ['S0MARKETING'],
        over: { currency: 'EUR', minor: 50_000 },
        approvers: ['S0FINANCE'],
        needed: 2,
      }),
    ).toBe(
      '*Transfers* of `*.rest` over *€500.00* requested by *members of <!subteam^S0MARKETING>* need *2 approvals from members of <!subteam^S0FINANCE>*.',
    );
  });

  test.each([
    [{ tasks: ['charge'], decision: 'free' }, '*Paid tasks* for every name need *no approval*.'],
    [
      { tasks: ['all'], names: ['cafe.rest'], decision: 'refuse' },
      '*All tasks* for `cafe.rest` are *refused*.',
    ],
    [
      { tasks: ['delete', 'risk'], names: ['tag:brand'], decision: 'refuse' },
      '*Deletions and tasks that can lose a name or take it down* for names tagged `brand` are *refused*.',
    ],
    [{ tasks: ['renew'], approvers: ['U0CFO'] }, '*Renewals* of every name need *approval from <@U0CFO>*.'],
    [
      { tasks: ['renew'], approvers: ['S0CFO', 'U0BOB'] },
      '*Renewals* of every name need *approval from a member of <!subteam^S0CFO> or <@U0BOB>*.',
    ],
    [
      {
        tasks: ['renew'],
        ttlMs: 129_600_000,
        escalateAfterMs: 7_200_000,
        escalateTo: ['U0BOSS'],
        breakGlass: true,
      },
      '*Renewals* of every name need *approval from <@U0CFO>* (expires after 36 hours; escalation to <@U0BOSS> after 2 hours; break glass allowed).',
    ],
  ] as const)('describes %o', (fields, expected) => {
    expect(formatRule(fields)).toBe(expected);
  });

  test('shortens long lists', () => {
    const names = Array.from({ length: 30 }, (_, n) => `n${n}.rest`);
    expect(formatRule({ names })).toContain('`n7.rest` and 22 more');
  });

  test('is also created from the settings, for tasks without a rule', () => {
    expect(implicitRuleSentences(SETTINGS)).toEqual([
      '*Renewals* of every name need *approval from <@U0BOSS>*.',
      '*Everything else* needs *no approval*.',
    ]);
    expect(implicitRuleSentences({ ...SETTINGS, approvalTasks: [] })).toHaveLength(1);
  });
});

/** The policy with the maximum number of rules, each as long as possible. */
const LARGEST_POLICY_RULES = Array.from({ length: 500 }, (_, n) =>
  newPolicyRule({
    name: `${n} `.padEnd(80, '*<&'),
    tasks: ['charge', 'risk', 'user', 'redirect'],
    names: Array.from({ length: 100 }, (_each, index) => `${'x'.repeat(60)}${index}.rest`),
    by: Array.from({ length: 100 }, (_each, index) => `U0PERSON${index}`),
    approvers: Array.from({ length: 100 }, (_each, index) => `S0GROUP${index}`),
    needed: 20,
  }),
);
const published: PublishedPolicy = {
  version: 3,
  rules: LARGEST_POLICY_RULES,
  publishedBy: 'U0ADA',
  confirmedBy: 'U0BOB',
  confirmedAt: NOW,
};

describe('messages about the largest policy', () => {
  const reader = { userId: 'U0BOB', isAdmin: true, locale: LOCALE };
  const viewInput = {
    published,
    draft: createDraft(LARGEST_POLICY_RULES, newProposal(LARGEST_POLICY_RULES)),
    settings: SETTINGS,
    reader,
    offset: 70,
  };
  const questionContext = { userId: 'U0BOB', locale: LOCALE, progress: [] };

  test.each([
    ['the policy with its draft', policyMessage(viewInput)],
    ['the policy in force, for admins', policyMessage({ ...viewInput, draft: undefined, offset: 490 })],
    [
      'the policy in force, for everyone',
      policyMessage({ ...viewInput, reader: { ...reader, isAdmin: false } }),
    ],
    [
      'the question to other admins',
      policyProposalView(newProposal(LARGEST_POLICY_RULES)).question(questionContext),
    ],
    [
      'the reply to the publisher',
      publishedMessage({ ...NEXT_VERSION, rules: LARGEST_POLICY_RULES }, LOCALE, ['U0BOB', 'U0CAROL']),
    ],
    [
      'the outcome, for all admins',
      policyProposalView(newProposal(LARGEST_POLICY_RULES, 'confirmed')).outcome(questionContext),
    ],
  ])('stay within Slack’s limits: %s', (_what, message) => {
    expectValidMessage(message);
  });

  test('show the last rule on the last page, and for any offset after it', () => {
    expect(formatBlocks(policyMessage({ ...viewInput, offset: 490 }).blocks)).toContain('*500.*');
    expect(formatBlocks(policyMessage({ ...viewInput, offset: 990 }).blocks)).toContain('*500.*');
  });
});

test('the reply to a publisher says what to do if there is no other admin', () => {
  const text = formatBlocks(
    publishedMessage({ ...NEXT_VERSION, rules: [newPolicyRule()] }, LOCALE, []).blocks,
  );
  expect(text).toContain('I don’t know any other admin');
  expect(text).toContain('`ADMINS`');
});

test('a published draft can be confirmed by other admins only, and not published again', () => {
  const renderPolicy = (userId: string) =>
    JSON.stringify(
      policyMessage({
        published: undefined,
        draft: createDraft([newPolicyRule()], newProposal([newPolicyRule()])),
        settings: SETTINGS,
        reader: { userId, isAdmin: true, locale: LOCALE },
        offset: 0,
      }).blocks,
    );
  expect(renderPolicy('U0BOB')).toContain('policy_confirm');
  expect(renderPolicy('U0ADA')).not.toContain('policy_confirm');
  expect(renderPolicy('U0BOB')).not.toContain('policy_publish');
});

test('a replay and a policy test of 50 names stay within Slack’s limits', () => {
  const names = Array.from({ length: 50 }, (_, n) => `${'x'.repeat(60)}${n}.rest`);
  const reference = { kind: 'rule', version: 1, index: 0, name: 'x'.repeat(80) } as const;
  const requirements = {
    outcome: 'approve',
    list: [
      {
        rule: reference,
        names,
        needed: 2,
        approvers: LARGEST_POLICY_RULES[0]?.approvers ?? [],
        silent: [],
        signed: false,
      },
    ],
    refusedBy: [],
    ttlMs: 1,
    remindAfterMs: 1,
    escalateAfterMs: 1,
    escalateTo: [],
    escalateToAdmins: false,
    breakGlass: false,
  } as const;
  const unknowns = names.map((name) => ({ kind: 'price', name }) as const);
  const decidingRule = { rule: reference, unknowns };
  const evaluated = names.map((name) => ({
    name,
    decidingRules: [decidingRule],
    skippedRules: LARGEST_POLICY_RULES.map((each) => ({
      rule: { ...reference, name: each.name },
      reason: 'unknown' as const,
      unknowns,
    })),
  }));
  const testRequest = {
    task: 'renew' as const,
    names,
    requester: 'U0ANNA',
    isDraft: true,
    version: 2,
    cost: undefined,
  };
  const result = policyTestMessage(testRequest, { requirements, nameEvaluations: evaluated, unknowns });
  expectValidMessage(result);
  expect(formatBlocks(result.blocks).match(/Decided by rule 1/g)).toHaveLength(5);
  const changedRows = Array.from({ length: 40 }, (_, n) => ({
    order: { orderId: `o${n}`, before: requirements, after: requirements, change: 'other' as const },
    title: 'Renew 50 names for 2 years',
    requester: 'U0ANNA',
    requestedAt: NOW,
  }));
  const changeCounts = { stricter: 0, looser: 0, other: 40 };
  const replay = {
    totalCount: 40,
    unchangedCount: 0,
    changeCounts,
    outcomeChangeCounts: {},
    changedOrders: [],
  };
  expectValidMessage(policyReplayMessage({ days: 90, replay, changedRows, isTruncated: true }));
});
