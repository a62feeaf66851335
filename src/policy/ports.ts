import type { StandIn } from '../approvals/progress.ts';
import type { ProposalOf } from '../approvals/proposals/proposal.ts';
import type { EffectivePolicy, Policy, PolicyRule } from './policy.ts';

export interface PolicySource {
  /** The last published version; before the first, version 0 without rules. */
  current(): Promise<Policy>;
}

export interface EffectivePolicySource {
  current(): Promise<EffectivePolicy>;
}

/** Stand-ins by absent person. */
export interface StandInSource {
  /** By the absent person's user id. */
  current(now: Date): Promise<ReadonlyMap<string, StandIn>>;
}

/** Implemented by the store. Every change is in the audit log, and the people concerned are notified. */
export interface StandInStore extends StandInSource {
  /** The person is away. */
  begin(userId: string, standIn: StandIn, at: Date): Promise<void>;
  /** The person is back. @returns the previous stand-in, if any */
  end(userId: string, at: Date): Promise<StandIn | undefined>;
}

/** A version and who published it. */
export interface PublishedPolicy extends Policy {
  readonly publishedBy: string;
  readonly confirmedBy: string;
  readonly confirmedAt: Date;
}

/** The next version while admins work on it. */
export interface PolicyDraft {
  /** Changes with every change of the draft. */
  readonly revision: string;
  readonly rules: readonly PolicyRule[];
  readonly changedBy: string;
  readonly changedAt: Date;
  /** Open while it waits for another admin to confirm. Any change of the draft withdraws it. */
  readonly proposal: ProposalOf<'policy'> | undefined;
}

export type PublishOutcome =
  | { readonly kind: 'published'; readonly proposal: ProposalOf<'policy'> }
  /** It already waits for confirmation. */
  | { readonly kind: 'published_already'; readonly by: string }
  /** The draft is the same as the current version. */
  | { readonly kind: 'no_difference' }
  /** A rule requires signatures, but signing is off. */
  | { readonly kind: 'cannot_sign' }
  /** The draft has changed since the person saw it. */
  | { readonly kind: 'stale' };

/** Every change is in the audit log, in the same transaction. */
export interface PolicyStore extends PolicySource {
  /** The current version and who published it; undefined before the first. */
  published(): Promise<PublishedPolicy | undefined>;
  draft(): Promise<PolicyDraft | undefined>;
  /**
   * Replaces the draft's rules.
   * @param expected the edited revision, see `draftBase`
   * @returns undefined, without saving, if someone else changed the draft
   */
  saveDraft(
    rules: readonly PolicyRule[],
    expected: string,
    by: string,
    at: Date,
  ): Promise<PolicyDraft | undefined>;
  /** @returns whether it was still this revision */
  discardDraft(revision: string, by: string, at: Date): Promise<boolean>;
  /** Proposes a draft as the next version. The proposal's id is the revision. */
  publish(revision: string, by: string, at: Date): Promise<PublishOutcome>;
}
