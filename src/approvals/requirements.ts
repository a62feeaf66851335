import type { TeamSettings } from '../config/environment.ts';
import { removeDuplicates } from '../lib/collections.ts';
import { isPaused } from '../orders/bulk/waves.ts';
import { isWaitingForChosenTime, type Order, type OrderTaskName } from '../orders/order.ts';
import type { Directory, RuleFacts } from '../orders/ports.ts';
import { findTask } from '../orders/tasks.ts';
import {
  evaluatePolicy,
  formatRequirementKey,
  matchesTask,
  mergeRequirements,
  mergeStricter,
  type PolicyEvaluation,
  type PolicyFacts,
  type PolicySettings,
  type Requirement,
  type Requirements,
  toSettingsRequirement,
} from '../policy/evaluate.ts';
import {
  type EffectivePolicy,
  getSignedVersion,
  mergeApprovers,
  needsSignatures,
  type RuleReference,
} from '../policy/policy.ts';
import type { EffectivePolicySource } from '../policy/ports.ts';
import { type FactOrder, loadRuleFacts } from '../policy/rule-facts.ts';

/** An order's requirements under the policy and the settings, when it is requested and at each decision. */

export interface RequirementSources {
  readonly loadSettings: () => Promise<TeamSettings>;
  readonly policy: EffectivePolicySource;
  readonly directory: Directory;
  readonly ruleFacts: RuleFacts;
}

