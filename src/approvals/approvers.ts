import type { TeamSettings } from '../config/environment.ts';
import type { OrdersContext } from '../orders/context.ts';
import { isRequester, type Order } from '../orders/order.ts';
import type { Directory } from '../orders/ports.ts';
import type { ApproverAction, Refusal } from '../orders/refusal.ts';
import type { Requirement, Requirements } from '../policy/evaluate.ts';
import { findNotifiedIds, findSilentIds, isGroupId, type RequirementApprovers } from '../policy/policy.ts';
import { findValidSlots, type PeopleFacts, type StandIn } from './progress.ts';
import {
  buildDefaultRequirement,
  type CurrentEvaluation,
  getRequestedRequirements,
  getTaskSettings,
  listCurrentDecidingRequirements,
  listDecidingRequirements,
  loadCurrentEvaluation,
  loadEvaluation,
} from './requirements.ts';

/** Decides who may approve or deny an order. Each decision loads the rights of only the people involved. */

export interface ApproverRights {
  /** The checked people who may decide, whether directly, through a group or as a stand-in. */
  readonly approvers: ReadonlySet<string>;
  /** The checked people whose workspace membership Slack can't look up. */
  readonly unconfirmedIds: ReadonlySet<string>;
  /** Groups whose members Slack can't look up. Treated as empty. */
  readonly unreadableGroups: readonly string[];
  readonly allowSelfApproval: boolean;
  /** Ids of approvers and groups to show in refusals. Omitted if the approvers are those in the settings. */
  readonly namedApprovers?: readonly string[];
}

/** Approvers may deny their own orders, but may approve them only if self-approval is allowed. */
export function checkCanDecide(
  order: Order,
  userId: string,
  decision: 'approve' | 'deny',
  rights: ApproverRights,
): Refusal | undefined {
  // A person who retries an order is also one of its requesters.
  if (isRequester(order, userId) && !rights.allowSelfApproval && decision === 'approve') {
    return { code: 'own_order', isApprover: rights.approvers.has(userId) };
  }
  return checkApprover(rights, userId, decision);
}

export function checkApprover(
  { approvers, unconfirmedIds, unreadableGroups, namedApprovers }: ApproverRights,
  userId: string,
  action: ApproverAction,
): Refusal | undefined {
  if (approvers.has(userId)) return undefined;
  if (unconfirmedIds.has(userId)) return { code: 'own_membership_unknown' };
  return unreadableGroups.length === 0
    ? {
        code: 'not_an_approver',
        action,
        ...(namedApprovers === undefined ? {} : { approvers: namedApprovers }),
      }
    : { code: 'groups_unreadable', groupIds: unreadableGroups };
}

export interface ResolvedPeople {
  readonly people: readonly string[];
  /** Groups whose members Slack can't look up. Treated as empty. */
  readonly unreadableGroups: readonly string[];
}

/** Replaces groups with their current members. */
export async function resolvePeople(directory: Directory, ids: readonly string[]): Promise<ResolvedPeople> {
  const resolved = await Promise.all(
    [...new Set(ids)].map(async (id) => ({
      id,
      people: isGroupId(id) ? await directory.listGroupMembers(id) : [id],
    })),
  );
  return {
    people: [...new Set(resolved.flatMap(({ people }) => people ?? []))],
    unreadableGroups: resolved.filter(({ people }) => people === undefined).map(({ id }) => id),
  };
}

/** Finds approvers who are never notified: people listed as silent, and people only in silent groups. */
export async function findSilentPeople(
  directory: Directory,
  requirements: readonly RequirementApprovers[],
): Promise<ReadonlySet<string>> {
  const silentIds = findSilentIds(requirements);
  if (silentIds.length === 0) return new Set();
  const { people: notifiedPeople } = await resolvePeople(directory, findNotifiedIds(requirements));
  const { people } = await resolvePeople(directory, silentIds);
  return new Set(people.filter((id) => silentIds.includes(id) || !notifiedPeople.includes(id)));
}

/** Finds the people to notify under these requirements, including stand-ins. */
export async function findNotifiedPeople(
  directory: Directory,
  requirements: readonly RequirementApprovers[],
  standIns: ReadonlyMap<string, StandIn>,
): Promise<ResolvedPeople> {
  const silentPeople = await findSilentPeople(directory, requirements);
  const standInIds = [...standIns.values()].map(({ userId }) => userId);
  const idsToNotify = [...findNotifiedIds(requirements), ...standInIds];
  const { people, unreadableGroups } = await resolvePeople(directory, idsToNotify);
  return { people: people.filter((id) => !silentPeople.has(id)), unreadableGroups };
}

export interface LoadedPeople {
  readonly people: PeopleFacts;
  readonly unreadableGroups: readonly string[];
  /** Possible approvers whose membership Slack can't look up. */
  readonly unconfirmedIds: ReadonlySet<string>;
}

interface PeopleSource {
  readonly directory: Directory;
  /** Active stand-ins, keyed by absent person. */
  readonly standIns: PeopleFacts['standIns'];
}

