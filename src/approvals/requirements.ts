import type { TeamSettings } from '../config/environment.ts';
import { removeDuplicates } from '../lib/collections.ts';
import { isPaused } from '../orders/bulk/waves.ts';
import { type Order, type OrderTaskName, waitsForScheduledTime } from '../orders/order.ts';
import type { Directory, RuleFacts } from '../orders/ports.ts';
import { findTask } from '../orders/tasks.ts';
import {
  type Evaluation,
  evaluate,
  matchesTask,
  mergeRequirements,
  mergeStricter,
  type PolicyFacts,
  type PolicySettings,
  type Requirement,
  type Requirements,
  requirementKey,
  settingsApproval,
} from '../policy/evaluate.ts';
import {
  needsSignatures,
  type PolicyInForce,
  type RuleReference,
  requirementPeople,
  versionToSign,
} from '../policy/policy.ts';
import type { EffectivePolicySource } from '../policy/ports.ts';
import { type FactOrder, gatherFacts } from '../policy/rule-facts.ts';

/** An order's requirements by the policy and the settings, at the request and at each decision. */

export interface RequirementSources {
  readonly loadSettings: () => Promise<TeamSettings>;
  readonly policy: EffectivePolicySource;
  readonly directory: Directory;
  readonly ruleFacts: RuleFacts;
}

export function policySettings(settings: TeamSettings, { signsSettings }: PolicyInForce): PolicySettings {
  return {
    signed: signsSettings,
    approvalTasks: settings.approvalTasks,
    approvers: settings.approvers,
    silentApprovers: settings.silentApprovers,
    approvalsRequired: settings.approvalsRequired,
    ttlMs: settings.approvalTtlMs,
    remindAfterMs: settings.approvalRemindAfterMs,
    escalateAfterMs: settings.approvalEscalateAfterMs,
    escalateTo: settings.approvalEscalateTo,
  };
}

/** An order as input of the policy. */
export interface DecidedOrder {
  readonly task: Order['task'];
  readonly names: readonly string[];
  readonly requesterId: string;
  readonly input: unknown;
  /** It uses the team's account, which needs approval. */
  readonly usesTeamAccount: boolean;
  /** Its mandate doesn't cover it, so a person must approve it. */
  readonly isHeld?: boolean;
}

export function decidedOrder({ task, items, requesterId, input, account }: Order): DecidedOrder {
  const names = items.map(({ name }) => name);
  return { task, names, requesterId, input, usesTeamAccount: account.isTeamAccount ?? false };
}

export interface EvaluatedOrder {
  readonly settings: TeamSettings;
  readonly policyVersion: number;
  readonly demand: Requirements;
  readonly decidedBy: readonly RuleReference[];
}

/** Evaluates an order's current requirements. Only the groups of rules' requesters are looked up in Slack. */
export async function evaluateOrder(deps: RequirementSources, order: DecidedOrder): Promise<EvaluatedOrder> {
  const [questions, saved, policy] = await Promise.all([
    policyQueries(deps, order),
    deps.loadSettings(),
    deps.policy.current(),
  ]);
  const settings = taskSettings(order, saved);
  const evaluations = await Promise.all(
    questions.map(async (requested) =>
      evaluateUnder(policy, settings, requested, await gatherFacts(deps, policy.rules, requested)),
    ),
  );
  const byRules = evaluations.map(({ demand }) => demand).reduce(mergeStricter);
  const needsOtherApprover = order.task === 'mandate' || order.isHeld === true;
  const demand = needsOtherApprover ? decidedByAnother(byRules, settings, policy, order) : byRules;
  const names = evaluations.flatMap((evaluation) => evaluation.names);
  return {
    settings,
    policyVersion: versionToSign(policy),
    demand: { ...demand, requirements: mergeRequirements(demand.requirements) },
    decidedBy: removeDuplicates(names.flatMap(({ decidedBy }) => decidedBy.map(({ rule }) => rule))),
  };
}

/** Mandates can't be approved by their requester, whatever the settings allow. */
export function taskSettings(
  { task }: { readonly task: Order['task'] },
  settings: TeamSettings,
): TeamSettings {
  return task === 'mandate' ? { ...settings, allowSelfApproval: false } : settings;
}

