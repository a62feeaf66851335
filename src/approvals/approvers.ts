import type { TeamSettings } from '../config/environment.ts';
import type { OrdersContext } from '../orders/context.ts';
import { isRequester, type Order } from '../orders/order.ts';
import type { Directory } from '../orders/ports.ts';
import type { ApproverRight, Refusal } from '../orders/refusal.ts';
import type { Requirement, Requirements } from '../policy/evaluate.ts';
import { findNotifiedIds, findSilentIds, isGroup, type RequirementPeople } from '../policy/policy.ts';
import { findValidSlots, type People, type StandIn } from './progress.ts';
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

/** Decides who may approve or deny an order. Rights are reloaded for each decision, only for the people involved. */

export interface ApproverRights {
  /** Members of the workspace whom the requirements list, directly or through a group. */
  readonly approvers: ReadonlySet<string>;
  /** Listed people whose workspace membership Slack can't look up. */
  readonly unconfirmed: ReadonlySet<string>;
  /** Groups whose members Slack can't look up. Treated as empty. */
  readonly unreadableGroups: readonly string[];
  readonly allowSelfApproval: boolean;
  /** Ids of approvers and groups to show in refusals. Omitted if the approvers are those in the settings. */
  readonly namedApprovers?: readonly string[];
}

/** Approvers may always deny their own orders, but may not always approve them. */
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
  { approvers, unconfirmed, unreadableGroups, namedApprovers }: ApproverRights,
  userId: string,
  action: ApproverRight,
): Refusal | undefined {
  if (approvers.has(userId)) return undefined;
  if (unconfirmed.has(userId)) return { code: 'own_membership_unknown' };
  return unreadableGroups.length === 0
    ? {
        code: 'not_an_approver',
        action,
        ...(namedApprovers === undefined ? {} : { approvers: namedApprovers }),
      }
    : { code: 'groups_unreadable', groupIds: unreadableGroups };
}

export interface ListedPeople {
  readonly people: readonly string[];
  /** Groups whose members Slack can't look up. Treated as empty. */
  readonly unreadableGroups: readonly string[];
}

/** Replaces groups with their current members. */
export async function resolvePeople(directory: Directory, ids: readonly string[]): Promise<ListedPeople> {
  const resolved = await Promise.all(
    [...new Set(ids)].map(async (id) => ({
      id,
      people: isGroup(id) ? await directory.listGroupMembers(id) : [id],
    })),
  );
  return {
    people: [...new Set(resolved.flatMap(({ people }) => people ?? []))],
    unreadableGroups: resolved.filter(({ people }) => people === undefined).map(({ id }) => id),
  };
}

/** Approvers who are never notified: people listed as silent, and people who are only in silent groups. */
export async function findSilentPeople(
  directory: Directory,
  requirements: readonly RequirementPeople[],
): Promise<ReadonlySet<string>> {
  const silentIds = findSilentIds(requirements);
  if (silentIds.length === 0) return new Set();
  const notified = await resolvePeople(directory, findNotifiedIds(requirements));
  const { people } = await resolvePeople(directory, silentIds);
  return new Set(people.filter((id) => silentIds.includes(id) || !notified.people.includes(id)));
}

/** The people to notify under these requirements, including stand-ins. */
export async function findNotifiedPeople(
  directory: Directory,
  requirements: readonly RequirementPeople[],
  standIns: ReadonlyMap<string, StandIn>,
): Promise<ListedPeople> {
  const silentPeople = await findSilentPeople(directory, requirements);
  const standInIds = [...standIns.values()].map(({ userId }) => userId);
  const notifiedIds = [...findNotifiedIds(requirements), ...standInIds];
  const { people, unreadableGroups } = await resolvePeople(directory, notifiedIds);
  return { people: people.filter((id) => !silentPeople.has(id)), unreadableGroups };
}

export interface LoadedPeople {
  readonly people: People;
  readonly unreadableGroups: readonly string[];
  /** Possible approvers whose membership Slack can't look up. */
  readonly unconfirmed: ReadonlySet<string>;
}

interface PeopleSource {
  readonly directory: Directory;
  /** Active stand-ins, keyed by absent person. */
  readonly standIns: People['standIns'];
}

