import type { TeamSettings } from '../config/environment.ts';
import { removeDuplicates } from '../lib/collections.ts';
import { isPaused } from '../orders/bulk/waves.ts';
import { isWaitingForSendTime, type Order, type OrderTaskName } from '../orders/order.ts';
import type { Directory, RuleFacts } from '../orders/ports.ts';
import { getOrderTask } from '../orders/tasks.ts';
import {
  evaluatePolicy,
  formatRequirementKey,
  matchesTask,
  mergeRequirements,
  type PolicyEvaluation,
  type PolicyFacts,
  type PolicySettings,
  type Requirement,
  type Requirements,
  requireBoth,
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
import { loadRuleFacts, type PolicyQuery } from '../policy/rule-facts.ts';

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

export interface EvaluationInput {
  readonly task: Order['task'];
  readonly names: readonly string[];
  readonly requesterId: string;
  readonly input: unknown;
  /** Orders that use the team's account need approval. */
  readonly usesTeamAccount: boolean;
  /** Whether a mandate put the renewal on hold, so that a person must approve it. */
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

export async function evaluateOrder(
  sources: RequirementSources,
  order: EvaluationInput,
): Promise<EvaluatedOrder> {
  const [queries, teamSettings, policy] = await Promise.all([
    buildPolicyQueries(sources, order),
    sources.loadSettings(),
    sources.policy.loadCurrentPolicy(),
  ]);
  const settings = getTaskSettings(order, teamSettings);
  const evaluations = await Promise.all(
    queries.map(async (query) =>
      evaluateWithEnvironment(policy, settings, query, await loadRuleFacts(sources, policy.rules, query)),
    ),
  );
  const policyRequirements = evaluations.map(({ requirements }) => requirements).reduce(requireBoth);
  const needsOtherApprover = order.task === 'mandate' || order.isHeld === true;
  const requirements = needsOtherApprover
    ? requireOtherApprover(policyRequirements, settings, policy, order)
    : policyRequirements;
  const nameEvaluations = evaluations.flatMap((evaluation) => evaluation.nameEvaluations);
  return {
    settings,
    policyVersion: getSignedVersion(policy),
    requirements: { ...requirements, list: mergeRequirements(requirements.list) },
    decidedBy: removeDuplicates(
      nameEvaluations.flatMap(({ decidingRules }) => decidingRules.map(({ rule }) => rule)),
    ),
  };
}

/** Requesters can't approve their own mandates, whatever the settings allow. */
export function getTaskSettings(
  { task }: { readonly task: Order['task'] },
  settings: TeamSettings,
): TeamSettings {
  return task === 'mandate' ? { ...settings, allowSelfApproval: false } : settings;
}

/** A mandate is evaluated both as a renewal of its names and as a mandate. */
async function buildPolicyQueries(
  { ruleFacts }: RequirementSources,
  order: EvaluationInput,
): Promise<readonly PolicyQuery<OrderTaskName>[]> {
  if (order.task !== 'mandate') return [toPolicyQuery(order)];
  const names = await ruleFacts.findMatchingNames(order.names);
  const renewal = { ...order, names, task: 'renew', input: { names, period: 1 } } as const;
  return [toPolicyQuery(renewal), toPolicyQuery({ ...order, names })];
}

/** For a mandate, break glass is never allowed, and the requirements list the mandate's name patterns. */
function requireOtherApprover(
  requirements: Requirements,
  settings: TeamSettings,
  { isCharterMissing }: EffectivePolicy,
  { task, names }: EvaluationInput,
): Requirements {
  if (requirements.outcome === 'refuse') return requirements;
  const isMandate = task === 'mandate';
  const approvalRequirements =
    requirements.outcome === 'approve'
      ? requirements
      : toApprovalRequirements(settings, requirements, {
          ...buildDefaultRequirement(settings, names),
          rule: { kind: 'mandate' },
          signed: isCharterMissing,
        });
  return isMandate
    ? {
        ...approvalRequirements,
        breakGlass: false,
        list: approvalRequirements.list.map((requirement) => ({ ...requirement, names })),
      }
    : approvalRequirements;
}

/** Evaluates the policy. While no charter is valid, the environment's settings also apply. */
export function evaluateWithEnvironment(
  policy: EffectivePolicy,
  settings: TeamSettings,
  order: PolicyQuery<OrderTaskName>,
  facts: PolicyFacts,
): PolicyEvaluation {
  const evaluation = evaluatePolicy(policy, toPolicySettings(settings, policy), order, facts);
  return {
    ...evaluation,
    requirements: addEnvironmentRequirement(evaluation.requirements, order, settings, policy),
  };
}

/** While no charter is valid, at least one approval must be signed. */
function addEnvironmentRequirement(
  requirements: Requirements,
  { task, names }: PolicyQuery<OrderTaskName>,
  settings: TeamSettings,
  { charterProblem }: EffectivePolicy,
): Requirements {
  if (charterProblem === undefined) return requirements;
  const { tasks, needed, ...environmentApprovers } = charterProblem.environment;
  const needsEnvironmentApproval = tasks.includes(task);
  if (!needsEnvironmentApproval && needsSignatures(requirements)) return requirements;
  return requireBoth(requirements, {
    ...toApprovalRequirements(settings, requirements, {
      rule: { kind: 'environment' },
      ...{ names, ...environmentApprovers, signed: true },
      needed: needsEnvironmentApproval ? needed : 1,
    }),
    refusedBy: [],
    breakGlass: false,
  });
}

/** While no charter is valid, a protected change needs the same approvals as a task in `APPROVAL_TASKS`. */
export function buildEnvironmentRequirement(
  { charterProblem }: EffectivePolicy,
  names: readonly string[],
): Requirement | undefined {
  if (charterProblem === undefined) return undefined;
  const { tasks, needed, ...environmentApprovers } = charterProblem.environment;
  const rule = { kind: 'environment' } as const;
  return { rule, names, ...environmentApprovers, needed: tasks.length > 0 ? needed : 1, signed: true };
}

function toApprovalRequirements(
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

/** Finds the names that the policy currently refuses, with the rules that refuse each name. */
export async function findRefusedNames(
  sources: RequirementSources,
  order: EvaluationInput,
): Promise<ReadonlyMap<string, readonly RuleReference[]>> {
  const [settings, policy] = await Promise.all([sources.loadSettings(), sources.policy.loadCurrentPolicy()]);
  const query = toPolicyQuery(order);
  const facts = await loadRuleFacts(sources, policy.rules, query);
  const { requirements, nameEvaluations } = evaluateWithEnvironment(policy, settings, query, facts);
  const refusingRules = new Set(requirements.refusedBy.map((rule) => JSON.stringify(rule)));
  return new Map(
    nameEvaluations.flatMap(({ name, decidingRules }) => {
      const rules = decidingRules
        .map(({ rule }) => rule)
        .filter((rule) => refusingRules.has(JSON.stringify(rule)));
      return rules.length === 0 ? [] : [[name, rules] as const];
    }),
  );
}

/**
 * Finds the rules that refuse a task for one name, before the rest of the form is filled in. The other fields can't
 * change a refusal, because a longer period only raises the price. If no rule can refuse the task, only the policy is
 * read.
 */
export async function findRefusingRules(
  sources: RequirementSources,
  order: EvaluationInput & { readonly names: readonly [string] },
): Promise<readonly RuleReference[]> {
  const { taskFacts } = toPolicyQuery(order);
  const { rules } = await sources.policy.loadCurrentPolicy();
  const mayRefuse = rules.some(
    (rule) => rule.decision === 'refuse' && matchesTask(rule, order.task, taskFacts),
  );
  return mayRefuse ? (await evaluateOrder(sources, order)).requirements.refusedBy : [];
}

export function toPolicyQuery(order: EvaluationInput): PolicyQuery<OrderTaskName> {
  const { task, names, requesterId, input, usesTeamAccount } = order;
  const { effect, risk, nameKind, findCharge } = getOrderTask(task);
  return {
    task,
    names,
    input,
    requester: requesterId,
    usesTeamAccount,
    taskFacts: { effect, risk, nameKind },
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

/** Returns the requirements at the time of the request. Requirements from the settings use the current approvers. */
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
  /** The requirements at the time of the request, combined with the current ones. */
  readonly requirements: Requirements;
  readonly requestedRequirements: Requirements;
  readonly policyVersion: number;
  readonly decidedBy: readonly RuleReference[];
  /** Whether more is required than at the time of the request. */
  readonly isStricter: boolean;
}

export async function loadCurrentEvaluation(
  sources: RequirementSources,
  order: Order,
): Promise<CurrentEvaluation> {
  const current = await evaluateOrder(sources, toEvaluationInput(order));
  const { settings, policyVersion, decidedBy } = current;
  const requestedRequirements = getRequestedRequirements(order, settings);
  const requirements = requireBoth(requestedRequirements, current.requirements);
  const requestedKeys = new Set(requestedRequirements.list.map(formatRequirementKey));
  const isStricter =
    requirements.outcome !== requestedRequirements.outcome ||
    requirements.list.some((requirement) => !requestedKeys.has(formatRequirementKey(requirement)));
  return { settings, requirements, requestedRequirements, policyVersion, decidedBy, isStricter };
}

/** Evaluates the policy again only for orders that wait for a person or for their scheduled time. */
export async function loadEvaluation(sources: RequirementSources, order: Order): Promise<CurrentEvaluation> {
  if (isWaitingForPerson(order) || isWaitingForSendTime(order)) return loadCurrentEvaluation(sources, order);
  const settings = getTaskSettings(order, await sources.loadSettings());
  const requestedRequirements = getRequestedRequirements(order, settings);
  const { policyVersion } = order;
  return {
    settings,
    requirements: requestedRequirements,
    requestedRequirements,
    policyVersion,
    decidedBy: [],
    isStricter: false,
  };
}

export function isWaitingForPerson(order: Order): boolean {
  return order.state === 'PENDING' || isPaused(order);
}

/** Adds the approvers in the settings if there are no requirements or `additionalApprovers` is `general`. */
export function listDecidingRequirements(
  { list }: Requirements,
  settings: TeamSettings,
  order: Order,
  additionalApprovers?: 'general',
): readonly Requirement[] {
  if (list.length > 0 && additionalApprovers === undefined) return list;
  const names = order.items.map(({ name }) => name);
  return [...list, buildDefaultRequirement(settings, names)];
}

/** If a rule refuses the order now, people who could have approved it when it was requested may deny it. */
export function listCurrentDecidingRequirements(
  { requirements, requestedRequirements, settings }: CurrentEvaluation,
  order: Order,
  additionalApprovers?: 'general',
): readonly Requirement[] {
  return listDecidingRequirements(
    requirements.list.length > 0 ? requirements : requestedRequirements,
    settings,
    order,
    additionalApprovers,
  );
}

export function computeMinimumApprovals(requirements: Requirements, settings: TeamSettings): number {
  return requirements.outcome === 'approve'
    ? Math.max(1, ...requirements.list.map(({ needed }) => needed))
    : settings.approvalsRequired;
}
