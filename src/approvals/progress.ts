import type { Requirement, Requirements } from '../policy/evaluate.ts';
import { isGroup } from '../policy/policy.ts';

/*
 * Whether the given approvals are what an order needs. Groups, members and stand-ins are those of the moment of the
 * decision.
 *
 * A requirement has as many slots as it has approvers. One approval takes at most one slot of a requirement, and each
 * slot is taken once. An approver takes their own slot. Anybody else takes the slot of an absent approver for whom they
 * stand in, so a stand-in is never passed on.
 */

/** While somebody is away. */
export interface StandIn {
  /** Slack user id of who approves instead. */
  readonly userId: string;
  /** First moment at which it no longer holds. */
  readonly until: Date;
}

/** What is known about people at one moment. People and groups without an entry are not known. */
export interface People {
  /** The members of each group. */
  readonly groups: ReadonlyMap<string, ReadonlySet<string>>;
  /** Whether somebody is a full member of the workspace. */
  readonly membership: ReadonlyMap<string, 'member' | 'left'>;
  /** Who is away, by their user id. */
  readonly standIns: ReadonlyMap<string, StandIn>;
}

export interface GivenApprovals {
  /** Everybody who asked for the order, including those who asked for it first when it is a retry. */
  readonly requesters: ReadonlySet<string>;
  /** The user ids of those who approved, in any order. */
  readonly approvals: readonly string[];
  /** Those of them whose signature counts. Where a requirement is to be signed, nobody else does. */
  readonly signers: ReadonlySet<string>;
  readonly people: People;
  readonly allowSelfApproval: boolean;
  readonly now: Date;
}

/** Somebody's approval. */
export interface Slot {
  readonly userId: string;
  /** The approver who is away and whose place this person takes. */
  readonly standsInFor?: string | undefined;
}

export interface RequirementProgress {
  readonly requirement: Requirement;
  /** The approvals that count for it, which may be more than needed. */
  readonly counted: readonly Slot[];
}

export interface Progress {
  /** No approval is missing, and no rule refuses it. */
  readonly isApproved: boolean;
  readonly requirements: readonly RequirementProgress[];
}

/** Says whether an order has what it needs, and which approvals count for it. */
export function approvalProgress(demand: Requirements, context: GivenApprovals): Progress {
  const requirements = demand.requirements.map((requirement) => ({
    requirement,
    counted: countedApprovals(requirement, {
      ...context,
      approvals: requirement.signed
        ? context.approvals.filter((userId) => context.signers.has(userId))
        : context.approvals,
    }),
  }));
  return {
    isApproved:
      demand.outcome === 'free' ||
      (demand.outcome === 'approve' &&
        requirements.length > 0 &&
        requirements.every(({ requirement: { needed }, counted }) => counted.length >= needed)),
    requirements,
  };
}

/**
 * The approvals that count for a requirement, signed or not. Who stands in for whom is said by a click, which does not take the place
 * of a signature.
 */
export function countedApprovals(requirement: Requirement, context: Omit<GivenApprovals, 'signers'>): Slot[] {
  const { people, approvals, requesters, allowSelfApproval } = context;
  // A group whose members Slack does not tell counts as empty.
  const listed = requirement.approvers.flatMap((id) =>
    isGroup(id) ? [...(people.groups.get(id) ?? [])] : [id],
  );
  const approvers = new Set(listed.filter((userId) => isMember(people, userId)));
  const given = [...new Set(approvals)];
  const own = given.filter(
    (userId) => approvers.has(userId) && (allowSelfApproval || !requesters.has(userId)),
  );
  const taken = new Set(own);
  const counted: Slot[] = own.map((userId) => ({ userId, standsInFor: undefined }));
  if (requirement.signed) return counted;
  for (const userId of given) {
    const away = freeSeatFor(approvers, taken, userId, context);
    if (away === undefined) continue;
    taken.add(away);
    counted.push({ userId, standsInFor: away });
  }
  return counted;
}

function isMember({ membership }: People, userId: string): boolean {
  return membership.get(userId) === 'member';
}

/** The approver whose slot a stand-in can take; undefined when there is none. */
function freeSeatFor(
  approvers: ReadonlySet<string>,
  taken: ReadonlySet<string>,
  userId: string,
  context: Omit<GivenApprovals, 'signers'>,
): string | undefined {
  // An approver counts as themselves or not at all.
  if (approvers.has(userId) || !isMember(context.people, userId)) return undefined;
  return [...approvers].find((away) => !taken.has(away) && standsIn(userId, away, context));
}

function standsIn(
  userId: string,
  away: string,
  { people, requesters, now }: Omit<GivenApprovals, 'signers'>,
): boolean {
  const standIn = people.standIns.get(away);
  if (standIn?.userId !== userId || standIn.until <= now) return false;
  // A requester cannot stand in, even where people may approve what they asked for themselves.
  return !requesters.has(userId) && !requesters.has(away);
}
