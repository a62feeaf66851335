import { compareAndSwap } from '../../lib/compare-and-swap.ts';
import type { OrdersContext } from '../../orders/context.ts';
import type { Refusal } from '../../orders/refusal.ts';
import type { Requirement } from '../../policy/evaluate.ts';
import { getSignedVersion } from '../../policy/policy.ts';
import { buildApproverRights, checkApprover, loadPeople } from '../approvers.ts';
import { findValidSlots, type RequirementProgress } from '../progress.ts';
import type { SignedSubject } from '../signing/approval.ts';
import type { SignedCharter } from '../signing/ports.ts';
import {
  addConfirmation,
  type ConfirmationContext,
  type Confirmers,
  decideConfirmation,
  type ProposalRefusal,
} from './decide-confirmation.ts';
import type { ProposalStore } from './ports.ts';
import type { Confirmation, Proposal, ProposalKind, ProposalOf } from './proposal.ts';

export interface ProposalsContext {
  readonly orders: OrdersContext;
  readonly store: ProposalStore;
  /** Finds the people who can confirm changes to names under the current rules. */
  readonly findNameConfirmers: (proposal: ProposalOf<'facts' | 'lapse'>) => Promise<Confirmers>;
}

async function findConfirmers(context: ProposalsContext, proposal: Proposal): Promise<Confirmers> {
  switch (proposal.kind) {
    case 'settings':
    case 'prices':
    case 'policy':
      return 'another_admin';
    case 'facts':
    case 'lapse':
      return context.findNameConfirmers(proposal);
  }
}

/** Kinds that change the charter. If signing is on, an admin must sign the new charter. */
const CHARTER_KINDS: ReadonlySet<ProposalKind> = new Set(['settings', 'policy']);

export interface ProposalConfirmation extends Confirmation {
  /** The hash of the proposal that the person saw. */
  readonly shownHash: string;
  readonly charter?: SignedCharter | undefined;
}

export type ProposalOutcome =
  | { readonly ok: true; readonly proposal: Proposal; readonly isComplete: boolean }
  | { readonly ok: false; readonly refusal: ProposalRefusal };

export type Proposals = ReturnType<typeof createProposals>;

export function createProposals(context: ProposalsContext) {
  const { store, orders } = context;
  const { propose, list, load } = store;
  return {
    propose,
    list: <Kind extends ProposalKind>(kinds: readonly Kind[]) => list(kinds, orders.now()),
    find: <Kind extends ProposalKind>(kinds: readonly Kind[], key: string) =>
      store.find(kinds, key, orders.now()),
    load: (id: string) => load(id, orders.now()),
    loadProgress: (proposal: Proposal) => loadProgress(context, proposal),
    buildSignedSubject: (proposal: Proposal) => buildProposalSubject(context, proposal),
    /** Confirms a proposal. The last confirmation applies the change. @param key a proposal's id or subject */
    confirm: (kinds: readonly ProposalKind[], key: string, confirmation: ProposalConfirmation) =>
      confirm(context, kinds, key, confirmation),
    withdraw: (kinds: readonly ProposalKind[], key: string, by: string) => withdraw(context, kinds, key, by),
  };
}

function confirm(
  context: ProposalsContext,
  kinds: readonly ProposalKind[],
  key: string,
  confirmation: ProposalConfirmation,
): Promise<ProposalOutcome> {
  const { store, orders } = context;
  return compareAndSwap<Proposal | undefined, ProposalOutcome>(
    `confirming ${key}`,
    () => store.find(kinds, key, orders.now()),
    async (proposal) => {
      if (proposal === undefined) return refuse({ code: 'gone' });
      const decision = decideConfirmation(await loadConfirmation(context, proposal, confirmation));
      if (!decision.ok) return decision;
      const { validConfirmation, isComplete } = decision;
      const confirmedAt = orders.now();
      if (!isComplete) {
        if (!(await store.addConfirmation(validConfirmation, confirmedAt))) return undefined;
        return { ok: true, proposal: validConfirmation.proposal, isComplete };
      }
      const outcome = await store.apply(validConfirmation, confirmedAt, confirmation.charter);
      switch (outcome?.kind) {
        case undefined:
          return undefined;
        case 'applied':
          return { ok: true, proposal: outcome.proposal, isComplete };
        case 'changed':
          return refuse({ code: 'changed', current: outcome.current });
        case 'blocked':
          return refuse({ code: outcome.obstacle });
      }
    },
  );
}

function withdraw(
  context: ProposalsContext,
  kinds: readonly ProposalKind[],
  key: string,
  by: string,
): Promise<ProposalOutcome> {
  const { store, orders } = context;
  return compareAndSwap<Proposal | undefined, ProposalOutcome>(
    `withdrawing ${key}`,
    () => store.find(kinds, key, orders.now()),
    async (proposal) => {
      if (proposal === undefined) return refuse({ code: 'gone' });
      const refusal = proposal.proposer === by ? undefined : await checkWithdrawal(context, proposal, by);
      if (refusal !== undefined) return refuse(refusal);
      if (!(await store.withdraw(proposal, by, orders.now()))) return undefined;
      const withdrawn = { ...proposal, state: 'withdrawn', endedBy: by } as const;
      return { ok: true, proposal: withdrawn, isComplete: true };
    },
  );
}

