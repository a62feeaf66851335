import type { z } from 'zod';
import { removeDuplicates } from '../lib/collections.ts';
import type { Amount } from '../money/amount.ts';
import { matchPatterns, type NamePatterns, splitPatterns } from './name-patterns.ts';
import {
  findSilentIds,
  isGroup,
  mergeApprovers,
  type Policy,
  type PolicyRule,
  type RuleReference,
} from './policy.ts';
import type { storedRequirementSchema, storedRequirementsSchema } from './stored-requirements.ts';
import { type AffectedName, findAffectedTags, type NameKind, toAffectedName } from './subject.ts';

/**
 * Names are evaluated one by one, and the order needs everything that its names need. Unknown facts make the result
 * stricter: a `free` rule doesn't match, and a `refuse` rule does. An `approve` rule also matches, but evaluation
 * continues with the rules below it, and the order needs both. An unknown price counts as above any amount.
 */

/** Settings that apply after the rules of every policy. */
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

/** Missing entries are unknown. */
export interface PolicyFacts {
  readonly task: {
    readonly effect: 'read' | 'write' | 'charge';
    readonly risk: 'none' | 'loses_name' | 'takes_down';
    readonly nameKind: NameKind;
  };
  /** Keyed by affected host. */
  readonly tags: ReadonlyMap<string, readonly string[]>;
  readonly groups: ReadonlyMap<string, ReadonlySet<string>>;
  /** Keyed by name. Zero if the task is known to be free. */
  readonly prices: ReadonlyMap<string, Amount>;
}

export type UnknownFact =
  | { readonly kind: 'group'; readonly group: string }
  | { readonly kind: 'tags'; readonly name: string }
  /** The price is missing, or in another currency than the rule's. */
  | { readonly kind: 'price'; readonly name: string };

/** In evaluation order. */
export const RULE_CONDITIONS = ['tasks', 'by', 'over', 'names'] as const;
export type RuleCondition = (typeof RULE_CONDITIONS)[number];

export interface SkippedRule {
  readonly rule: RuleReference;
  /** The first condition that failed. `unknown`: the rule needs no approval, but it isn't known whether it matches. */
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
  readonly decidedBy: readonly DecidingRule[];
  /** Rules before the last deciding rule, in order. */
  readonly skipped: readonly SkippedRule[];
}

export type Requirements = Readonly<z.output<typeof storedRequirementsSchema>>;
/** An order must meet all its requirements. */
export type Requirement = Readonly<z.output<typeof storedRequirementSchema>>;

export interface PolicyEvaluation {
  readonly requirements: Requirements;
  readonly names: readonly NameEvaluation[];
  /** Without duplicates. */
  readonly unknowns: readonly UnknownFact[];
}

/** A list contains the unknown facts that would decide it. */
type MatchResult = 'yes' | 'no' | readonly UnknownFact[];

/** A rule, with the results of the conditions that don't depend on the name. */
interface Candidate {
  readonly rule: PolicyRule;
  readonly reference: RuleReference;
  /** Set if the rule can't match any name. */
  readonly mismatch: SkippedRule | undefined;
  readonly by: MatchResult;
  readonly over: MatchResult;
  readonly names: NamePatterns;
  /** Shared by all names that the rule doesn't match. */
  readonly nameMismatch: SkippedRule;
}

interface NameWithTags extends AffectedName {
  readonly tags: readonly string[] | undefined;
}

/** A rule, or the settings, that requires approval of these names. */
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
  isCertain: boolean;
}

