import type { z } from 'zod';
import { removeDuplicates } from '../lib/collections.ts';
import type { Amount } from '../money/amount.ts';
import { matchPatterns, type NamePatterns, splitPatterns } from './name-patterns.ts';
import {
  findSilentIds,
  isGroupId,
  mergeApprovers,
  type Policy,
  type PolicyRule,
  type RuleReference,
} from './policy.ts';
import type { storedRequirementSchema, storedRequirementsSchema } from './stored-requirements.ts';
import { type AffectedName, findAffectedTags, type NameKind, toAffectedName } from './subject.ts';

/**
 * Each name is evaluated separately, and an order must meet the requirements of all its names. If facts are
 * unknown and a rule might match, the result is stricter: a `free` rule is skipped, a `refuse` rule applies.
 * An `approve` rule also applies, but so does the next match. An unknown price counts as above any amount.
 */

/** Settings that apply if no policy rule decides, or if a rule has no value of its own. */
export interface PolicySettings {
  readonly approvalTasks: readonly string[];
  /** Ids of people and groups. */
  readonly approvers: readonly string[];
  /** Approvers who are never notified. */
  readonly silentApprovers: readonly string[];
  readonly approvalsRequired: number;
  readonly ttlMs: number;
  readonly remindAfterMs: number;
  readonly escalateAfterMs: number;
  /** Ids of people and groups; empty for the admins. */
  readonly escalateTo: readonly string[];
  readonly signed: boolean;
}

export interface PolicyOrder {
  readonly task: string;
  readonly names: readonly string[];
  readonly requester: string;
  /** Only approved orders may use the team's account. */
  readonly usesTeamAccount: boolean;
}

/** Facts without an entry in their map are unknown. */
export interface PolicyFacts {
  readonly task: {
    readonly effect: 'read' | 'write' | 'charge';
    readonly risk: 'none' | 'loses_name' | 'takes_down';
    readonly nameKind: NameKind;
  };
  /** Keyed by affected host. */
  readonly tags: ReadonlyMap<string, readonly string[]>;
  readonly groupMembers: ReadonlyMap<string, ReadonlySet<string>>;
  /** Keyed by name. Zero if the task is known to be free. */
  readonly prices: ReadonlyMap<string, Amount>;
}

export type UnknownFact =
  | { readonly kind: 'group'; readonly group: string }
  | { readonly kind: 'tags'; readonly name: string }
  /** The price is missing, or its currency isn't the rule's. */
  | { readonly kind: 'price'; readonly name: string };

/** In evaluation order. */
export const RULE_CONDITIONS = ['tasks', 'by', 'over', 'names'] as const;
export type RuleCondition = (typeof RULE_CONDITIONS)[number];

export interface SkippedRule {
  readonly rule: RuleReference;
  /** The first condition that failed; `unknown` for a `free` rule that might match. */
  readonly reason: RuleCondition | 'unknown';
  readonly unknowns: readonly UnknownFact[];
}

export interface DecidingRule {
  readonly rule: RuleReference;
  /** Unknown facts that made the result stricter. */
  readonly unknowns: readonly UnknownFact[];
}

export interface NameEvaluation {
  readonly name: string;
  /** Contains several rules only if facts are unknown. */
  readonly decidingRules: readonly DecidingRule[];
  /** Rules before the last deciding rule, in order. */
  readonly skippedRules: readonly SkippedRule[];
}

export type Requirements = Readonly<z.output<typeof storedRequirementsSchema>>;
/** One of an order's requirements. The order must meet all of them. */
export type Requirement = Readonly<z.output<typeof storedRequirementSchema>>;

export interface PolicyEvaluation {
  readonly requirements: Requirements;
  readonly nameEvaluations: readonly NameEvaluation[];
  /** Without duplicates. */
  readonly unknowns: readonly UnknownFact[];
}

/** A list contains the unknown facts that decide whether the rule matches. */
type MatchResult = 'yes' | 'no' | readonly UnknownFact[];

/** A rule, with the results of the conditions that don't depend on the name. */
interface CandidateRule {
  readonly rule: PolicyRule;
  readonly reference: RuleReference;
  /** Set if the rule can't match any name. */
  readonly mismatch: SkippedRule | undefined;
  readonly requesterMatch: MatchResult;
  readonly amountMatch: MatchResult;
  readonly namePatterns: NamePatterns;
  /** Shared by all names that the rule doesn't match. */
  readonly nameMismatch: SkippedRule;
}

