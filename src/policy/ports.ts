import type { StandIn } from '../approvals/progress.ts';
import type { ProposalOf } from '../approvals/proposals/proposal.ts';
import type { EffectivePolicy, Policy, PolicyRule } from './policy.ts';

export interface PolicySource {
  /** The last published version. Before the first one, version 0 without rules. */
  current(): Promise<Policy>;
}

export interface EffectivePolicySource {
  current(): Promise<EffectivePolicy>;
}

export interface StandInSource {
  /** Keyed by the absent person's user id. */
  current(now: Date): Promise<ReadonlyMap<string, StandIn>>;
}

/** Implemented by the store. Every change is in the audit log, and the people concerned are notified. */
export interface StandInStore extends StandInSource {
  /** The person is away. */
  begin(userId: string, standIn: StandIn, at: Date): Promise<void>;
  /** The person is back. @returns the previous stand-in, if any */
  end(userId: string, at: Date): Promise<StandIn | undefined>;
}

export interface PublishedPolicy extends Policy {
  readonly publishedBy: string;
  readonly confirmedBy: string;
  readonly confirmedAt: Date;
}

/** The next version, while admins edit it. */
export interface PolicyDraft {
  /** Changes with every edit of the draft. */
  readonly revision: string;
  readonly rules: readonly PolicyRule[];
  readonly changedBy: string;
  readonly changedAt: Date;
  /** Open while it waits for another admin's confirmation. Any edit of the draft withdraws it. */
  readonly proposal: ProposalOf<'policy'> | undefined;
}

export type PublishOutcome =
  | { readonly kind: 'published'; readonly proposal: ProposalOf<'policy'> }
  /** The draft already waits for confirmation. */
  | { readonly kind: 'already_published'; readonly by: string }
  /** The draft is the same as the current version. */
  | { readonly kind: 'no_difference' }
  /** A rule requires signatures, but signing is off. */
  | { readonly kind: 'cannot_sign' }
  /** The draft has changed since the person last saw it. */
  | { readonly kind: 'stale' };

/** Every change is logged in the same transaction. */
export interface PolicyStore extends PolicySource {
  /** The current version and who published it; undefined before the first. */
  findPublished(): Promise<PublishedPolicy | undefined>;
  findDraft(): Promise<PolicyDraft | undefined>;
  /**
   * Replaces the draft's rules.
   * @param expected the edited revision, see `getDraftBase`
   * @returns undefined if someone else changed the draft: nothing is saved
   */
  saveDraft(
    rules: readonly PolicyRule[],
    expected: string,
    by: string,
    at: Date,
  ): Promise<PolicyDraft | undefined>;
  /** @returns whether this was still the current revision */
  discardDraft(revision: string, by: string, at: Date): Promise<boolean>;
  /** Proposes a draft as the next version. The proposal's id is the revision. */
  publish(revision: string, by: string, at: Date): Promise<PublishOutcome>;
}
