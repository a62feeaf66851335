import type { z } from 'zod';
import { removeDuplicates } from '../lib/collections.ts';
import type { Amount } from '../money/amount.ts';
import { matchesPatterns, type NamePatterns, splitPatterns } from './name-patterns.ts';
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
 * Evaluates an order's requirements under one policy version. Pure.
 * Names are evaluated one by one, and the order needs everything that its names need. Unknown facts make the result
 * stricter: a `free` rule doesn't match, and a `refuse` rule does. An `approve` rule also matches, but evaluation
 * continues with the rules below it, and the order needs both. An unknown price is treated as above any amount.
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
  /** Ids of people and groups; empty: the admins. */
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

/** Facts for an evaluation. Missing entries are unknown. */
export interface PolicyFacts {
  readonly task: {
    readonly effect: 'read' | 'write' | 'charge';
    readonly risk: 'none' | 'loses_name' | 'takes_down';
    readonly nameKind: NameKind;
  };
  /** Keyed by affected host. */
  readonly tags: ReadonlyMap<string, readonly string[]>;
  readonly groups: ReadonlyMap<string, ReadonlySet<string>>;
  /** Keyed by name; zero if known to be free. */
  readonly prices: ReadonlyMap<string, Amount>;
}

/** A fact that couldn't be evaluated. */
export type UnknownFact =
  | { readonly kind: 'group'; readonly group: string }
  | { readonly kind: 'tags'; readonly name: string }
  /** The price is missing, or in another currency than the rule's. */
  | { readonly kind: 'price'; readonly name: string };

/** In evaluation order. */
export const CONDITIONS = ['tasks', 'by', 'over', 'names'] as const;
export type Condition = (typeof CONDITIONS)[number];

/** A rule that didn't apply to a name. */
export interface SkippedRule {
  readonly rule: RuleReference;
  /** The first condition that failed. `unknown`: the rule may match, and would then make the order free. */
  readonly reason: Condition | 'unknown';
  readonly unknowns: readonly UnknownFact[];
}

export interface DecidingRule {
  readonly rule: RuleReference;
  /** Unknown facts that made the result stricter. */
  readonly unknowns: readonly UnknownFact[];
}

export interface NameEvaluation {
  readonly name: string;
  /** Has more than one rule only if facts are unknown. */
  readonly decidedBy: readonly DecidingRule[];
  /** Rules before the last deciding rule, in order. */
  readonly skipped: readonly SkippedRule[];
}

export type Requirements = Readonly<z.output<typeof storedRequirementsSchema>>;
/** Requires `needed` approvals from these people. An order must meet all its requirements. */
export type Requirement = Readonly<z.output<typeof storedRequirementSchema>>;

export interface PolicyEvaluation {
  readonly requirements: Requirements;
  readonly names: readonly NameEvaluation[];
  /** Without duplicates. */
  readonly unknowns: readonly UnknownFact[];
}

/** A list means: unknown because of these facts. */
type Match = 'yes' | 'no' | readonly UnknownFact[];

/** A rule with the conditions shared by all names. */
interface Candidate {
  readonly rule: PolicyRule;
  readonly reference: RuleReference;
  /** Set if the rule matches no name. */
  readonly mismatch: SkippedRule | undefined;
  readonly by: Match;
  readonly over: Match;
  readonly names: NamePatterns;
  /** Shared by all names that the rule doesn't match. */
  readonly nameMismatch: SkippedRule;
}

interface NameWithTags extends AffectedName {
  readonly tags: readonly string[] | undefined;
}

/** Source of a requirement: a rule or the settings. */
interface Approval {
  readonly reference: RuleReference;
  readonly rule: Omit<PolicyRule, 'name' | 'tasks' | 'names' | 'by' | 'over' | 'decision'>;
  readonly names: string[];
}

/** The requirements of the names evaluated so far. */
interface RequirementCollector {
  readonly approvals: Map<Approval['rule'], Approval>;
  readonly refusals: Map<PolicyRule, RuleReference>;
  /** The order needs approval, regardless of unknown facts. */
  isCertain: boolean;
}