export function toPolicySettings(
  settings: TeamSettings,
  { isCharterMissing }: EffectivePolicy,
): PolicySettings {
  return {
    signed: isCharterMissing,
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

/** An order as input for the policy. */
export interface EvaluationInput {
  readonly task: Order['task'];
  readonly names: readonly string[];
  readonly requesterId: string;
  readonly input: unknown;
  /** The order uses the team's account, which needs approval. */
  readonly usesTeamAccount: boolean;
  /** The mandate doesn't cover the order, so a person must approve it. */
  readonly isHeld?: boolean;
}

export function toEvaluationInput({ task, items, requesterId, input, account }: Order): EvaluationInput {
  const names = items.map(({ name }) => name);
  return { task, names, requesterId, input, usesTeamAccount: account.isTeamAccount ?? false };
}

export interface EvaluatedOrder {
  readonly settings: TeamSettings;
  readonly policyVersion: number;
  readonly requirements: Requirements;
  readonly decidedBy: readonly RuleReference[];
}

/** Evaluates an order's current requirements. In Slack, looks up only the requester groups that rules name. */
export async function evaluateOrder(
  deps: RequirementSources,
  order: EvaluationInput,
): Promise<EvaluatedOrder> {
  const [queries, teamSettings, policy] = await Promise.all([
    buildPolicyQueries(deps, order),
    deps.loadSettings(),
    deps.policy.current(),
  ]);
  const settings = getTaskSettings(order, teamSettings);
  const evaluations = await Promise.all(
    queries.map(async (query) =>
      evaluateWithEnvironment(policy, settings, query, await loadRuleFacts(deps, policy.rules, query)),
    ),
  );
  const byRules = evaluations.map(({ requirements }) => requirements).reduce(mergeStricter);
  const needsOtherApprover = order.task === 'mandate' || order.isHeld === true;
  const requirements = needsOtherApprover ? requireOtherApprover(byRules, settings, policy, order) : byRules;
  const names = evaluations.flatMap((evaluation) => evaluation.names);
  return {
    settings,
    policyVersion: getSignedVersion(policy),
    requirements: { ...requirements, list: mergeRequirements(requirements.list) },
    decidedBy: removeDuplicates(names.flatMap(({ decidedBy }) => decidedBy.map(({ rule }) => rule))),
  };
}

/** Requesters can't approve their own mandates, whatever the settings allow. */
export function getTaskSettings(
  { task }: { readonly task: Order['task'] },
  settings: TeamSettings,
): TeamSettings {
  return task === 'mandate' ? { ...settings, allowSelfApproval: false } : settings;
}

/** A mandate is evaluated both as the renewal of each of its names and as a mandate. */
async function buildPolicyQueries(
  { ruleFacts }: RequirementSources,
  order: EvaluationInput,
): Promise<readonly FactOrder<OrderTaskName>[]> {
  if (order.task !== 'mandate') return [toFactOrder(order)];
  const names = await ruleFacts.findMatchingNames(order.names);
  const renewal = { ...order, names, task: 'renew', input: { names, period: 1 } } as const;
  return [toFactOrder(renewal), toFactOrder({ ...order, names })];
}

/**
 * Adds at least one approval by the approvers in the settings. A mandate is never an emergency, and its names are its
 * patterns.
 */
function requireOtherApprover(
  requirements: Requirements,
  settings: TeamSettings,
  { isCharterMissing }: EffectivePolicy,
  { task, names }: EvaluationInput,
): Requirements {
  if (requirements.outcome === 'refuse') return requirements;
  const isMandate = task === 'mandate';
  const stricter =
    requirements.outcome === 'approve'
      ? requirements
      : addRequirement(settings, requirements, {
          ...buildDefaultRequirement(settings, names),
          rule: { kind: 'mandate' },
          signed: isCharterMissing,
        });
  return isMandate
    ? {
        ...stricter,
        breakGlass: false,
        list: stricter.list.map((requirement) => ({ ...requirement, names })),
      }
    : stricter;
}

/** An order's requirements under a policy and, while no charter is valid, also under the environment's settings. */
export function evaluateWithEnvironment(
  policy: EffectivePolicy,
  settings: TeamSettings,
  order: FactOrder<OrderTaskName>,
  facts: PolicyFacts,
): PolicyEvaluation {
  const evaluation = evaluatePolicy(policy, toPolicySettings(settings, policy), order, facts);
  return { ...evaluation, requirements: addEnvironment(evaluation.requirements, order, settings, policy) };
}

/** While no charter is valid, the environment's settings also apply, and at least one approval must be signed. */
function addEnvironment(
  requirements: Requirements,
  { task, names }: FactOrder<OrderTaskName>,
  settings: TeamSettings,
  { charterProblem }: EffectivePolicy,
): Requirements {
  if (charterProblem === undefined) return requirements;
  const { tasks, needed, ...people } = charterProblem.environment;
  const isListed = tasks.includes(task);
  if (!isListed && needsSignatures(requirements)) return requirements;
  return mergeStricter(requirements, {
    ...addRequirement(settings, requirements, {
      rule: { kind: 'environment' },
      ...{ names, ...people, signed: true },
      needed: isListed ? needed : 1,
    }),
    refusedBy: [],
    breakGlass: false,
  });
}

/**
 * The requirements for a protected change while no charter is valid: those of a task that needs approval under the
 * environment's settings.
 */
export function buildEnvironmentRequirement(
  { charterProblem }: EffectivePolicy,
  names: readonly string[],
): Requirement | undefined {
  if (charterProblem === undefined) return undefined;
  const { tasks, needed, ...people } = charterProblem.environment;
  const rule = { kind: 'environment' } as const;
  return { rule, names, ...people, needed: tasks.length > 0 ? needed : 1, signed: true };
}

function addRequirement(
  { approvalEscalateTo: escalateTo }: TeamSettings,
  requirements: Requirements,
  requirement: Requirement,
): Requirements {
  return {
    ...requirements,
    outcome: 'approve',
    list: [requirement],
    escalateTo,
    escalateToAdmins: escalateTo.length === 0,
  };
}

/** The names of an order that the policy refuses now, each with the rules. */
export async function findRefusedNames(
  deps: RequirementSources,
  order: EvaluationInput,
): Promise<ReadonlyMap<string, readonly RuleReference[]>> {
  const [settings, policy] = await Promise.all([deps.loadSettings(), deps.policy.current()]);
  const factOrder = toFactOrder(order);
  const facts = await loadRuleFacts(deps, policy.rules, factOrder);
  const { requirements, names } = evaluateWithEnvironment(policy, settings, factOrder, facts);
  const refusing = new Set(requirements.refusedBy.map((rule) => JSON.stringify(rule)));
  return new Map(
    names.flatMap(({ name, decidedBy }) => {
      const rules = decidedBy.map(({ rule }) => rule).filter((rule) => refusing.has(JSON.stringify(rule)));
      return rules.length === 0 ? [] : [[name, rules] as const];
    }),
  );
}

/**
 * The rules that refuse a task for one name, checked before the rest of the form is filled in. Other fields can't
 * change the result, because a longer period only raises the price. If no rule refuses the task, only the policy is
 * read.
 */
export async function findRefusingRules(
  deps: RequirementSources,
  order: EvaluationInput & { readonly names: readonly [string] },
): Promise<readonly RuleReference[]> {
  const { facts } = toFactOrder(order);
  const { rules } = await deps.policy.current();
  const mayRefuse = rules.some((rule) => rule.decision === 'refuse' && matchesTask(rule, order.task, facts));
  return mayRefuse ? (await evaluateOrder(deps, order)).requirements.refusedBy : [];
}

export function toFactOrder(order: EvaluationInput): FactOrder<OrderTaskName> {
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

export function buildDefaultRequirement(settings: TeamSettings, names: readonly string[]): Requirement {
  return {
    rule: { kind: 'approval_tasks' },
    names,
    ...toSettingsRequirement({ ...settings, signed: false }),
  };
}

/** An order's requirements when it was requested. If they come from the settings, the current approvers apply. */
export function getRequestedRequirements({ requirements }: Order, settings: TeamSettings): Requirements {
  const currentApprovers = mergeApprovers(settings.approvers, settings.silentApprovers);
  const list = requirements.list.map((requirement) =>
    requirement.rule.kind === 'rule' || requirement.rule.kind === 'environment'
      ? requirement
      : { ...requirement, ...currentApprovers },
  );
  return { ...requirements, list: mergeRequirements(list) };
}

export interface CurrentEvaluation {
  readonly settings: TeamSettings;
  /** The requirements when the order was requested, combined with the current ones. */
  readonly requirements: Requirements;
  readonly requested: Requirements;
  readonly policyVersion: number;
  readonly decidedBy: readonly RuleReference[];
  /** It needs more than when it was requested. */
  readonly isStricter: boolean;
}

export async function loadCurrentEvaluation(
  deps: RequirementSources,
  order: Order,
): Promise<CurrentEvaluation> {
  const current = await evaluateOrder(deps, toEvaluationInput(order));
  const { settings, policyVersion, decidedBy } = current;
  const requested = getRequestedRequirements(order, settings);
  const requirements = mergeStricter(requested, current.requirements);
  const requestedKeys = new Set(requested.list.map(formatRequirementKey));
  const isStricter =
    requirements.outcome !== requested.outcome ||
    requirements.list.some((requirement) => !requestedKeys.has(formatRequirementKey(requirement)));
  return { settings, requirements, requested, policyVersion, decidedBy, isStricter };
}

/** Loads an order's requirements. Only orders that wait for people or for their time are evaluated again. */
export async function loadEvaluation(deps: RequirementSources, order: Order): Promise<CurrentEvaluation> {
  if (isWaiting(order) || isWaitingForChosenTime(order)) return loadCurrentEvaluation(deps, order);
  const settings = getTaskSettings(order, await deps.loadSettings());
  const requested = getRequestedRequirements(order, settings);
  const { policyVersion } = order;
  return { settings, requirements: requested, requested, policyVersion, decidedBy: [], isStricter: false };
}

/** Whether an order waits for people to approve or resume it. */
export function isWaiting(order: Order): boolean {
  return order.state === 'PENDING' || isPaused(order);
}

/** The requirements whose approvers decide. If no approval was needed, the approvers in the settings decide. */
export function findDeciders(
  { list }: Requirements,
  settings: TeamSettings,
  order: Order,
  extraDeciders?: 'general',
): readonly Requirement[] {
  if (list.length > 0 && extraDeciders === undefined) return list;
  const names = order.items.map(({ name }) => name);
  return [...list, buildDefaultRequirement(settings, names)];
}

/** If a rule refuses the order now, people who could have approved it when it was requested may deny it. */
export function findCurrentDeciders(
  { requirements, requested, settings }: CurrentEvaluation,
  order: Order,
  extraDeciders?: 'general',
): readonly Requirement[] {
  const deciding = requirements.list.length > 0 ? requirements : requested;
  return findDeciders(deciding, settings, order, extraDeciders);
}

export function computeMinimumApprovals(requirements: Requirements, settings: TeamSettings): number {
  return requirements.outcome === 'approve'
    ? Math.max(1, ...requirements.list.map(({ needed }) => needed))
    : settings.approvalsRequired;
}
