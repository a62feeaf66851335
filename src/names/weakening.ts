import {
  buildDefaultRequirement,
  buildEnvironmentRequirement,
  toPolicyQuery,
  toPolicySettings,
} from '../approvals/requirements.ts';
import type { TeamSettings } from '../config/environment.ts';
import { iterateSlices } from '../lib/collections.ts';
import { type ActiveMandate, coversName } from '../mandates/mandate.ts';
import { ORDER_TASK_NAMES } from '../orders/order.ts';
import {
  evaluatePolicy,
  formatRequirementKey,
  mergeRequirements,
  type PolicyFacts,
  type Requirement,
  type Requirements,
} from '../policy/evaluate.ts';
import { matchPatterns, splitPatterns } from '../policy/name-patterns.ts';
import {
  type EffectivePolicy,
  findNotifiedIds,
  findSilentIds,
  isGroupId,
  mergeApprovers,
  type PolicyRule,
} from '../policy/policy.ts';
import { toAffectedName } from '../policy/subject.ts';
import { type ChangedName, GUARDED_TAG } from './portfolio.ts';

/** Finds changes that weaken the protection of names, and determines who must confirm them. */

export interface Protection {
  readonly settings: TeamSettings;
  readonly policy: EffectivePolicy;
  readonly budgetTags: ReadonlySet<string>;
  readonly mandates: readonly ActiveMandate[];
  /** Tags of the parent domains, by domain. Rules also match these tags. */
  readonly parentTags: ReadonlyMap<string, readonly string[]>;
  /** Names with an open incident or an open order. */
  readonly busyNames: ReadonlySet<string>;
}

/** Changes that may be written. Only this module creates instances. */
class AllowedChanges {
  readonly #changes: readonly ChangedName[];
  constructor(changes: readonly ChangedName[]) {
    this.#changes = changes;
  }
  get changes(): readonly ChangedName[] {
    return this.#changes;
  }
}

export type { AllowedChanges };

/** Separates changes that take effect immediately from those that need confirmation. */
export async function separateChanges(
  changes: readonly ChangedName[],
  proposer: string,
  protection: Protection,
): Promise<{ readonly allowed: AllowedChanges; readonly changesToConfirm: readonly ChangedName[] }> {
  const findRequirements = createRequirementFinder(protection);
  const [allowedChanges, changesToConfirm]: [ChangedName[], ChangedName[]] = [[], []];
  for await (const slice of iterateSlices(changes))
    for (const change of slice)
      (findRequirements(change, proposer) === undefined ? allowedChanges : changesToConfirm).push(change);
  return { allowed: new AllowedChanges(allowedChanges), changesToConfirm };
}

/** Merges the requirements of several changes. */
export async function mergeAllRequirements(
  changes: readonly ChangedName[],
  proposer: string,
  protection: Protection,
): Promise<readonly Requirement[]> {
  const findRequirements = createRequirementFinder(protection);
  let mergedRequirements: readonly Requirement[] = [];
  for await (const slice of iterateSlices(changes)) {
    const addedRequirements = slice.flatMap((change) => findRequirements(change, proposer) ?? []);
    mergedRequirements = mergeRequirements([...mergedRequirements, ...addedRequirements]);
  }
  // A change that weakened protection when it was proposed still needs another person.
  return addEnvironmentRequirement(
    mergedRequirements,
    protection,
    changes.map(({ name }) => name),
  );
}

/** Returns the requirements of a change; undefined if it doesn't weaken protection. */
export type RequirementFinder = (change: ChangedName, proposer: string) => readonly Requirement[] | undefined;

/** Creates a {@link RequirementFinder} that can be called for many changes. */
export function createRequirementFinder(protection: Protection): RequirementFinder {
  const { policy, budgetTags, mandates } = protection;
  const ruleTags = new Set(policy.tags);
  const evaluateChange = createEffectEvaluator(protection, ruleTags);

  return (requestedChange, proposer) => {
    // A lapsing name gets no reminders, like a name that isn't watched.
    const isLapse = requestedChange.decision?.kind === 'lapse_confirmed';
    const change = isLapse ? { ...requestedChange, after: undefined } : requestedChange;
    const { name, before, after, date } = change;
    const ownTagsAfter = after?.tags ?? [];
    const removedTags = before.tags.filter((tag) => !ownTagsAfter.includes(tag));
    const addedTags = ownTagsAfter.filter((tag) => !before.tags.includes(tag));
    const changedTags = [...removedTags, ...addedTags];
    const effect =
      after === undefined || changedTags.some((tag) => ruleTags.has(tag))
        ? evaluateChange(change)
        : { isWeaker: false, isCovered: false, requirements: [] };
    const tagsBefore = listTagsBefore(change, protection);
    const affectedMandates = mandates.filter(
      ({ mandate }) =>
        changedTags.some((tag) => mandate.patterns.tags.includes(tag)) ||
        (after === undefined && coversName(mandate, name, tagsBefore)),
    );
    const isWeakening =
      affectedMandates.length > 0 ||
      (!isLapse && changedTags.some((tag) => budgetTags.has(tag))) ||
      removedTags.some((tag) => tag === GUARDED_TAG || ruleTags.has(tag)) ||
      (addedTags.length > 0 && effect.isWeaker) ||
      (after === undefined && (effect.isCovered || protection.busyNames.has(name))) ||
      isLaterThanOtherPersonsDate(date, proposer);
    if (!isWeakening) return undefined;
    const requirements = mergeRequirements([
      ...effect.requirements,
      ...affectedMandates.map((mandate) => buildMandateRequirement(mandate, protection, name)),
    ]);
    return addEnvironmentRequirement(requirements, protection, [name]);
  };
}