export function evaluatePolicy(
  policy: Policy,
  settings: PolicySettings,
  order: PolicyOrder,
  facts: PolicyFacts,
): PolicyEvaluation {
  // Without names, rules that match every name apply, because the order would otherwise need no approval.
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
      by: matchesRequester(rule, order.requester, facts.groups),
      over: matchesAmount(rule, getTotal),
    });
  });
  const settingsRule = {
    ...toSettingsRequirement(settings),
    silent: settings.silentApprovers,
    ...{ ttlMs: undefined, remindAfterMs: undefined, escalateAfterMs: undefined },
    ...{ escalateTo: [], breakGlass: false },
  };
  const collected: RequirementCollector = { approvals: new Map(), refusals: new Map(), isCertain: false };
  const evaluated = names.map((name) => {
    const affected = toAffectedName(name, facts.task.nameKind);
    const nameWithTags = { ...affected, tags: findAffectedTags(affected, facts.tags) };
    const { decidedBy, skipped, isUndecided } = decideName(candidates, nameWithTags, collected);
    if (!isUndecided) return { name, decidedBy, skipped };
    const isListed = settings.approvalTasks.includes(order.task);
    const reference: RuleReference = { kind: isListed ? 'approval_tasks' : 'rest' };
    if (isListed) {
      addApproval(collected, settingsRule, reference, name);
      collected.isCertain ||= !couldBeFree(skipped);
    }
    return { name, decidedBy: [...decidedBy, { rule: reference, unknowns: [] }], skipped };
  });
  if (order.usesTeamAccount && !collected.isCertain) {
    for (const name of names) addApproval(collected, settingsRule, { kind: 'team_account' }, name);
  }
  return {
    requirements: buildRequirements(collected, settings),
    names: evaluated,
    unknowns: removeDuplicates(
      evaluated
        // There are many pairs of rule and name, and nearly all are certain.
        .flatMap(({ decidedBy, skipped }) => [
          ...decidedBy,
          ...skipped.filter(({ unknowns }) => unknowns.length > 0),
        ])
        .flatMap(({ unknowns }) => unknowns),
    ),
  };
}

interface NameDecision extends Omit<NameEvaluation, 'name'> {
  /** No rule decided for certain. */
  readonly isUndecided: boolean;
}

function decideName(
  candidates: readonly Candidate[],
  name: NameWithTags,
  collected: RequirementCollector,
): NameDecision {
  const decidedBy: DecidingRule[] = [];
  const skipped: SkippedRule[] = [];
  for (const candidate of candidates) {
    const { rule, reference } = candidate;
    if (candidate.mismatch !== undefined) {
      skipped.push(candidate.mismatch);
      continue;
    }
    const names = matchesName(candidate, name);
    if (names === 'no') {
      skipped.push(candidate.nameMismatch);
      continue;
    }
    const doubts = [names, candidate.by].flatMap((match) => (typeof match === 'string' ? [] : match));
    const missingPrices = typeof candidate.over === 'string' ? [] : candidate.over;
    const unknowns = [...doubts, ...missingPrices];
    if (rule.decision === 'free' && unknowns.length > 0) {
      skipped.push({ rule: reference, reason: 'unknown', unknowns });
      continue;
    }
    decidedBy.push({ rule: reference, unknowns });
    if (rule.decision === 'approve') addApproval(collected, rule, reference, name.name);
    if (rule.decision === 'refuse') collected.refusals.set(rule, reference);
    // A refusal overrides the rules below it.
    if (rule.decision === 'refuse') return { decidedBy, skipped, isUndecided: false };
    if (doubts.length > 0) continue;
    if (rule.decision === 'approve') collected.isCertain ||= !couldBeFree(skipped);
    return { decidedBy, skipped, isUndecided: false };
  }
  return { decidedBy, skipped, isUndecided: true };
}

/** Whether a rule that may match would make the name free. */
function couldBeFree(skipped: readonly SkippedRule[]): boolean {
  return skipped.some(({ reason }) => reason === 'unknown');
}

/** Conditions shared by all names of an order. */
type OrderMatch = Readonly<Record<'tasks' | 'by' | 'over', Match>>;

function toCandidate(rule: PolicyRule, reference: RuleReference, match: OrderMatch): Candidate {
  const skip = (failed: Condition): SkippedRule => ({ rule: reference, reason: failed, unknowns: [] });
  const failed = (['tasks', 'by', 'over'] as const).find((condition) => match[condition] === 'no');
  return {
    rule,
    reference,
    mismatch: failed && skip(failed),
    by: match.by,
    over: match.over,
    names: splitPatterns(rule.names),
    nameMismatch: skip('names'),
  };
}

/** Task properties that rules use. */
export type TaskRisk = Pick<PolicyFacts['task'], 'effect' | 'risk'>;

