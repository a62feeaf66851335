import type { Refusal } from '../../orders/refusal.ts';
import type { Requirement } from '../../policy/evaluate.ts';
import type { RequirementProgress } from '../progress.ts';
import type { Confirmation, Proposal, ProposalObstacle } from './proposal.ts';

/** The people who can confirm: another admin, any other person, or the approvers of these requirements. */
export type Confirmers = 'another_admin' | 'another_person' | readonly Requirement[];

export type ProposalRefusal =
  /** The proposal was confirmed or withdrawn, or has expired. */
  | { readonly code: 'gone' }
  | { readonly code: 'own' | 'not_an_admin' }
  /** The proposal differs from the one that the person saw. `current` is the open proposal, if any. */
  | { readonly code: 'changed'; readonly current: Proposal | undefined }
  /** The proposal takes effect only with a signature. */
  | { readonly code: 'needs_signature' | 'needs_charter'; readonly proposal: Proposal }
  /** The proposal can't be applied now, so it stays open. */
  | { readonly code: ProposalObstacle }
  | Refusal;

/** A proposal with a valid confirmation. Created only by {@link decideConfirmation}. */
class ValidConfirmation {
  readonly #proposal: Proposal;
  readonly #by: string;
  constructor(proposal: Proposal, by: string) {
    this.#proposal = proposal;
    this.#by = by;
  }
  get proposal(): Proposal {
    return this.#proposal;
  }
  get by(): string {
    return this.#by;
  }
}

export type { ValidConfirmation };

export interface ConfirmationContext {
  /** Undefined if the proposal isn't open. */
  readonly proposal: Proposal | undefined;
  readonly confirmation: Confirmation;
  /** The hash of the proposal that the person saw. */
  readonly shownHash: string;
  readonly confirmers: Confirmers;
  readonly isAdmin: boolean;
  /** Why the person isn't an approver; undefined for approvers, or if there are no requirements. */
  readonly refusal: Refusal | undefined;
  readonly progress: readonly RequirementProgress[];
  /** Whether this person can confirm only with a signature. */
  readonly needsSignature: boolean;
  /** Whether the proposal needs a charter signed by an admin. */
  readonly charter: 'not_needed' | 'signed' | 'missing';
}

export type ConfirmationDecision =
  | { readonly ok: true; readonly validConfirmation: ValidConfirmation; readonly isComplete: boolean }
  | { readonly ok: false; readonly refusal: ProposalRefusal };

/** Decides whether a confirmation is accepted, and whether it was the last one needed. */
export function decideConfirmation(context: ConfirmationContext): ConfirmationDecision {
  const { proposal, confirmation, progress } = context;
  if (proposal === undefined) return { ok: false, refusal: { code: 'gone' } };
  const refusal = checkConfirmation(proposal, context);
  if (refusal !== undefined) return { ok: false, refusal };
  const confirmations = addConfirmation(proposal, confirmation);
  const areRequirementsMet = progress.every(({ requirement: { needed }, slots }) => slots.length >= needed);
  return {
    ok: true,
    validConfirmation: new ValidConfirmation({ ...proposal, confirmations }, confirmation.userId),
    // An empty list of requirements can never be met.
    isComplete: areRequirementsMet && (typeof context.confirmers === 'string' || progress.length > 0),
  };
}

function checkConfirmation(proposal: Proposal, context: ConfirmationContext): ProposalRefusal | undefined {
  const { confirmation, confirmers, isAdmin, refusal } = context;
  // Checked first, because the page for signing the charter shows who may sign it.
  if (context.charter === 'missing') return { code: 'needs_charter', proposal };
  if (proposal.proposer === confirmation.userId) return { code: 'own' };
  if (confirmers === 'another_admin' && !isAdmin) return { code: 'not_an_admin' };
  if (refusal !== undefined) return refusal;
  if (proposal.hash !== context.shownHash) return { code: 'changed', current: proposal };
  return context.needsSignature ? { code: 'needs_signature', proposal } : undefined;
}

export function addConfirmation(
  { confirmations }: Pick<Proposal, 'confirmations'>,
  confirmation: Confirmation,
): readonly Confirmation[] {
  return [...confirmations.filter(({ userId }) => userId !== confirmation.userId), confirmation];
}