interface NameWithTags extends AffectedName {
  readonly tags: readonly string[] | undefined;
}

/** A rule that requires approval (or the settings, if no rule decides), and the names that it applies to. */
interface RequirementSource {
  readonly reference: RuleReference;
  readonly rule: Omit<PolicyRule, 'name' | 'tasks' | 'names' | 'by' | 'over' | 'decision'>;
  readonly names: string[];
}

/** Collects the requirements of the names evaluated so far. */
interface RequirementCollector {
  readonly sources: Map<RequirementSource['rule'], RequirementSource>;
  readonly refusingRules: Map<PolicyRule, RuleReference>;
  /** Whether the order needs approval regardless of unknown facts. */
  isApprovalCertain: boolean;
}

export function evaluatePolicy(
  policy: Policy,
  settings: PolicySettings,
  order: PolicyOrder,
  facts: PolicyFacts,
): PolicyEvaluation {
  // An order without names would need no approval. An empty name makes rules for all names apply.
  const names = order.names.length === 0 ? [''] : [...new Set(order.names)];
  const totals = new Map<string, OrderTotal>();
  const getTotal = (currency: string): OrderTotal => {
    const total = totals.get(currency) ?? computeTotal(order.names, facts.prices, currency);
    totals.set(currency, total);
    return total;
  };
  const candidates = policy.rules.map((rule, index): CandidateRule => {
    const reference: RuleReference = { kind: 'rule', version: policy.version, index, name: rule.name };
    return toCandidate(rule, reference, {
      tasks: matchesTask(rule, order.task, facts.task) ? 'yes' : 'no',
      by: matchRequester(rule, order.requester, facts.groupMembers),
      over: matchAmount(rule, getTotal),
    });
  });
  const settingsRule = {
    ...toSettingsRequirement(settings),
    ttlMs: undefined,
    remindAfterMs: undefined,
    escalateAfterMs: undefined,
    escalateTo: [],
    breakGlass: false,
  };
  const collector: RequirementCollector = {
    sources: new Map(),
    refusingRules: new Map(),
    isApprovalCertain: false,
  };
  const evaluations = names.map((name) => {
    const affectedName = toAffectedName(name, facts.task.nameKind);
    const nameWithTags = { ...affectedName, tags: findAffectedTags(affectedName, facts.tags) };
    const { isUndecided, ...decision } = decideName(candidates, nameWithTags, collector);
    if (!isUndecided) return { name, ...decision };
    const needsApproval = settings.approvalTasks.includes(order.task);
    const reference: RuleReference = { kind: needsApproval ? 'approval_tasks' : 'rest' };
    if (needsApproval) {
      addRequirementSource(collector, settingsRule, reference, name);
      collector.isApprovalCertain ||= !canBeFree(decision.skippedRules);
    }
    return {
      name,
      ...decision,
      decidingRules: [...decision.decidingRules, { rule: reference, unknowns: [] }],
    };
  });
  if (order.usesTeamAccount && !collector.isApprovalCertain) {
    for (const name of names) addRequirementSource(collector, settingsRule, { kind: 'team_account' }, name);
  }
  return {
    requirements: buildRequirements(collector, settings),
    nameEvaluations: evaluations,
    unknowns: removeDuplicates(
      evaluations
        // Filtering first is faster, because nearly all skipped rules have no unknown facts.
        .flatMap((evaluation) => [
          ...evaluation.decidingRules,
          ...evaluation.skippedRules.filter(({ unknowns }) => unknowns.length > 0),
        ])
        .flatMap(({ unknowns }) => unknowns),
    ),
  };
}

interface NameDecision extends Omit<NameEvaluation, 'name'> {
  /** Whether no rule is certain to decide. */
  readonly isUndecided: boolean;
}

