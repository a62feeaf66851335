import { expect, test } from 'vitest';
import type { RequirementProgress } from '../../../src/approvals/progress.ts';
import {
  type ConfirmationContext,
  decideConfirmation,
} from '../../../src/approvals/proposals/decide-confirmation.ts';
import type { Proposal, ProposalKind } from '../../../src/approvals/proposals/proposal.ts';

/*
 * Confirmations of proposals, and when they take effect. The same rules apply to every kind: settings, prices, policy,
 * protected fields of names and a lapse.
 */

const AT = new Date('2026-11-23T12:00:00Z');
const NAMES = { names: [] };
const PAYLOADS: Readonly<Record<ProposalKind, Proposal['payload']>> = {
  settings: [],
  prices: [],
  policy: { version: 1, before: [], rules: [] },
  facts: NAMES,
  lapse: NAMES,
};
const KINDS = ['settings', 'prices', 'policy', 'facts', 'lapse'] as const;

function newProposal(kind: ProposalKind): Proposal {
  return {
    ...{ id: 'p1', kind, payload: PAYLOADS[kind], subject: undefined, hash: 'shown', version: 3 },
    ...{ proposer: 'U0ADA', proposedAt: AT, expiresAt: undefined, origin: undefined },
    ...{ confirmations: [], state: 'proposed', endedBy: undefined },
  } as Proposal;
}

function progress(needed: number, ...counted: readonly string[]): RequirementProgress {
  const requirement = {
    rule: { kind: 'approval_tasks' },
    ...{ names: ['cafe.rest'], approvers: ['U0BOB', 'U0CAROL'], silent: [], needed, signed: false },
  } as const;
  return { requirement, slots: counted.map((userId) => ({ userId })) };
}

const BY_BOB: Omit<ConfirmationContext, 'proposal'> = {
  confirmation: { userId: 'U0BOB' },
  shownHash: 'shown',
  confirmers: 'another_admin',
  isAdmin: true,
  refusal: undefined,
  progress: [],
  needsSignature: false,
  charter: 'not_needed',
};
const REQUIRED = { confirmers: [progress(1).requirement], isAdmin: false } as const;
const NOT_AN_APPROVER = { code: 'not_an_approver', action: 'confirm_protected_change' } as const;

test.each(KINDS.map((kind) => [kind] as const))(
  'a proposal of %s needs another person who has seen it',
  (kind) => {
    const proposal = newProposal(kind);
    const decide = (more: Partial<ConfirmationContext> = {}) =>
      decideConfirmation({ ...BY_BOB, proposal, ...more });
    expect(decide()).toMatchObject({ ok: true, isComplete: true });
    expect(decide({ proposal: undefined })).toMatchObject({ refusal: { code: 'gone' } });
    expect(decide({ shownHash: 'something else' })).toEqual({
      ok: false,
      refusal: { code: 'changed', current: proposal },
    });
    expect(decide({ shownHash: '' })).toMatchObject({ refusal: { code: 'changed' } });
    expect(decide({ confirmation: { userId: 'U0ADA' } })).toMatchObject({ refusal: { code: 'own' } });
    expect(decide({ confirmation: { userId: 'U0ADA' }, shownHash: '' })).toMatchObject({
      refusal: { code: 'own' },
    });
  },
);

test.each<[string, Partial<ConfirmationContext>, unknown]>([
  ['another admin confirms', {}, { isComplete: true }],
  ['a non-admin can’t confirm', { isAdmin: false }, { refusal: { code: 'not_an_admin' } }],
  ['any other person confirms', { confirmers: 'another_person', isAdmin: false }, { isComplete: true }],
  [
    'an admin can’t confirm a change for approvers',
    { ...REQUIRED, isAdmin: true, refusal: NOT_AN_APPROVER },
    { refusal: NOT_AN_APPROVER },
  ],
  ['the last approver completes it', { ...REQUIRED, progress: [progress(1, 'U0BOB')] }, { isComplete: true }],
  ['one of two isn’t enough', { ...REQUIRED, progress: [progress(2, 'U0BOB')] }, { isComplete: false }],
  [
    'each of two requirements must be met',
    { ...REQUIRED, progress: [progress(1, 'U0BOB'), progress(2, 'U0BOB')] },
    { isComplete: false },
  ],
  ['requirements without progress aren’t met', { ...REQUIRED, progress: [] }, { isComplete: false }],
  ['an empty list isn’t met', { ...REQUIRED, confirmers: [], progress: [] }, { isComplete: false }],
  [
    'a click doesn’t replace a required signature',
    { ...REQUIRED, progress: [progress(1, 'U0BOB')], needsSignature: true },
    { refusal: { code: 'needs_signature' } },
  ],
  [
    'a charter setting needs the charter’s signature',
    { charter: 'missing' },
    { refusal: { code: 'needs_charter' } },
  ],
  ['a signed charter completes it', { charter: 'signed' }, { isComplete: true }],
  [
    'the publisher can’t sign the charter',
    { charter: 'signed', confirmation: { userId: 'U0ADA' } },
    { refusal: { code: 'own' } },
  ],
  [
    'a signed charter doesn’t confirm a changed proposal',
    { charter: 'signed', shownHash: 'x' },
    { refusal: { code: 'changed' } },
  ],
])('%s', (_what, more, expected) => {
  expect(decideConfirmation({ ...BY_BOB, proposal: newProposal('settings'), ...more })).toMatchObject(
    expected as object,
  );
});

test('a person’s later confirmation replaces the earlier one', () => {
  const proposal = { ...newProposal('facts'), confirmations: [{ userId: 'U0BOB' }, { userId: 'U0CAROL' }] };
  const decision = decideConfirmation({ ...BY_BOB, proposal });
  if (!decision.ok) throw new Error('the confirmation was refused');
  expect(decision.validConfirmation.by).toBe('U0BOB');
  expect(decision.validConfirmation.proposal.confirmations.map(({ userId }) => userId)).toEqual([
    'U0CAROL',
    'U0BOB',
  ]);
});
