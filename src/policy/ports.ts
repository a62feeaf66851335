import type { StandIn } from '../approvals/progress.ts';
import type { ProposalOf } from '../approvals/proposals/proposal.ts';
import type { EffectivePolicy, Policy, PolicyRule } from './policy.ts';

export interface PolicySource {
  /** Returns the last published version; version 0, without rules, if none was published. */
  loadCurrentPolicy(): Promise<Policy>;
}

export interface EffectivePolicySource {
  loadCurrentPolicy(): Promise<EffectivePolicy>;
}

export interface StandInSource {
  /** Returns active stand-ins, keyed by the absent person's user id. */
  loadActiveStandIns(now: Date): Promise<ReadonlyMap<string, StandIn>>;
}

/** Implemented by the store, which logs every change and queues notifications to the people concerned. */
export interface StandInStore extends StandInSource {
  begin(userId: string, standIn: StandIn, at: Date): Promise<void>;
  /** @returns the previous stand-in, if any */
  end(userId: string, at: Date): Promise<StandIn | undefined>;
}

export interface PublishedPolicy extends Policy {
  readonly publishedBy: string;
  readonly confirmedBy: string;
  readonly confirmedAt: Date;
}

export interface PolicyDraft {
  /** Changes with every edit. */
  readonly revision: string;
  readonly rules: readonly PolicyRule[];
  readonly changedBy: string;
  readonly changedAt: Date;
  /** Set while the draft waits for another admin's confirmation. Editing the draft withdraws the proposal. */
  readonly proposal: ProposalOf<'policy'> | undefined;
}

export type PublishOutcome =
  | { readonly kind: 'published'; readonly proposal: ProposalOf<'policy'> }
  /** The draft already waits for confirmation. */
  | { readonly kind: 'already_published'; readonly proposer: string }
  /** The draft is the same as the current version. */
  | { readonly kind: 'no_difference' }
  /** A rule requires signatures, but signing is off. */
  | { readonly kind: 'cannot_sign' }
  /** The draft has changed since the person last saw it. */
  | { readonly kind: 'stale' };

/** Every change is logged in the same transaction. */
export interface PolicyStore extends PolicySource {
  findPublished(): Promise<PublishedPolicy | undefined>;
  findDraft(): Promise<PolicyDraft | undefined>;
  /**
   * Replaces the draft's rules.
   * @param expectedRevision the revision that was edited (see `getDraftBase`)
   * @returns undefined, without saving, if someone else has changed the draft
   */
  saveDraft(
    rules: readonly PolicyRule[],
    expectedRevision: string,
    by: string,
    at: Date,
  ): Promise<PolicyDraft | undefined>;
  /** @returns false, without discarding, if `revision` isn't current */
  discardDraft(revision: string, by: string, at: Date): Promise<boolean>;
  /** Proposes a draft as the next version. The proposal's id is the revision. */
  publish(revision: string, by: string, at: Date): Promise<PublishOutcome>;
}