/** A mandate is evaluated as the renewal of each of its names, and as a mandate. */
async function policyQueries(
  { ruleFacts }: RequirementSources,
  order: DecidedOrder,
): Promise<readonly FactOrder<OrderTaskName>[]> {
  if (order.task !== 'mandate') return [toFactOrder(order)];
  const names = await ruleFacts.findMatchingNames(order.names);
  const renewal = { ...order, names, task: 'renew', input: { names, period: 1 } } as const;
  return [toFactOrder(renewal), toFactOrder({ ...order, names })];
}

/**
 * The same requirements, plus at least one approval by the settings' approvers. A mandate is never an emergency, and
 * its names are its patterns.
 */
function decidedByAnother(
  demand: Requirements,
  settings: TeamSettings,
  { signsSettings }: PolicyInForce,
  { task, names }: DecidedOrder,
): Requirements {
  if (demand.outcome === 'refuse') return demand;
  const isMandate = task === 'mandate';
  const needed =
    demand.outcome === 'approve'
      ? demand
      : addRequirement(settings, demand, {
          ...defaultRequirement(settings, names),
          rule: { kind: 'mandate' },
          signed: signsSettings,
        });
  return isMandate
    ? {
        ...needed,
        breakGlass: false,
        requirements: needed.requirements.map((requirement) => ({ ...requirement, names })),
      }
    : needed;
}

/** An order's requirements under a policy, and under the environment's settings while no charter is valid. */
export function evaluateUnder(
  policy: PolicyInForce,
  settings: TeamSettings,
  order: FactOrder<OrderTaskName>,
  facts: PolicyFacts,
): Evaluation {
  const evaluation = evaluate(policy, policySettings(settings, policy), order, facts);
  return { ...evaluation, demand: withEnvironment(evaluation.demand, order, settings, policy) };
}

/** While no charter is valid, the environment's settings also apply, and at least one approval must be signed. */
function withEnvironment(
  demand: Requirements,
  { task, names }: FactOrder<OrderTaskName>,
  settings: TeamSettings,
  { lapsed }: PolicyInForce,
): Requirements {
  if (lapsed === undefined) return demand;
  const { tasks, needed, ...requested } = lapsed.environment;
  const isListed = tasks.includes(task);
  if (!isListed && needsSignatures(demand)) return demand;
  return mergeStricter(demand, {
    ...addRequirement(settings, demand, {
      rule: { kind: 'environment' },
      ...{ names, ...requested, signed: true },
      needed: isListed ? needed : 1,
    }),
    refusedBy: [],
    breakGlass: false,
  });
}

/**
 * Requirements for a protected change while no charter is valid: as for a task that needs approval by the environment's
 * settings.
 */
export function environmentRequirement(
  { lapsed }: PolicyInForce,
  names: readonly string[],
): Requirement | undefined {
  if (lapsed === undefined) return undefined;
  const { tasks, needed, ...requested } = lapsed.environment;
  const rule = { kind: 'environment' } as const;
  return { rule, names, ...requested, needed: tasks.length > 0 ? needed : 1, signed: true };
}

function addRequirement(
  { approvalEscalateTo: escalateTo }: TeamSettings,
  demand: Requirements,
  requirement: Requirement,
): Requirements {
  return {
    ...demand,
    outcome: 'approve',
    requirements: [requirement],
    escalateTo,
    escalateToAdmins: escalateTo.length === 0,
  };
}

/** Names of an order that the policy refuses now, each with the rules. */
export async function refusedNames(
  deps: RequirementSources,
  order: DecidedOrder,
): Promise<ReadonlyMap<string, readonly RuleReference[]>> {
  const [settings, policy] = await Promise.all([deps.loadSettings(), deps.policy.current()]);
  const requested = toFactOrder(order);
  const facts = await gatherFacts(deps, policy.rules, requested);
  const { demand, names } = evaluateUnder(policy, settings, requested, facts);
  const refusing = new Set(demand.refusedBy.map((rule) => JSON.stringify(rule)));
  return new Map(
    names.flatMap(({ name, decidedBy }) => {
      const rules = decidedBy.map(({ rule }) => rule).filter((rule) => refusing.has(JSON.stringify(rule)));
      return rules.length === 0 ? [] : [[name, rules] as const];
    }),
  );
}

/**
 * The rules that refuse a task for one name, before the rest of its form is filled in. Other fields can't change this,
 * because a longer period only raises the price. If no rule refuses the task, only the policy is read.
 */
