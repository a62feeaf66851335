import type { Demand, Requirement } from './evaluate.ts';
import { isGroup } from './policy.ts';

/*
 * Whether the given approvals are what an order needs. Groups, members and stand-ins are those of the moment of the
 * decision.
 *
 * A requirement has as many seats as it has approvers. One approval takes at most one seat of a requirement, and each
 * seat is taken once. An approver takes their own seat. Anybody else takes the seat of an absent approver for whom they
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

export interface ApprovalContext {
  /** Everybody who asked for the order, including those who asked for it first when it is a retry. */
  readonly requesters: ReadonlySet<string>;
  /** The user ids of those who approved, in any order. */
  readonly approvals: readonly string[];
  readonly people: People;
  readonly allowSelfApproval: boolean;
  readonly now: Date;
}

/** Somebody's approval, or the approval that somebody could give. */
export interface Seat {
  readonly userId: string;
  /** The approver who is away and whose place this person takes. */
  readonly standsInFor: string | undefined;
}

export interface RequirementProgress {
  readonly requirement: Requirement;
  /** The approvals that count for it, which may be more than needed. */
  readonly counted: readonly Seat[];
  /** How many more it needs. */
  readonly missing: number;
  /** Who could still give one. */
  readonly canApprove: readonly Seat[];
  /** Groups whose members Slack does not tell; they count as empty. */
  readonly unreadableGroups: readonly string[];
  /** People of whom Slack does not tell whether they are still members; they do not count. */
  readonly unconfirmed: readonly string[];
}

export interface Progress {
  /** No approval is missing, and no rule refuses it. */
  readonly isApproved: boolean;
  readonly requirements: readonly RequirementProgress[];
  /** Everybody whose approval would count for one of the requirements, each once. */
  readonly canApprove: readonly Seat[];
}

/** Says whether an order has what it needs, and who can still approve it. */
export function approvalProgress(demand: Demand, context: ApprovalContext): Progress {
  const requirements = demand.requirements.map((requirement) => progressOf(requirement, context));
  const canApprove = new Map<string, Seat>();
  for (const { canApprove: seats } of requirements) {
    for (const seat of seats) {
      // Somebody who may approve in their own right is listed so, even if they could also stand in.
      const known = canApprove.get(seat.userId);
      if (known === undefined || seat.standsInFor === undefined) canApprove.set(seat.userId, seat);
    }
  }
  return {
    isApproved:
      demand.outcome === 'free' ||
      (demand.outcome === 'approve' &&
        requirements.length > 0 &&
        requirements.every(({ missing }) => missing === 0)),
    requirements,
    canApprove: [...canApprove.values()],
  };
}

function progressOf(requirement: Requirement, context: ApprovalContext): RequirementProgress {
  const { people, approvals } = context;
  const listed = listedApprovers(requirement, people);
  const approvers = new Set(listed.userIds.filter((userId) => isMember(people, userId)));
  const taken = new Set<string>();
  const counted: Seat[] = [];
  const given = [...new Set(approvals)];
  for (const userId of given) {
    if (!mayApproveAsThemself(approvers, userId, context)) continue;
    taken.add(userId);
    counted.push({ userId, standsInFor: undefined });
  }
  for (const userId of given) {
    const away = freeSeatFor(approvers, taken, userId, context);
    if (away === undefined) continue;
    taken.add(away);
    counted.push({ userId, standsInFor: away });
  }
  const missing = Math.max(0, requirement.needed - counted.length);
  return {
    requirement,
    counted,
    missing,
    canApprove: missing === 0 ? [] : openSeats(approvers, taken, new Set(given), context),
    unreadableGroups: listed.unreadableGroups,
    unconfirmed: listed.userIds.filter((userId) => !people.membership.has(userId)),
  };
}

function listedApprovers({ approvers }: Requirement, { groups }: People) {
  const userIds = new Set<string>();
  const unreadableGroups = new Set<string>();
  for (const id of approvers) {
    const members = isGroup(id) ? groups.get(id) : [id];
    if (members === undefined) unreadableGroups.add(id);
    for (const userId of members ?? []) userIds.add(userId);
  }
  return { userIds: [...userIds], unreadableGroups: [...unreadableGroups] };
}

function isMember({ membership }: People, userId: string): boolean {
  return membership.get(userId) === 'member';
}

function mayApproveAsThemself(
  approvers: ReadonlySet<string>,
  userId: string,
  { requesters, allowSelfApproval }: ApprovalContext,
): boolean {
  return approvers.has(userId) && (allowSelfApproval || !requesters.has(userId));
}

/** The approver whose seat a stand-in can take; undefined when there is none. */
function freeSeatFor(
  approvers: ReadonlySet<string>,
  taken: ReadonlySet<string>,
  userId: string,
  context: ApprovalContext,
): string | undefined {
  // An approver counts as themselves or not at all.
  if (approvers.has(userId) || !isMember(context.people, userId)) return undefined;
  return [...approvers].find((away) => !taken.has(away) && standsIn(userId, away, context));
}

function standsIn(userId: string, away: string, { people, requesters, now }: ApprovalContext): boolean {
  const standIn = people.standIns.get(away);
  if (standIn?.userId !== userId || standIn.until <= now) return false;
  // A requester cannot stand in, even where people may approve what they asked for themselves.
  return !requesters.has(userId) && !requesters.has(away);
}

/** Everybody who has not approved yet and for whom there is a free seat. */
function openSeats(
  approvers: ReadonlySet<string>,
  taken: ReadonlySet<string>,
  given: ReadonlySet<string>,
  context: ApprovalContext,
): Seat[] {
  const free = [...approvers].filter((userId) => !taken.has(userId));
  const own = free
    .filter((userId) => !given.has(userId) && mayApproveAsThemself(approvers, userId, context))
    .map((userId) => ({ userId, standsInFor: undefined }));
  const instead = free.flatMap((away) => {
    const userId = context.people.standIns.get(away)?.userId;
    if (userId === undefined || given.has(userId)) return [];
    return freeSeatFor(approvers, taken, userId, context) === away ? [{ userId, standsInFor: away }] : [];
  });
  return [...own, ...instead];
}