export function evaluatePolicy(
  policy: Policy,
  settings: PolicySettings,
  order: PolicyOrder,
  facts: PolicyFacts,
): PolicyEvaluation {
  // An order without names would need no approval. An empty name makes rules for all names apply.
  const names = order.names.length === 0 ? [''] : [...new Set(order.names)];
  const totals = new Map<string, Total>();
  const getTotal = (currency: string): Total => {
    const total = totals.get(currency) ?? computeTotal(order.names, facts.prices, currency);
    totals.set(currency, total);
    return total;
  };
  const candidates = policy.rules.map((rule, index): Candidate => {
    const reference: RuleReference = { kind: 'rule', version: policy.version, index, name: rule.name };
    return toCandidate(rule, reference, {
      tasks: matchesTask(rule, order.task, facts.task) ? 'yes' : 'no',
      by: matchRequester(rule, order.requester, facts.groups),
      over: matchAmount(rule, getTotal),
    });
  });
  const settingsRule = {
    ...toSettingsRequirement(settings),
    silent: settings.silentApprovers,
    ...{ ttlMs: undefined, remindAfterMs: undefined, escalateAfterMs: undefined },
    ...{ escalateTo: [], breakGlass: false },
  };
  const collector: RequirementCollector = { sources: new Map(), refusingRules: new Map(), isCertain: false };
  const nameEvaluations = names.map((name) => {
    const affected = toAffectedName(name, facts.task.nameKind);
    const nameWithTags = { ...affected, tags: findAffectedTags(affected, facts.tags) };
    const { decidedBy, skipped, isUndecided } = decideName(candidates, nameWithTags, collector);
    if (!isUndecided) return { name, decidedBy, skipped };
    const needsApproval = settings.approvalTasks.includes(order.task);
    const reference: RuleReference = { kind: needsApproval ? 'approval_tasks' : 'rest' };
    if (needsApproval) {
      addRequirementSource(collector, settingsRule, reference, name);
      collector.isCertain ||= !canBeFree(skipped);
    }
    return { name, decidedBy: [...decidedBy, { rule: reference, unknowns: [] }], skipped };
  });
  if (order.usesTeamAccount && !collector.isCertain) {
    for (const name of names) addRequirementSource(collector, settingsRule, { kind: 'team_account' }, name);
  }
  return {
    requirements: buildRequirements(collector, settings),
    names: nameEvaluations,
    unknowns: removeDuplicates(
      nameEvaluations
        // Filtered first, because there can be very many skipped rules, nearly all without unknown facts.
        .flatMap(({ decidedBy, skipped }) => [
          ...decidedBy,
          ...skipped.filter(({ unknowns }) => unknowns.length > 0),
        ])
        .flatMap(({ unknowns }) => unknowns),
    ),
  };
}

interface NameDecision extends Omit<NameEvaluation, 'name'> {
  /** Whether no rule certainly decided. */
  readonly isUndecided: boolean;
}

function decideName(
  candidates: readonly Candidate[],
  name: NameWithTags,
  collector: RequirementCollector,
): NameDecision {
  const decidedBy: DecidingRule[] = [];
  const skipped: SkippedRule[] = [];
  for (const candidate of candidates) {
    const { rule, reference } = candidate;
    if (candidate.mismatch !== undefined) {
      skipped.push(candidate.mismatch);
      continue;
    }
    const nameMatch = matchName(candidate, name);
    if (nameMatch === 'no') {
      skipped.push(candidate.nameMismatch);
      continue;
    }
    const matchUnknowns = [nameMatch, candidate.by].flatMap((match) =>
      typeof match === 'string' ? [] : match,
    );
    const missingPrices = typeof candidate.over === 'string' ? [] : candidate.over;
    const unknowns = [...matchUnknowns, ...missingPrices];
    if (rule.decision === 'free' && unknowns.length > 0) {
      skipped.push({ rule: reference, reason: 'unknown', unknowns });
      continue;
    }
    decidedBy.push({ rule: reference, unknowns });
    if (rule.decision === 'approve') addRequirementSource(collector, rule, reference, name.name);
    if (rule.decision === 'refuse') collector.refusingRules.set(rule, reference);
    // A refusal overrides the rules below it.
    if (rule.decision === 'refuse') return { decidedBy, skipped, isUndecided: false };
    if (matchUnknowns.length > 0) continue;
    if (rule.decision === 'approve') collector.isCertain ||= !canBeFree(skipped);
    return { decidedBy, skipped, isUndecided: false };
  }
  return { decidedBy, skipped, isUndecided: true };
}