function decideName(
  candidates: readonly CandidateRule[],
  name: NameWithTags,
  collector: RequirementCollector,
): NameDecision {
  const decidingRules: DecidingRule[] = [];
  const skippedRules: SkippedRule[] = [];
  for (const candidate of candidates) {
    const { rule, reference } = candidate;
    if (candidate.mismatch !== undefined) {
      skippedRules.push(candidate.mismatch);
      continue;
    }
    const nameMatch = matchName(candidate, name);
    if (nameMatch === 'no') {
      skippedRules.push(candidate.nameMismatch);
      continue;
    }
    const matchUnknowns = [nameMatch, candidate.requesterMatch].flatMap((match) =>
      typeof match === 'string' ? [] : match,
    );
    const missingPrices = typeof candidate.amountMatch === 'string' ? [] : candidate.amountMatch;
    const unknowns = [...matchUnknowns, ...missingPrices];
    if (rule.decision === 'free' && unknowns.length > 0) {
      skippedRules.push({ rule: reference, reason: 'unknown', unknowns });
      continue;
    }
    decidingRules.push({ rule: reference, unknowns });
    if (rule.decision === 'approve') addRequirementSource(collector, rule, reference, name.name);
    if (rule.decision === 'refuse') collector.refusingRules.set(rule, reference);
    // A refusal overrides the rules below it.
    if (rule.decision === 'refuse') return { decidingRules, skippedRules, isUndecided: false };
    if (matchUnknowns.length > 0) continue;
    if (rule.decision === 'approve') collector.isApprovalCertain ||= !canBeFree(skippedRules);
    return { decidingRules, skippedRules, isUndecided: false };
  }
  return { decidingRules, skippedRules, isUndecided: true };
}

/** Whether a skipped `free` rule might match. The name would then need no approval. */
function canBeFree(skippedRules: readonly SkippedRule[]): boolean {
  return skippedRules.some(({ reason }) => reason === 'unknown');
}

/** Results of the conditions that don't depend on the name. */
type OrderMatch = Readonly<Record<'tasks' | 'by' | 'over', MatchResult>>;

function toCandidate(
  rule: PolicyRule,
  reference: RuleReference,
  conditionResults: OrderMatch,
): CandidateRule {
  const toSkippedRule = (reason: RuleCondition): SkippedRule => ({ rule: reference, reason, unknowns: [] });
  const failedCondition = (['tasks', 'by', 'over'] as const).find(
    (condition) => conditionResults[condition] === 'no',
  );
  return {
    rule,
    reference,
    mismatch: failedCondition && toSkippedRule(failedCondition),
    requesterMatch: conditionResults.by,
    amountMatch: conditionResults.over,
    namePatterns: splitPatterns(rule.names),
    nameMismatch: toSkippedRule('names'),
  };
}

export type TaskRisk = Pick<PolicyFacts['task'], 'effect' | 'risk'>;

export function matchesTask(rule: PolicyRule, task: string, { effect, risk }: TaskRisk): boolean {
  return rule.tasks.some(
    (selector) =>
      selector === task ||
      selector === 'all' ||
      (selector === 'charge' && effect === 'charge') ||
      (selector === 'risk' && risk !== 'none'),
  );
}

function matchName({ namePatterns }: CandidateRule, name: NameWithTags): MatchResult {
  const match = matchPatterns(namePatterns, name, name.tags);
  return match === 'unknown' ? [{ kind: 'tags', name: name.name }] : match;
}

function matchRequester(
  rule: PolicyRule,
  requester: string,
  groups: PolicyFacts['groupMembers'],
): MatchResult {
  if (rule.by.length === 0 || rule.by.includes(requester)) return 'yes';
  const unknowns: UnknownFact[] = [];
  for (const id of rule.by) {
    const members = groups.get(id);
    if (members?.has(requester) === true) return 'yes';
    if (members === undefined && isGroupId(id)) unknowns.push({ kind: 'group', group: id });
  }
  return unknowns.length === 0 ? 'no' : unknowns;
}

function matchAmount({ over }: PolicyRule, getTotal: (currency: string) => OrderTotal): MatchResult {
  if (over === undefined) return 'yes';
  const { minor, unknowns } = getTotal(over.currency);
  if (minor > over.minor) return 'yes';
  return unknowns.length === 0 ? 'no' : unknowns;
}

/** The sum of an order's known prices in one currency. */
interface OrderTotal {
  readonly minor: number;
  readonly unknowns: readonly UnknownFact[];
}

function computeTotal(names: readonly string[], prices: PolicyFacts['prices'], currency: string): OrderTotal {
  const unknowns: UnknownFact[] = [];
  let minor = 0;
  for (const name of new Set(names)) {
    const price = prices.get(name);
    if (price?.currency === currency && Number.isSafeInteger(price.minor) && price.minor >= 0) {
      minor += price.minor;
    } else unknowns.push({ kind: 'price', name });
  }
  return { minor, unknowns };
}

export function toSettingsRequirement({
  approvers,
  silentApprovers,
  approvalsRequired,
  signed,
}: Pick<PolicySettings, 'approvers' | 'silentApprovers' | 'approvalsRequired' | 'signed'>) {
  return { ...mergeApprovers(approvers, silentApprovers), needed: approvalsRequired, signed };
}