/**
 * Loads the groups, memberships and stand-ins that decide whether these people may approve. Slack limits the
 * rate of group lookups, so groups are looked up only for people who aren't listed individually.
 * @param options.allGroups looks up all groups, to find unreadable ones
 */
export async function loadPeople(
  { directory, standIns }: PeopleSource,
  requirements: readonly Requirement[],
  userIds: readonly string[],
  { allGroups = false } = {},
): Promise<LoadedPeople> {
  const groupsToLookUp = new Set(
    requirements.flatMap(({ approvers }) =>
      allGroups || userIds.some((userId) => !approvers.includes(userId)) ? approvers.filter(isGroupId) : [],
    ),
  );
  const groupLookups = await Promise.all(
    [...groupsToLookUp].map(async (id) => ({ id, members: await directory.listGroupMembers(id) })),
  );
  const groups = new Map<string, ReadonlySet<string>>();
  const listedPeople = new Set<string>();
  for (const id of requirements.flatMap(({ approvers }) => approvers)) {
    if (!isGroupId(id)) listedPeople.add(id);
    // Everyone being checked is listed individually, so the group's members don't matter.
    else if (!groupsToLookUp.has(id)) groups.set(id, new Set());
  }
  for (const { id, members } of groupLookups) {
    if (members === undefined) continue;
    groups.set(id, new Set(members));
    for (const member of members) listedPeople.add(member);
  }
  const relevantStandIns = [...standIns].filter(
    ([userId, standIn]) => listedPeople.has(userId) && userIds.includes(standIn.userId),
  );
  const involvedPeople = [
    ...new Set([
      ...userIds.filter((userId) => listedPeople.has(userId)),
      ...relevantStandIns.flatMap(([userId, standIn]) => [userId, standIn.userId]),
    ]),
  ];
  const membershipResults = await Promise.all(
    involvedPeople.map((userId) => directory.findMembership(userId)),
  );
  const membership = new Map<string, 'member' | 'left'>();
  const membershipUnknownIds = new Set<string>();
  for (const [index, userId] of involvedPeople.entries()) {
    const result = membershipResults[index];
    if (result === 'member' || result === 'left') membership.set(userId, result);
    else membershipUnknownIds.add(userId);
  }
  const unconfirmedIds = new Set([...membershipUnknownIds].filter((userId) => userIds.includes(userId)));
  // If Slack can't look up the absent approver, the stand-in can't be confirmed either.
  for (const [userId, standIn] of relevantStandIns)
    if (membershipUnknownIds.has(userId)) unconfirmedIds.add(standIn.userId);
  return {
    people: { groups, membership, standIns },
    unreadableGroups: groupLookups.filter(({ members }) => members === undefined).map(({ id }) => id),
    unconfirmedIds,
  };
}

export interface ApproverQuery {
  readonly requirements: readonly Requirement[];
  readonly requesters: ReadonlySet<string>;
  readonly userIds: readonly string[];
}

/** Finds who may decide under the requirements, as an approver or a stand-in. */
export function buildApproverRights(
  { requirements, requesters, userIds }: ApproverQuery,
  { people, unreadableGroups, unconfirmedIds }: LoadedPeople,
  settings: TeamSettings,
  now: Date,
): ApproverRights {
  const isApprover = (userId: string) => {
    // Requesters may always deny, so they aren't excluded. `checkCanDecide` checks whether they may approve.
    const context = { requesters, approvedByIds: [userId], people, allowSelfApproval: true, now };
    return requirements.some((requirement) => findValidSlots(requirement, context).length > 0);
  };
  const approvers = new Set(userIds.filter(isApprover));
  const hasRule = requirements.some(({ rule }) => rule.kind === 'rule');
  return {
    approvers,
    unconfirmedIds: new Set([...unconfirmedIds].filter((userId) => !approvers.has(userId))),
    unreadableGroups,
    allowSelfApproval: settings.allowSelfApproval,
    ...(hasRule ? { namedApprovers: [...new Set(requirements.flatMap(({ approvers: ids }) => ids))] } : {}),
  };
}

/** All requesters of an order and of the orders that it retries. */
export function listRequesters(order: Order): ReadonlySet<string> {
  return new Set([order.requesterId, ...order.earlierRequesters]);
}

/** An order's requirements and the people involved. */
export interface DecisionContext {
  readonly now: Date;
  readonly order: Order;
  readonly evaluation: CurrentEvaluation;
  readonly people: LoadedPeople;
}

/** @param userIds the people whose rights are checked */
export async function loadDecisionContext(
  context: OrdersContext,
  order: Order,
  userIds: readonly string[],
  additionalApprovers?: 'general',
): Promise<DecisionContext> {
  const now = context.now();
  const [evaluation, standIns] = await Promise.all([
    loadEvaluation(context, order),
    context.standIns.loadActiveStandIns(now),
  ]);
  const requirements = listCurrentDecidingRequirements(evaluation, order, additionalApprovers);
  const areAllUsersListed = requirements.every(({ approvers }) =>
    userIds.every((id) => approvers.includes(id)),
  );
  const peopleSource = { directory: context.directory, standIns: areAllUsersListed ? new Map() : standIns };
  const people = await loadPeople(peopleSource, requirements, userIds);
  return { now, order, evaluation, people };
}