/**
 * Loads the groups, memberships and stand-ins that decide whether these people may approve. Slack limits the rate of
 * group lookups, so groups are looked up only for people who aren't listed individually.
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
      allGroups || userIds.some((userId) => !approvers.includes(userId)) ? approvers.filter(isGroup) : [],
    ),
  );
  const groupLookups = await Promise.all(
    [...groupsToLookUp].map(async (id) => ({ id, members: await directory.listGroupMembers(id) })),
  );
  const groups = new Map<string, ReadonlySet<string>>();
  const listedPeople = new Set<string>();
  for (const id of requirements.flatMap(({ approvers }) => approvers)) {
    if (!isGroup(id)) listedPeople.add(id);
    // Everyone to check is listed individually, so the group's members don't matter.
    else if (!groupsToLookUp.has(id)) groups.set(id, new Set());
  }
  for (const { id, members } of groupLookups) {
    if (members === undefined) continue;
    groups.set(id, new Set(members));
    for (const member of members) listedPeople.add(member);
  }
  const activeStandIns = [...standIns].filter(
    ([userId, standIn]) => listedPeople.has(userId) && userIds.includes(standIn.userId),
  );
  const involvedPeople = [
    ...new Set([
      ...userIds.filter((userId) => listedPeople.has(userId)),
      ...activeStandIns.flatMap(([userId, standIn]) => [userId, standIn.userId]),
    ]),
  ];
  const memberships = await Promise.all(involvedPeople.map((userId) => directory.findMembership(userId)));
  const membership = new Map<string, 'member' | 'left'>();
  const unknownMembers = new Set<string>();
  for (const [index, userId] of involvedPeople.entries()) {
    const result = memberships[index];
    if (result === 'member' || result === 'left') membership.set(userId, result);
    else unknownMembers.add(userId);
  }
  const unconfirmed = new Set([...unknownMembers].filter((userId) => userIds.includes(userId)));
  // If Slack can't look up the absent approver, the stand-in can't be confirmed either.
  for (const [userId, standIn] of activeStandIns)
    if (unknownMembers.has(userId)) unconfirmed.add(standIn.userId);
  return {
    people: { groups, membership, standIns },
    unreadableGroups: groupLookups.filter(({ members }) => members === undefined).map(({ id }) => id),
    unconfirmed,
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
  { people, unreadableGroups, unconfirmed }: LoadedPeople,
  settings: TeamSettings,
  now: Date,
): ApproverRights {
  const isApprover = (userId: string) => {
    // Approvers may always deny. `checkCanDecide` checks whether a requester may approve.
    const context = { requesters, approvals: [userId], people, allowSelfApproval: true, now };
    return requirements.some((requirement) => findValidSlots(requirement, context).length > 0);
  };
  const approvers = new Set(userIds.filter(isApprover));
  const hasRule = requirements.some(({ rule }) => rule.kind === 'rule');
  return {
    approvers,
    unconfirmed: new Set([...unconfirmed].filter((userId) => !approvers.has(userId))),
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
    context.standIns.current(now),
  ]);
  const requirements = listCurrentDecidingRequirements(evaluation, order, additionalApprovers);
  const areListed = requirements.every(({ approvers }) => userIds.every((id) => approvers.includes(id)));
  const source = { directory: context.directory, standIns: areListed ? new Map() : standIns };
  const people = await loadPeople(source, requirements, userIds);
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
  const decision = await loadDecisionContext(context, order, userIds, additionalApprovers);
  return evaluateRights(decision, userIds, additionalApprovers);
}

/** The current requirements of a pending order, as shown to its approvers. */
export interface PendingDecision extends Omit<CurrentEvaluation, 'settings' | 'requested'> {
  readonly standIns: ReadonlyMap<string, StandIn>;
}

export async function loadPendingDecision(context: OrdersContext, order: Order): Promise<PendingDecision> {
  const current = await loadCurrentEvaluation(context, order);
  return { ...current, standIns: await loadStandIns(context, order, current.requirements) };
}

/** Loads the stand-ins of an order's approvers, except silent ones, keyed by absent approver. */
export async function loadStandIns(
  { standIns, directory, now }: OrdersContext,
  order: Order,
  { list }: Requirements,
): Promise<ReadonlyMap<string, StandIn>> {
  const activeStandIns = await standIns.current(now());
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
  /** Whether the person is named in the settings, or can decide about one of the orders. */
  readonly isApprover: boolean;
  /** Pending orders that the person can approve. */
  readonly toDecide: readonly Order[];
  /** Orders with an unknown outcome that the person can settle. */
  readonly toResolve: readonly Order[];
  readonly unreadableGroups: readonly string[];
}

/**
 * Finds the orders that need a decision from a person. Uses the requirements from when each order was requested; a
 * click evaluates the policy again.
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
  const [settings, standIns] = await Promise.all([deps.loadSettings(), deps.standIns.current(now)]);
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
  const decidable = queries
    .filter(({ order, requirements }) => canDecide(requirements, listRequesters(order)))
    .map(({ order }) => order);
  const toDecide = decidable.filter(
    (order) =>
      order.state === 'PENDING' &&
      (getTaskSettings(order, settings).allowSelfApproval || !isRequester(order, userId)) &&
      order.approvals.every((approval) => approval.userId !== userId),
  );
  return {
    isApprover: decidable.length > 0 || canDecide(settingsRequirements, new Set()),
    toDecide,
    toResolve: decidable.filter(({ state }) => state === 'UNKNOWN'),
    unreadableGroups: people.unreadableGroups,
  };
}
