import { expect, test } from 'vitest';
import type { RequirementProgress } from '../../../src/approvals/progress.ts';
import {
  type ConfirmationContext,
  decideConfirmation,
} from '../../../src/approvals/proposals/decide-confirmation.ts';
import type { Proposal, ProposalKind } from '../../../src/approvals/proposals/proposal.ts';

/*
 * Confirmations of proposals and when they take effect. The same rules apply to every kind: settings, prices, a policy,
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

function proposed(kind: ProposalKind): Proposal {
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
    const proposal = proposed(kind);
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
  ['a non-admin does not', { isAdmin: false }, { refusal: { code: 'not_an_admin' } }],
  ['any other person confirms', { confirmers: 'another_person', isAdmin: false }, { isComplete: true }],
  [
    'a change for approvers is not confirmed by others, nor by an admin',
    { ...REQUIRED, isAdmin: true, refusal: NOT_AN_APPROVER },
    { refusal: NOT_AN_APPROVER },
  ],
  ['the last approver completes it', { ...REQUIRED, progress: [progress(1, 'U0BOB')] }, { isComplete: true }],
  ['one of two does not', { ...REQUIRED, progress: [progress(2, 'U0BOB')] }, { isComplete: false }],
  [
    'of two requirements each has to be met',
    { ...REQUIRED, progress: [progress(1, 'U0BOB'), progress(2, 'U0BOB')] },
    { isComplete: false },
  ],
  ['requirements that nobody counted are not met', { ...REQUIRED, progress: [] }, { isComplete: false }],
  ['no requirement at all is not met', { ...REQUIRED, confirmers: [], progress: [] }, { isComplete: false }],
  [
    'a click does not replace a required signature',
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
    'the publisher does not sign it',
    { charter: 'signed', confirmation: { userId: 'U0ADA' } },
    { refusal: { code: 'own' } },
  ],
  [
    'a signed charter is for what was shown',
    { charter: 'signed', shownHash: 'x' },
    { refusal: { code: 'changed' } },
  ],
])('%s', (_what, more, expected) => {
  expect(decideConfirmation({ ...BY_BOB, proposal: proposed('settings'), ...more })).toMatchObject(
    expected as object,
  );
});

test('a person’s later confirmation replaces the former one', () => {
  const proposal = { ...proposed('facts'), confirmations: [{ userId: 'U0BOB' }, { userId: 'U0CAROL' }] };
  const decision = decideConfirmation({ ...BY_BOB, proposal });
  if (!decision.ok) throw new Error('it was refused');
  expect(decision.confirmed.by).toBe('U0BOB');
  expect(decision.confirmed.proposal.confirmations.map(({ userId }) => userId)).toEqual(['U0CAROL', 'U0BOB']);
});