function addRequirementSource(
  { sources }: RequirementCollector,
  rule: RequirementSource['rule'],
  reference: RuleReference,
  name: string,
): void {
  const source = sources.get(rule);
  if (source === undefined) sources.set(rule, { reference, rule, names: [name] });
  else source.names.push(name);
}

function buildRequirements(
  { sources, refusingRules }: RequirementCollector,
  settings: PolicySettings,
): Requirements {
  const ruleRequirements = [...sources.values()].map(({ reference, rule, names }) => {
    const escalateTo = rule.escalateTo.length > 0 ? rule.escalateTo : settings.escalateTo;
    const { signed } = rule;
    const people = mergeApprovers(rule.approvers, rule.silent);
    return {
      list: [{ rule: reference, names, needed: Math.max(1, rule.needed), ...people, signed }],
      ttlMs: rule.ttlMs ?? settings.ttlMs,
      remindAfterMs: rule.remindAfterMs ?? settings.remindAfterMs,
      escalateAfterMs: rule.escalateAfterMs ?? settings.escalateAfterMs,
      escalateTo,
      escalateToAdmins: escalateTo.length === 0,
      // Break glass can't replace a signature.
      breakGlass: rule.breakGlass && !signed,
    };
  });
  return combineRequirements([...refusingRules.values()], ruleRequirements, [settings]);
}

/** Combines an order's original requirements with the current ones. Approvals must meet both. */
export function requireBoth(a: Requirements, b: Requirements): Requirements {
  const approvalRequirements = [a, b].filter(({ outcome }) => outcome === 'approve');
  const combined = combineRequirements([...a.refusedBy, ...b.refusedBy], approvalRequirements, [a, b]);
  return { ...combined, list: mergeRequirements(combined.list) };
}

/** Merges requirements with the same approvers into one, which is as strict as the strictest. */
export function mergeRequirements(requirements: readonly Requirement[]): readonly Requirement[] {
  const strictest = new Map<string, Requirement>();
  for (const requirement of requirements) {
    const peopleKey = formatRequirementKey({ needed: 0, approvers: requirement.approvers, signed: false });
    const previous = strictest.get(peopleKey);
    const names = [...new Set([...(previous?.names ?? []), ...requirement.names])];
    const stricter = previous === undefined || previous.needed < requirement.needed ? requirement : previous;
    const mergedRequirements = previous === undefined ? [requirement] : [previous, requirement];
    const signed = mergedRequirements.some((one) => one.signed);
    strictest.set(peopleKey, {
      ...stricter,
      ...mergeApprovers(stricter.approvers, findSilentIds(mergedRequirements)),
      names,
      signed,
    });
  }
  return [...strictest.values()];
}

type ApprovalDurations = Pick<Requirements, 'ttlMs' | 'remindAfterMs' | 'escalateAfterMs'>;

/** @param defaults durations that apply if nothing requires approval */
function combineRequirements(
  refusedBy: Requirements['refusedBy'],
  approvalRequirements: readonly Omit<Requirements, 'outcome' | 'refusedBy'>[],
  defaults: readonly ApprovalDurations[],
): Requirements {
  const isRefused = refusedBy.length > 0;
  const combined = isRefused ? [] : approvalRequirements;
  const findShortest = (field: keyof ApprovalDurations) =>
    Math.min(...(combined.length > 0 ? combined : defaults).map((durations) => durations[field]));
  return {
    outcome: isRefused ? 'refuse' : combined.length > 0 ? 'approve' : 'free',
    list: combined.flatMap(({ list }) => list),
    refusedBy,
    ttlMs: findShortest('ttlMs'),
    remindAfterMs: findShortest('remindAfterMs'),
    escalateAfterMs: findShortest('escalateAfterMs'),
    escalateTo: [...new Set(combined.flatMap(({ escalateTo }) => escalateTo))],
    escalateToAdmins: combined.some(({ escalateToAdmins }) => escalateToAdmins),
    breakGlass: combined.length > 0 && combined.every(({ breakGlass }) => breakGlass),
  };
}

/** The key is the same for requirements that differ only in rules, names and silent approvers. */
export function formatRequirementKey({
  needed,
  approvers,
  signed,
}: Pick<Requirement, 'needed' | 'approvers' | 'signed'>): string {
  return JSON.stringify([needed, signed, [...new Set(approvers)].sort()]);
}