/** Requires at least one approver and, like orders, a signature if there is no valid charter. */
function addEnvironmentRequirement(
  requirements: readonly Requirement[],
  protection: Protection,
  names: readonly string[],
): readonly Requirement[] {
  const environmentRequirement = buildEnvironmentRequirement(protection.policy, names);
  if (requirements.length === 0)
    return [environmentRequirement ?? buildAnyApproverRequirement(protection, names)];
  return environmentRequirement === undefined
    ? requirements
    : mergeRequirements([...requirements, environmentRequirement]);
}

/** Requires one approver other than the requester. */
function buildAnyApproverRequirement(
  { settings, policy }: Protection,
  names: readonly string[],
): Requirement {
  return { ...buildDefaultRequirement(settings, names), needed: 1, signed: policy.isCharterMissing };
}

/** Requires one person who could approve the mandate. */
function buildMandateRequirement(
  { order }: ActiveMandate,
  protection: Protection,
  name: string,
): Requirement {
  const ruleRequirements = order.requirements.list.filter(({ rule }) => rule.kind === 'rule');
  const [first] = ruleRequirements;
  if (first === undefined) return buildAnyApproverRequirement(protection, [name]);
  const signed = ruleRequirements.every((requirement) => requirement.signed);
  return {
    ...first,
    names: [name],
    ...mergeApprovers(findNotifiedIds(ruleRequirements), findSilentIds(ruleRequirements)),
    needed: 1,
    signed,
  };
}

function isLaterThanOtherPersonsDate(date: ChangedName['date'], proposer: string): boolean {
  if (date?.before === undefined) return false;
  return date.after > date.before.at && date.before.by !== proposer;
}

function listTagsBefore({ name, before }: ChangedName, { parentTags }: Protection): readonly string[] {
  const parents = toAffectedName(name, 'host').hosts.filter((host) => host !== name);
  return [...new Set([...before.tags, ...parents.flatMap((host) => parentTags.get(host) ?? [])])];
}

/** How a change of tags, or removal from the watch list, affects the rules that apply to a name. */
interface RuleEffect {
  /** Whether an order may need less approval than before. */
  readonly isWeaker: boolean;
  /** Whether a rule that requires approvers or refuses orders applied to the name before. */
  readonly isCovered: boolean;
  readonly requirements: readonly Requirement[];
}

/** Evaluates an effect once for all names that match the same rules before and after the change. */
function createEffectEvaluator(
  protection: Protection,
  ruleTags: ReadonlySet<string>,
): (change: ChangedName) => RuleEffect {
  const cache = new Map<string, RuleEffect>();
  const { rules } = protection.policy;
  const patterns = rules.map(({ names }) => splitPatterns(names));
  return (change) => {
    const { name, before, after } = change;
    const tagsBefore = listTagsBefore(change, protection);
    const inheritedTags = tagsBefore.filter((tag) => !before.tags.includes(tag));
    const keepRuleTags = (tags: readonly string[]) => tags.filter((tag) => ruleTags.has(tag)).toSorted();
    const relevantTagsBefore = keepRuleTags(tagsBefore);
    const relevantTagsAfter = keepRuleTags([...inheritedTags, ...(after?.tags ?? [])]);
    const affectedName = toAffectedName(name, 'host');
    const matchRules = (tags: readonly string[]) =>
      patterns.map((namePatterns) => matchPatterns(namePatterns, affectedName, tags) === 'yes');
    const [ruleMatchesBefore, ruleMatchesAfter] = [
      matchRules(relevantTagsBefore),
      matchRules(relevantTagsAfter),
    ];
    const key = JSON.stringify([ruleMatchesBefore, ruleMatchesAfter, after === undefined]);
    const effect =
      cache.get(key) ??
      evaluateEffect(protection, {
        name,
        tagsBefore: relevantTagsBefore,
        tagsAfter: relevantTagsAfter,
        ruleMatchesBefore,
        ruleMatchesAfter,
        isUnwatched: after === undefined,
      });
    cache.set(key, effect);
    const requirements = effect.requirements.map((requirement) => ({ ...requirement, names: [name] }));
    return { ...effect, requirements };
  };
}