/** Whether a skipped rule may match, so that the name would need no approval. */
function canBeFree(skipped: readonly SkippedRule[]): boolean {
  return skipped.some(({ reason }) => reason === 'unknown');
}

/** Results of the conditions that don't depend on the name. */
type OrderMatch = Readonly<Record<'tasks' | 'by' | 'over', MatchResult>>;

function toCandidate(rule: PolicyRule, reference: RuleReference, results: OrderMatch): Candidate {
  const skip = (reason: RuleCondition): SkippedRule => ({ rule: reference, reason, unknowns: [] });
  const failedCondition = (['tasks', 'by', 'over'] as const).find((condition) => results[condition] === 'no');
  return {
    rule,
    reference,
    mismatch: failedCondition && skip(failedCondition),
    by: results.by,
    over: results.over,
    names: splitPatterns(rule.names),
    nameMismatch: skip('names'),
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

function matchName({ names }: Candidate, name: NameWithTags): MatchResult {
  const match = matchPatterns(names, name, name.tags);
  return match === 'unknown' ? [{ kind: 'tags', name: name.name }] : match;
}

function matchRequester(rule: PolicyRule, requester: string, groups: PolicyFacts['groups']): MatchResult {
  if (rule.by.length === 0 || rule.by.includes(requester)) return 'yes';
  const unknowns: UnknownFact[] = [];
  for (const id of rule.by) {
    const members = groups.get(id);
    if (members?.has(requester) === true) return 'yes';
    if (members === undefined && isGroup(id)) unknowns.push({ kind: 'group', group: id });
  }
  return unknowns.length === 0 ? 'no' : unknowns;
}

function matchAmount({ over }: PolicyRule, getTotal: (currency: string) => Total): MatchResult {
  if (over === undefined) return 'yes';
  const { minor, unknowns } = getTotal(over.currency);
  if (minor > over.minor) return 'yes';
  return unknowns.length === 0 ? 'no' : unknowns;
}

/** An order's cost in one currency, as far as it is known. */
interface Total {
  readonly minor: number;
  readonly unknowns: readonly UnknownFact[];
}

function computeTotal(names: readonly string[], prices: PolicyFacts['prices'], currency: string): Total {
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

/** Combines the requirements at the time of an order's request with the current ones. */
export function mergeStricter(a: Requirements, b: Requirements): Requirements {
  const approvals = [a, b].filter(({ outcome }) => outcome === 'approve');
  const combined = combineRequirements([...a.refusedBy, ...b.refusedBy], approvals, [a, b]);
  return { ...combined, list: mergeRequirements(combined.list) };
}

/** Keeps the strictest requirement for the same people. */
export function mergeRequirements(requirements: readonly Requirement[]): readonly Requirement[] {
  const strictest = new Map<string, Requirement>();
  for (const requirement of requirements) {
    const peopleKey = formatRequirementKey({ needed: 0, approvers: requirement.approvers, signed: false });
    const previous = strictest.get(peopleKey);
    const names = [...new Set([...(previous?.names ?? []), ...requirement.names])];
    const stricter = previous === undefined || previous.needed < requirement.needed ? requirement : previous;
    const merged = previous === undefined ? [requirement] : [previous, requirement];
    const signed = merged.some((one) => one.signed);
    strictest.set(peopleKey, {
      ...stricter,
      ...mergeApprovers(stricter.approvers, findSilentIds(merged)),
      names,
      signed,
    });
  }
  return [...strictest.values()];
}

type ApprovalDurations = Pick<Requirements, 'ttlMs' | 'remindAfterMs' | 'escalateAfterMs'>;

/** @param defaults durations that apply without approvals */
function combineRequirements(
  refusedBy: Requirements['refusedBy'],
  approvals: readonly Omit<Requirements, 'outcome' | 'refusedBy'>[],
  defaults: readonly ApprovalDurations[],
): Requirements {
  const isRefused = refusedBy.length > 0;
  const combined = isRefused ? [] : approvals;
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
