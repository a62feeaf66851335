import type { Requirement, Requirements } from '../policy/evaluate.ts';
import { isGroupId } from '../policy/policy.ts';

/**
 * A requirement has one slot per approver. An approval fills at most one slot per requirement: the approver's own slot
 * or, if a stand-in approves, the slot of an absent approver. Stand-ins can't have stand-ins of their own.
 */

export interface StandIn {
  readonly userId: string;
  /** Exclusive. */
  readonly until: Date;
}

/** Facts about people at the time of a decision. Missing entries are unknown. */
export interface PeopleFacts {
  readonly groups: ReadonlyMap<string, ReadonlySet<string>>;
  /** Whether a person is a full member of the workspace. */
  readonly membership: ReadonlyMap<string, 'member' | 'left'>;
  /** Keyed by the absent person's user id. */
  readonly standIns: ReadonlyMap<string, StandIn>;
}

export interface ProgressContext {
  /** All requesters of the order and of the orders that it retries. */
  readonly requesters: ReadonlySet<string>;
  /** The user ids of the people who approved, in any order. */
  readonly approvedByIds: readonly string[];
  /** Approvers with a valid signature. Only their approvals can meet signed requirements. */
  readonly signers: ReadonlySet<string>;
  readonly people: PeopleFacts;
  readonly allowSelfApproval: boolean;
  readonly now: Date;
}

/** A slot of a requirement, filled by an approval. */
export interface FilledSlot {
  readonly userId: string;
  /** The absent approver whose slot this person fills. */
  readonly standsInFor?: string | undefined;
}

export interface RequirementProgress {
  readonly requirement: Requirement;
  /** The valid approvals, possibly more than needed. */
  readonly slots: readonly FilledSlot[];
}

export interface Progress {
  /** Whether every requirement has enough approvals, and no rule refuses the order. */
  readonly isApproved: boolean;
  readonly requirements: readonly RequirementProgress[];
}

export function evaluateProgress(requirements: Requirements, context: ProgressContext): Progress {
  const requirementProgress = requirements.list.map((requirement) => ({
    requirement,
    slots: findValidSlots(requirement, {
      ...context,
      approvedByIds: requirement.signed
        ? context.approvedByIds.filter((userId) => context.signers.has(userId))
        : context.approvedByIds,
    }),
  }));
  return {
    isApproved:
      requirements.outcome === 'free' ||
      (requirements.outcome === 'approve' &&
        requirementProgress.length > 0 &&
        requirementProgress.every(({ requirement: { needed }, slots }) => slots.length >= needed)),
    requirements: requirementProgress,
  };
}

/** Doesn't check signatures. Stand-ins can't fill slots of signed requirements. */
export function findValidSlots(
  requirement: Requirement,
  context: Omit<ProgressContext, 'signers'>,
): FilledSlot[] {
  const { people, approvedByIds, requesters, allowSelfApproval } = context;
  // A group whose members Slack can't look up is treated as empty.
  const listedPeople = requirement.approvers.flatMap((id) =>
    isGroupId(id) ? [...(people.groups.get(id) ?? [])] : [id],
  );
  const approvers = new Set(listedPeople.filter((userId) => isMember(people, userId)));
  const approvalUserIds = [...new Set(approvedByIds)];
  const directApproverIds = approvalUserIds.filter(
    (userId) => approvers.has(userId) && (allowSelfApproval || !requesters.has(userId)),
  );
  const filledSlotOwnerIds = new Set(directApproverIds);
  const slots: FilledSlot[] = directApproverIds.map((userId) => ({ userId, standsInFor: undefined }));
  if (requirement.signed) return slots;
  for (const userId of approvalUserIds) {
    const absentApproverId = findAbsentApprover(approvers, filledSlotOwnerIds, userId, context);
    if (absentApproverId === undefined) continue;
    filledSlotOwnerIds.add(absentApproverId);
    slots.push({ userId, standsInFor: absentApproverId });
  }
  return slots;
}

function isMember({ membership }: PeopleFacts, userId: string): boolean {
  return membership.get(userId) === 'member';
}

function findAbsentApprover(
  approvers: ReadonlySet<string>,
  filledSlotOwnerIds: ReadonlySet<string>,
  userId: string,
  context: Omit<ProgressContext, 'signers'>,
): string | undefined {
  // An approver of the requirement never acts as a stand-in.
  if (approvers.has(userId) || !isMember(context.people, userId)) return undefined;
  return [...approvers].find(
    (absentId) => !filledSlotOwnerIds.has(absentId) && isStandInFor(userId, absentId, context),
  );
}

function isStandInFor(
  userId: string,
  absentId: string,
  { people, requesters, now }: Omit<ProgressContext, 'signers'>,
): boolean {
  const standIn = people.standIns.get(absentId);
  if (standIn?.userId !== userId || standIn.until <= now) return false;
  // A requester can't be a stand-in, even if people may approve their own orders.
  return !requesters.has(userId) && !requesters.has(absentId);
}
