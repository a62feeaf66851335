import type { SignedCharter } from '../signing/ports.ts';
import type { ValidConfirmation } from './decide-confirmation.ts';
import type { NewProposal, Proposal, ProposalKind, ProposalObstacle, ProposalOf } from './proposal.ts';

export type ApplyOutcome =
  | { readonly kind: 'applied'; readonly proposal: Proposal }
  /** The values have changed since the proposal. `current` is a new proposal with the remaining changes. */
  | { readonly kind: 'changed'; readonly current: Proposal | undefined }
  | { readonly kind: 'blocked'; readonly obstacle: ProposalObstacle };

/** Implemented by the store, which confirms and applies a change in one transaction. */
export interface ProposalStore {
  /**
   * Saves a proposal, and withdraws any other open one for the same subject.
   * @returns the existing proposal if the same person has already proposed the same change
   */
  propose(proposal: NewProposal): Promise<Proposal>;
  /** Lists open proposals, oldest first. */
  list<Kind extends ProposalKind>(kinds: readonly Kind[], now: Date): Promise<readonly ProposalOf<Kind>[]>;
  /** Finds an open proposal. @param key a proposal's id or subject */
  find<Kind extends ProposalKind>(
    kinds: readonly Kind[],
    key: string,
    now: Date,
  ): Promise<ProposalOf<Kind> | undefined>;
  load(id: string, now: Date): Promise<Proposal | undefined>;
  /** Adds a confirmation that isn't the last one needed. @returns false on a conflict: load the proposal again */
  addConfirmation(confirmation: ValidConfirmation, at: Date): Promise<boolean>;
  /**
   * Applies a proposal with its last confirmation.
   * @param charter the charter that the proposal needs to take effect, if any
   * @returns undefined on a conflict: load the proposal again
   */
  apply(
    confirmation: ValidConfirmation,
    at: Date,
    charter?: SignedCharter,
  ): Promise<ApplyOutcome | undefined>;
  /** @returns false on a conflict: load the proposal again */
  withdraw(proposal: Proposal, by: string, at: Date): Promise<boolean>;
}
