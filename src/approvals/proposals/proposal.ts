import type { SettingChange } from '../../config/settings.ts';
import type { PriceEdit } from '../../money/prices.ts';
import type { NameLimit, ProposedNameChanges } from '../../names/portfolio.ts';
import type { MessagePlace } from '../../outbox/notifications.ts';
import type { PolicyRule } from '../../policy/policy.ts';
import type { ApprovalSignature } from '../signing/approval.ts';

export interface NextPolicy {
  readonly version: number;
  readonly before: readonly PolicyRule[];
  readonly rules: readonly PolicyRule[];
}

export interface ProposalPayloads {
  readonly settings: readonly SettingChange[];
  readonly prices: readonly PriceEdit[];
  /** The proposal's id is the draft's revision. */
  readonly policy: NextPolicy;
  readonly facts: ProposedNameChanges;
  /** Lets one name lapse. The proposal's subject is the name. */
  readonly lapse: ProposedNameChanges;
}
export type ProposalKind = keyof ProposalPayloads;

/**
 * - `superseded`: the values had changed since the proposal, so nothing was applied
 * - `expired`: not stored; computed from `expiresAt`
 */
export const PROPOSAL_STATES = ['proposed', 'confirmed', 'withdrawn', 'superseded'] as const;
export type ProposalState = (typeof PROPOSAL_STATES)[number] | 'expired';

export interface Confirmation {
  readonly userId: string;
  readonly signed?: ApprovalSignature | undefined;
}

interface ProposalBase {
  readonly id: string;
  /** A subject has at most one open proposal of each kind. */
  readonly subject: string | undefined;
  /** Hash of the kind, proposer and payload. A confirmation must have the same hash. */
  readonly hash: string;
  readonly proposer: string;
  readonly proposedAt: Date;
  readonly expiresAt: Date | undefined;
  /** The conversation where the change was proposed, if the confirmation message belongs there. */
  readonly origin: MessagePlace | undefined;
  readonly confirmations: readonly Confirmation[];
  readonly state: ProposalState;
  /** The person who confirmed or withdrew the proposal. */
  readonly endedBy: string | undefined;
  readonly version: number;
}

export type ProposedChange = {
  readonly [Kind in ProposalKind]: { readonly kind: Kind; readonly payload: ProposalPayloads[Kind] };
}[ProposalKind];
export type Proposal = ProposalBase & ProposedChange;
export type ProposalOf<Kind extends ProposalKind> = Extract<Proposal, { readonly kind: Kind }>;

export type NewProposal = ProposedChange & {
  readonly id?: string;
  readonly subject?: string;
  readonly proposer: string;
  readonly proposedAt: Date;
  readonly expiresAt?: Date;
  readonly origin?: MessagePlace | undefined;
};

/** Why a fully confirmed proposal can't be applied yet. The proposal stays open. */
export type ProposalObstacle = NameLimit | 'cannot_sign';