export async function rulesRefusing(
  deps: RequirementSources,
  order: DecidedOrder & { readonly names: readonly [string] },
): Promise<readonly RuleReference[]> {
  const { facts } = toFactOrder(order);
  const { rules } = await deps.policy.current();
  const mayRefuse = rules.some((rule) => rule.decision === 'refuse' && matchesTask(rule, order.task, facts));
  return mayRefuse ? (await evaluateOrder(deps, order)).demand.refusedBy : [];
}

export function toFactOrder(order: DecidedOrder): FactOrder<OrderTaskName> {
  const { task, names, requesterId, input, usesTeamAccount } = order;
  const { effect, risk, nameKind, findCharge } = findTask(task);
  return {
    task,
    names,
    input,
    requester: requesterId,
    usesTeamAccount,
    facts: { effect, risk, nameKind },
    isFree: (name) => findCharge([name]) === 'no',
  };
}

export function defaultRequirement(settings: TeamSettings, names: readonly string[]): Requirement {
  return { rule: { kind: 'approval_tasks' }, names, ...settingsApproval({ ...settings, signed: false }) };
}

/** An order's requirements at the request. The settings' requirements name the current approvers. */
export function requestedRequirements({ demand }: Order, settings: TeamSettings): Requirements {
  const requested = requirementPeople(settings.approvers, settings.silentApprovers);
  const requirements = demand.requirements.map((requirement) =>
    requirement.rule.kind === 'rule' || requirement.rule.kind === 'environment'
      ? requirement
      : { ...requirement, ...requested },
  );
  return { ...demand, requirements: mergeRequirements(requirements) };
}

export interface CurrentRequirements {
  readonly settings: TeamSettings;
  /** The requirements at the request, combined with the current ones. */
  readonly demand: Requirements;
  readonly requested: Requirements;
  readonly policyVersion: number;
  readonly decidedBy: readonly RuleReference[];
  /** It needs more than at the request. */
  readonly isStricter: boolean;
}

/** The stricter of a pending order's requirements at the request and now. */
export async function currentRequirements(
  deps: RequirementSources,
  order: Order,
): Promise<CurrentRequirements> {
  const now = await evaluateOrder(deps, decidedOrder(order));
  const { settings, policyVersion, decidedBy } = now;
  const requested = requestedRequirements(order, settings);
  const demand = mergeStricter(requested, now.demand);
  const before = new Set(requested.requirements.map(requirementKey));
  const isStricter =
    demand.outcome !== requested.outcome ||
    demand.requirements.some((requirement) => !before.has(requirementKey(requirement)));
  return { settings, demand, requested, policyVersion, decidedBy, isStricter };
}

/** Reads an order's requirements. Only pending orders are evaluated again. */
export async function readRequirements(deps: RequirementSources, order: Order): Promise<CurrentRequirements> {
  if (isWaiting(order) || waitsForScheduledTime(order)) return currentRequirements(deps, order);
  const settings = taskSettings(order, await deps.loadSettings());
  const requested = requestedRequirements(order, settings);
  const { policyVersion } = order;
  return { settings, demand: requested, requested, policyVersion, decidedBy: [], isStricter: false };
}

/** Whether an order waits for people to approve or resume it. */
export function isWaiting(order: Order): boolean {
  return order.state === 'PENDING' || isPaused(order);
}

/** The requirements whose approvers decide. If no approval was needed, the settings' approvers decide. */
export function deciders(
  { requirements }: Requirements,
  settings: TeamSettings,
  order: Order,
  also?: 'general',
): readonly Requirement[] {
  if (requirements.length > 0 && also === undefined) return requirements;
  const names = order.items.map(({ name }) => name);
  return [...requirements, defaultRequirement(settings, names)];
}

/** If a rule refuses the order now, people who could approve it at the request may deny it. */
export function decidersNow(
  { demand, requested, settings }: CurrentRequirements,
  order: Order,
  also?: 'general',
): readonly Requirement[] {
  return deciders(demand.requirements.length > 0 ? demand : requested, settings, order, also);
}

export function minimumApprovals(demand: Requirements, settings: TeamSettings): number {
  return demand.outcome === 'approve'
    ? Math.max(1, ...demand.requirements.map(({ needed }) => needed))
    : settings.approvalsRequired;
}