interface EffectInput {
  readonly name: string;
  readonly tagsBefore: readonly string[];
  readonly tagsAfter: readonly string[];
  readonly ruleMatchesBefore: readonly boolean[];
  readonly ruleMatchesAfter: readonly boolean[];
  readonly isUnwatched: boolean;
}

function evaluateEffect(protection: Protection, input: EffectInput): RuleEffect {
  const { rules } = protection.policy;
  const affectedRules = rules.filter(
    (_, index) => input.ruleMatchesBefore[index] || input.ruleMatchesAfter[index],
  );
  const isCovered = rules.some(
    ({ decision }, index) => input.ruleMatchesBefore[index] && decision !== 'free',
  );
  const requirements: Requirement[] = [];
  let isWeaker = false;
  for (const scenario of listScenarios(affectedRules)) {
    const before = evaluateScenario(protection, input.name, input.tagsBefore, scenario);
    const after = evaluateScenario(protection, input.name, input.tagsAfter, scenario);
    const hasSameRequirements = getRequirementsKey(before) === getRequirementsKey(after);
    if (!hasSameRequirements) requirements.push(...before.list, ...after.list);
    else if (input.isUnwatched) requirements.push(...before.list.filter(({ rule }) => rule.kind === 'rule'));
    isWeaker ||= needsLess(before, after);
  }
  // The requirements from the settings apply only if no rule does.
  const ruleRequirements = requirements.filter(({ rule }) => rule.kind === 'rule');
  return {
    isWeaker,
    isCovered,
    requirements: mergeRequirements(ruleRequirements.length > 0 ? ruleRequirements : requirements),
  };
}

/** A possible order for a name. */
interface Scenario {
  readonly task: (typeof ORDER_TASK_NAMES)[number];
  readonly requester: string;
  readonly price: PolicyRule['over'];
}

/**
 * It is enough to try each requester that a rule names, and two prices for each limit (`over`): the limit and
 * one minor unit above it. Rules don't distinguish other prices.
 */
function listScenarios(rules: readonly PolicyRule[]): readonly Scenario[] {
  const requesters = [...new Set(['', ...rules.flatMap(({ by }) => by)])];
  const thresholds = rules.flatMap(({ over }) => over ?? []);
  const prices = [
    undefined,
    ...thresholds.flatMap((threshold) => [threshold, { ...threshold, minor: threshold.minor + 1 }]),
  ];
  return ORDER_TASK_NAMES.flatMap((task) =>
    requesters.flatMap((requester) => prices.map((price) => ({ task, requester, price }))),
  );
}

function evaluateScenario(
  { settings, policy }: Protection,
  name: string,
  tags: readonly string[],
  { task, requester, price }: Scenario,
): Requirements {
  const order = { task, names: [name], requesterId: requester, input: undefined, usesTeamAccount: false };
  const { hosts } = toAffectedName(name, 'host');
  const groupIds = policy.rules.flatMap(({ by }) => by.filter(isGroupId));
  const facts: PolicyFacts = {
    task: toPolicyQuery(order).taskFacts,
    tags: new Map(hosts.map((host) => [host, tags])),
    groupMembers: new Map(groupIds.map((id) => [id, new Set([id])])),
    prices: new Map(price === undefined ? [] : [[name, price]]),
  };
  const policySettings = toPolicySettings(settings, policy);
  return evaluatePolicy(policy, policySettings, { ...order, requester }, facts).requirements;
}

function getRequirementsKey({ outcome, list }: Requirements): string {
  return JSON.stringify([outcome, list.map(formatRequirementKey).toSorted()]);
}

const STRICTNESS = { free: 0, approve: 1, refuse: 2 } as const;

/** Whether something that was required before is no longer required. */
function needsLess(before: Requirements, after: Requirements): boolean {
  if (before.outcome !== after.outcome) return STRICTNESS[after.outcome] < STRICTNESS[before.outcome];
  const isStillRequired = (old: Requirement) =>
    after.list.some((current) => {
      if (current.needed < old.needed || (old.signed && !current.signed)) return false;
      const needsMore = current.needed > old.needed || (current.signed && !old.signed);
      // Any requirement may replace one from the settings. A rule's requirement must not gain approvers.
      if (needsMore || old.rule.kind !== 'rule') return true;
      return current.approvers.every((id) => old.approvers.includes(id));
    });
  return !before.list.every(isStillRequired);
}