async function checkWithdrawal(
  context: ProposalsContext,
  proposal: Proposal,
  by: string,
): Promise<ProposalRefusal | undefined> {
  const confirmers = await findConfirmers(context, proposal);
  if (confirmers === 'another_person') return undefined;
  if (confirmers !== 'another_admin') return checkConfirmer(context, proposal, confirmers, by);
  return (await context.orders.isAdmin(by)) ? undefined : { code: 'not_an_admin' };
}

async function loadConfirmation(
  context: ProposalsContext,
  proposal: Proposal,
  { shownHash, charter, ...confirmation }: ProposalConfirmation,
): Promise<ConfirmationContext> {
  const { orders } = context;
  const { userId, signed } = confirmation;
  const confirmers = await findConfirmers(context, proposal);
  const requirements = typeof confirmers === 'string' ? [] : confirmers;
  const updatedProposal = { ...proposal, confirmations: addConfirmation(proposal, confirmation) };
  const [isAdmin, refusal, progress] = await Promise.all([
    confirmers === 'another_admin' ? orders.isAdmin(userId) : false,
    typeof confirmers === 'string' ? undefined : checkConfirmer(context, proposal, confirmers, userId),
    loadConfirmationProgress(context, requirements, updatedProposal),
  ]);
  const singleConfirmationProposal = { ...proposal, confirmations: [confirmation] };
  const signedRequirements = requirements.filter((requirement) => requirement.signed);
  const progressIfSigned =
    signed === undefined
      ? await loadConfirmationProgress(context, signedRequirements, singleConfirmationProposal, true)
      : [];
  return {
    ...{ proposal, confirmation, shownHash, confirmers, isAdmin, refusal, progress },
    needsSignature: progressIfSigned.some(({ slots }) => slots.length > 0),
    charter:
      !CHARTER_KINDS.has(proposal.kind) || orders.signing.trust === undefined
        ? 'not_needed'
        : charter === undefined
          ? 'missing'
          : 'signed',
  };
}

function refuse(refusal: ProposalRefusal): ProposalOutcome {
  return { ok: false, refusal };
}

async function checkConfirmer(
  { orders }: ProposalsContext,
  { proposer }: Proposal,
  requirements: readonly Requirement[],
  userId: string,
): Promise<Refusal | undefined> {
  const now = orders.now();
  const [settings, standIns] = await Promise.all([
    orders.loadSettings(),
    orders.standIns.loadActiveStandIns(now),
  ]);
  const people = await loadPeople({ directory: orders.directory, standIns }, requirements, [userId]);
  const query = { requirements, requesters: new Set([proposer]), userIds: [userId] };
  return checkApprover(buildApproverRights(query, people, settings, now), userId, 'confirm_protected_change');
}

async function loadProgress(
  context: ProposalsContext,
  proposal: Proposal,
): Promise<readonly RequirementProgress[]> {
  const confirmers = await findConfirmers(context, proposal);
  return typeof confirmers === 'string' ? [] : loadConfirmationProgress(context, confirmers, proposal);
}

/** @param countUnsigned whether unsigned confirmations count toward signed requirements */
async function loadConfirmationProgress(
  { orders }: ProposalsContext,
  requirements: readonly Requirement[],
  proposal: Proposal,
  countUnsigned = false,
): Promise<readonly RequirementProgress[]> {
  if (requirements.length === 0) return [];
  const now = orders.now();
  const { proposer, confirmations } = proposal;
  const confirmerIds = confirmations.map(({ userId }) => userId);
  const [standIns, subject] = await Promise.all([
    orders.standIns.loadActiveStandIns(now),
    buildProposalSubject({ orders }, proposal),
  ]);
  const [{ people }, signers] = await Promise.all([
    loadPeople({ directory: orders.directory, standIns }, requirements, confirmerIds),
    orders.signing.findSigners(confirmations, subject),
  ]);
  const requesters = new Set([proposer]);
  return requirements.map((requirement) => ({
    requirement,
    slots: findValidSlots(requirement, {
      ...{ requesters, allowSelfApproval: false, now, people },
      approvedByIds: confirmerIds.filter(
        (userId) => !requirement.signed || countUnsigned || signers.has(userId),
      ),
    }),
  }));
}

async function buildProposalSubject(
  { orders }: { readonly orders: OrdersContext },
  proposal: Proposal,
): Promise<SignedSubject> {
  const version = getSignedVersion(await orders.policy.loadCurrentPolicy());
  const binding = { change: proposal.id, requesters: [proposal.proposer] };
  return { statementHash: proposal.hash, policyVersion: version, binding };
}