export function evaluateRights(
  { now, order, evaluation, people }: DecisionContext,
  userIds: readonly string[],
  additionalApprovers?: 'general',
): ApproverRights {
  const query = {
    requirements: listCurrentDecidingRequirements(evaluation, order, additionalApprovers),
    requesters: listRequesters(order),
    userIds,
  };
  return buildApproverRights(query, people, evaluation.settings, now);
}

/**
 * Finds which of these people may approve or deny an order, and also retry, stop and settle it.
 * @param additionalApprovers `general`: people named in the settings may decide too, regardless of the rules
 */
export async function loadApproverRights(
  context: OrdersContext,
  order: Order,
  userIds: readonly string[],
  additionalApprovers?: 'general',
): Promise<ApproverRights> {
  const decisionContext = await loadDecisionContext(context, order, userIds, additionalApprovers);
  return evaluateRights(decisionContext, userIds, additionalApprovers);
}

/** The current requirements of a pending order, as shown to its approvers. */
export interface PendingRequirements extends Omit<CurrentEvaluation, 'settings' | 'requestedRequirements'> {
  readonly standIns: ReadonlyMap<string, StandIn>;
}

export async function loadPendingRequirements(
  context: OrdersContext,
  order: Order,
): Promise<PendingRequirements> {
  const current = await loadCurrentEvaluation(context, order);
  return { ...current, standIns: await loadStandIns(context, order, current.requirements) };
}

/** Loads the stand-ins of an order's approvers, except silent ones, keyed by absent approver. */
export async function loadStandIns(
  { standIns, directory, now }: OrdersContext,
  order: Order,
  { list }: Requirements,
): Promise<ReadonlyMap<string, StandIn>> {
  const activeStandIns = await standIns.loadActiveStandIns(now());
  if (activeStandIns.size === 0) return activeStandIns;
  const { people } = await resolvePeople(
    directory,
    list.flatMap(({ approvers }) => approvers),
  );
  const approvers = new Set(people);
  const silentPeople = await findSilentPeople(directory, list);
  const requesters = listRequesters(order);
  return new Map(
    [...activeStandIns].filter(
      ([userId, standIn]) =>
        approvers.has(userId) &&
        !silentPeople.has(userId) &&
        !approvers.has(standIn.userId) &&
        !requesters.has(userId) &&
        !requesters.has(standIn.userId),
    ),
  );
}

export async function isApproverInSettings(deps: OrdersContext, userId: string): Promise<boolean> {
  return (await loadApproverStatus(deps, userId, [])).isApprover;
}

export interface ApproverStatus {
  /** Whether the person is named in the settings, or can decide on one of the orders. */
  readonly isApprover: boolean;
  /** Pending orders that the person can approve. */
  readonly ordersToDecide: readonly Order[];
  /** Orders with an unknown outcome that the person can settle. */
  readonly ordersToResolve: readonly Order[];
  readonly unreadableGroups: readonly string[];
}

/**
 * Finds the orders that need a decision from a person. Uses each order's requirements from when it was
 * requested; the policy is evaluated again when the person clicks.
 * @param orders pending orders, and orders with an unknown outcome
 * @param options.allGroups finds every unreadable group
 */
export async function loadApproverStatus(
  deps: OrdersContext,
  userId: string,
  orders: readonly Order[],
  options: { readonly allGroups?: boolean } = {},
): Promise<ApproverStatus> {
  const now = deps.now();
  const [settings, standIns] = await Promise.all([
    deps.loadSettings(),
    deps.standIns.loadActiveStandIns(now),
  ]);
  const settingsRequirements = [buildDefaultRequirement(settings, [])];
  const queries = orders.map((order) => {
    const additionalApprovers = order.state === 'UNKNOWN' ? 'general' : undefined;
    return {
      order,
      requirements: listDecidingRequirements(
        getRequestedRequirements(order, settings),
        settings,
        order,
        additionalApprovers,
      ),
    };
  });
  const allRequirements = [...settingsRequirements, ...queries.flatMap(({ requirements }) => requirements)];
  const people = await loadPeople(
    { directory: deps.directory, standIns },
    allRequirements,
    [userId],
    options,
  );
  const canDecide = (requirements: readonly Requirement[], requesters: ReadonlySet<string>) =>
    buildApproverRights({ requirements, requesters, userIds: [userId] }, people, settings, now).approvers.has(
      userId,
    );
  const decidableOrders = queries
    .filter(({ order, requirements }) => canDecide(requirements, listRequesters(order)))
    .map(({ order }) => order);
  const ordersToDecide = decidableOrders.filter(
    (order) =>
      order.state === 'PENDING' &&
      (getTaskSettings(order, settings).allowSelfApproval || !isRequester(order, userId)) &&
      order.approvals.every((approval) => approval.userId !== userId),
  );
  return {
    isApprover: decidableOrders.length > 0 || canDecide(settingsRequirements, new Set()),
    ordersToDecide,
    ordersToResolve: decidableOrders.filter(({ state }) => state === 'UNKNOWN'),
    unreadableGroups: people.unreadableGroups,
  };
}