export function matchesTask(rule: PolicyRule, task: string, { effect, risk }: TaskRisk): boolean {
  return rule.tasks.some(
    (each) =>
      each === task ||
      each === 'all' ||
      (each === 'charge' && effect === 'charge') ||
      (each === 'risk' && risk !== 'none'),
  );
}

function matchesName({ names }: Candidate, name: NameWithTags): Match {
  const match = matchesPatterns(names, name, name.tags);
  return match === 'unknown' ? [{ kind: 'tags', name: name.name }] : match;
}

function matchesRequester(rule: PolicyRule, requester: string, groups: PolicyFacts['groups']): Match {
  if (rule.by.length === 0 || rule.by.includes(requester)) return 'yes';
  const unknowns: UnknownFact[] = [];
  for (const id of rule.by) {
    const members = groups.get(id);
    if (members?.has(requester) === true) return 'yes';
    if (members === undefined && isGroup(id)) unknowns.push({ kind: 'group', group: id });
  }
  return unknowns.length === 0 ? 'no' : unknowns;
}

function matchesAmount({ over }: PolicyRule, getTotal: (currency: string) => Total): Match {
  if (over === undefined) return 'yes';
  const { minor, unknowns } = getTotal(over.currency);
  if (minor > over.minor) return 'yes';
  return unknowns.length === 0 ? 'no' : unknowns;
}

/** An order's known cost in one currency. */
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

/** `APPROVERS` and `APPROVALS_REQUIRED` apply if no rule does. */
export function toSettingsRequirement({
  approvers,
  silentApprovers,
  approvalsRequired,
  signed,
}: Pick<PolicySettings, 'approvers' | 'silentApprovers' | 'approvalsRequired' | 'signed'>) {
  return { ...mergeApprovers(approvers, silentApprovers), needed: approvalsRequired, signed };
}

function addApproval(
  { approvals }: RequirementCollector,
  rule: Approval['rule'],
  reference: RuleReference,
  name: string,
): void {
  const approval = approvals.get(rule);
  if (approval === undefined) approvals.set(rule, { reference, rule, names: [name] });
  else approval.names.push(name);
}

function buildRequirements(
  { approvals, refusals }: RequirementCollector,
  settings: PolicySettings,
): Requirements {
  const ruleRequirements = [...approvals.values()].map(({ reference, rule, names }) => {
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
  return combineRules([...refusals.values()], ruleRequirements, [settings]);
}

/**
 * Combines two sets of requirements, for an order that was requested under one policy version and is pending under
 * another.
 */
export function mergeStricter(a: Requirements, b: Requirements): Requirements {
  const approvals = [a, b].filter(({ outcome }) => outcome === 'approve');
  const both = combineRules([...a.refusedBy, ...b.refusedBy], approvals, [a, b]);
  return { ...both, list: mergeRequirements(both.list) };
}

/** Keeps the strictest requirement for the same people. */
export function mergeRequirements(requirements: readonly Requirement[]): readonly Requirement[] {
  const strongest = new Map<string, Requirement>();
  for (const requirement of requirements) {
    const people = formatRequirementKey({ needed: 0, approvers: requirement.approvers, signed: false });
    const known = strongest.get(people);
    const names = [...new Set([...(known?.names ?? []), ...requirement.names])];
    const kept = known === undefined || known.needed < requirement.needed ? requirement : known;
    const merged = known === undefined ? [requirement] : [known, requirement];
    const signed = merged.some((each) => each.signed);
    strongest.set(people, {
      ...kept,
      ...mergeApprovers(kept.approvers, findSilentIds(merged)),
      names,
      signed,
    });
  }
  return [...strongest.values()];
}

type ApprovalDurations = Pick<Requirements, 'ttlMs' | 'remindAfterMs' | 'escalateAfterMs'>;

/** @param defaults the default durations */
function combineRules(
  refusedBy: Requirements['refusedBy'],
  all: readonly Omit<Requirements, 'outcome' | 'refusedBy'>[],
  defaults: readonly ApprovalDurations[],
): Requirements {
  const isRefused = refusedBy.length > 0;
  const combined = isRefused ? [] : all;
  const findShortest = (duration: keyof ApprovalDurations) =>
    Math.min(...(combined.length > 0 ? combined : defaults).map((each) => each[duration]));
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

/** Equal if the number of approvals, the people, and whether approvals must be signed are equal. */
export function formatRequirementKey({
  needed,
  approvers,
  signed,
}: Pick<Requirement, 'needed' | 'approvers' | 'signed'>): string {
  return JSON.stringify([needed, signed, [...new Set(approvers)].sort()]);
}
