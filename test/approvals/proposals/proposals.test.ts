import { describe, expect, test } from 'vitest';
import type { ProposalStore } from '../../../src/approvals/proposals/ports.ts';
import type { Proposal, ProposalKind, ProposalOf } from '../../../src/approvals/proposals/proposal.ts';
import { createProposals, type ProposalConfirmation } from '../../../src/approvals/proposals/proposals.ts';
import { buildChallenge } from '../../../src/approvals/signing/approval.ts';
import type { SignedCharter } from '../../../src/approvals/signing/ports.ts';
import type { Requirement } from '../../../src/policy/evaluate.ts';
import { newRequirements, START } from '../../orders/sample.ts';
import { contextWith } from '../../support/context.ts';
import { NO_POLICY } from '../../support/nothing-known.ts';
import { newTeamSettings } from '../../support/settings.ts';
import { getRootFingerprints, newNonce, newSigner, VERIFIER } from '../signing/sample.ts';

const bob = newSigner('U0BOB');
const TRUST = { roots: getRootFingerprints(bob), verifier: VERIFIER, botSigner: undefined };
const { challenge, binding } = buildChallenge(
  'U0BOB',
  { statementHash: '', policyVersion: 0, binding: {} },
  newNonce(),
);
const SIGNED = { signature: bob.authenticator.assert(challenge), binding };
const SHOWN = 'hash';

const COMMON = {
  ...{
    id: 'p1',
    subject: undefined,
    hash: SHOWN,
    proposer: 'U0ADA',
    proposedAt: START,
    expiresAt: undefined,
  },
  ...({ origin: undefined, confirmations: [], endedBy: undefined, version: 1, state: 'proposed' } as const),
};
const SETTINGS: Proposal = { ...COMMON, kind: 'settings', payload: [] };
const PRICES: Proposal = { ...COMMON, kind: 'prices', payload: [] };
const FACTS: Proposal = { ...COMMON, kind: 'facts', payload: { names: [] } };

function needing(approvers: readonly string[], signed: boolean, needed = 1): Requirement {
  const [requirement] = newRequirements(['cafe.rest']).list;
  if (requirement === undefined) throw new Error('missing in the sample');
  return { ...requirement, approvers, signed, needed };
}

const isOfKind = <Kind extends ProposalKind>(
  proposal: Proposal,
  kinds: readonly Kind[],
): proposal is ProposalOf<Kind> => kinds.some((kind) => kind === proposal.kind);

/** The use cases with one open proposal. Ada and Eve are admins. */
function arrange(proposal: Proposal, requirements: readonly Requirement[] = [], areKeysUsed = false) {
  const done: string[] = [];
  const find: ProposalStore['find'] = async (kinds) => (isOfKind(proposal, kinds) ? proposal : undefined);
  const proposals = createProposals({
    orders: contextWith({
      ...NO_POLICY,
      now: () => START,
      loadSettings: async () => newTeamSettings(),
      isAdmin: async (userId) => ['U0ADA', 'U0EVE'].includes(userId),
      directory: { findMembership: async () => 'member', listGroupMembers: async () => [] },
      signing: {
        trust: areKeysUsed ? TRUST : undefined,
        findSigners: async (confirmations) =>
          new Set(confirmations.flatMap(({ userId, signed }) => (signed === undefined ? [] : userId))),
      },
    }),
    store: {
      find,
      propose: async () => proposal,
      list: async () => [],
      load: async () => proposal,
      addConfirmation: async () => done.push('confirmed') > 0,
      apply: async () => {
        done.push('applied');
        return { kind: 'applied', proposal };
      },
      withdraw: async () => done.push('withdrawn') > 0,
    },
    findNameConfirmers: async () => requirements,
  });
  return { proposals, done };
}

describe('a proposal', () => {
  test.each<[string, Proposal, by: string, refusal: string | undefined]>([
    ['can be withdrawn by its proposer', { ...SETTINGS, proposer: 'U0NINA' }, 'U0NINA', undefined],
    ['can be withdrawn by an admin', SETTINGS, 'U0EVE', undefined],
    ['can’t be withdrawn by another person', SETTINGS, 'U0NINA', 'not_an_admin'],
    ['of facts can be withdrawn by an approver', FACTS, 'U0BOB', undefined],
    ['of facts can’t be withdrawn by another admin', FACTS, 'U0EVE', 'not_an_approver'],
  ])('%s', async (_, proposal, by, refusal) => {
    const { proposals, done } = arrange(proposal, [needing(['U0BOB'], false)]);
    const outcome = await proposals.withdraw([proposal.kind], 'p1', by);
    expect(outcome.ok ? undefined : outcome.refusal.code).toBe(refusal);
    expect(done).toEqual(refusal === undefined ? ['withdrawn'] : []);
  });

  const click = { userId: 'U0BOB', shownHash: SHOWN };
  const signature = { ...click, signed: SIGNED };
  const byEve = { ...click, userId: 'U0EVE' };
  test.each<[string, Requirement[], ProposalConfirmation, result: string]>([
    ['is applied after a click', [needing(['U0BOB'], false)], click, 'applied'],
    ['waits after the first of two clicks', [needing(['U0BOB'], false, 2)], click, 'confirmed'],
    ['refuses a click if a signature is needed', [needing(['U0BOB'], true)], click, 'needs_signature'],
    ['is applied after a signature', [needing(['U0BOB'], true)], signature, 'applied'],
    ['waits if others must sign', [needing(['U0BOB'], false), needing(['U0EVE'], true)], click, 'confirmed'],
    ['refuses a click by another person', [needing(['U0BOB'], true)], byEve, 'not_an_approver'],
    ['refuses a click if nobody can confirm', [], click, 'not_an_approver'],
  ])('of facts %s', async (_, requirements, confirmation, result) => {
    const { proposals, done } = arrange(FACTS, requirements, true);
    const outcome = await proposals.confirm(['facts'], 'p1', confirmation);
    expect(outcome.ok ? done.join() : outcome.refusal.code).toBe(result);
  });

  const publishing = { by: 'U0EVE', charter: '', decision: 'publish', nonce: newNonce() } as const;
  const charter: SignedCharter = {
    ...{ charter: {}, signature: bob.authenticator.assert(publishing), botSignature: '' },
  };
  test.each<[string, Proposal, areKeysUsed: boolean, ProposalConfirmation, result: string]>([
    ['of settings needs no charter without keys', SETTINGS, false, byEve, 'applied'],
    ['of settings needs a charter with keys', SETTINGS, true, byEve, 'needs_charter'],
    ['of settings is applied with a charter', SETTINGS, true, { ...byEve, charter }, 'applied'],
    ['of prices needs no charter with keys', PRICES, true, byEve, 'applied'],
  ])('%s', async (_, proposal, areKeysUsed, given, result) => {
    const { proposals, done } = arrange(proposal, [], areKeysUsed);
    const outcome = await proposals.confirm([proposal.kind], 'p1', given);
    expect(outcome.ok ? done.join() : outcome.refusal.code).toBe(result);
  });

  test.each([
    ['a signed', true, 1],
    ['an unsigned', false, 0],
  ])('counts %s confirmation for a signed requirement: %s', async (_, isSigned, count) => {
    const confirmation = { userId: 'U0BOB', ...(isSigned && { signed: SIGNED }) };
    const proposal = { ...FACTS, confirmations: [confirmation] };
    const { proposals } = arrange(proposal, [needing(['U0BOB'], true), needing(['U0BOB'], false)], true);
    const progress = await proposals.loadProgress(proposal);
    expect(progress.map(({ slots }) => slots.length)).toEqual([count, 1]);
  });
});
