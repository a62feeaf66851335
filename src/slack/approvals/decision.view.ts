import type { WaitingDecision } from '../../approvals/approvers.ts';
import type { Slot } from '../../approvals/progress.ts';
import type { ApprovalsGiven, Order } from '../../orders/order.ts';
import type { Requirement, Requirements } from '../../policy/evaluate.ts';
import { dropUnknownRules, loggedRules, type RuleReference } from '../../policy/policy.ts';
import { count } from '../kit/blocks.ts';
import { mention, mentionApprover, moment, quote } from '../kit/mrkdwn.ts';
import { type HistoryEvent, lapsedApprovals } from '../orders/order.view.ts';

/* What the policy asks of an order, and which approvals it has. */

/**
 * `rule “transfers of the brand” of policy version 3`; for what stands behind every policy, the settings that decide
 * it.
 */
function ruleName(rule: RuleReference): string {
  switch (rule.kind) {
    case 'rule':
      return `rule “${quote(rule.name, 100)}” of policy version ${rule.version}`;
    default:
      return settingsRuleName(rule.kind);
  }
}

/** What stands behind the rules of every policy. */
export function settingsRuleName(kind: Exclude<RuleReference['kind'], 'rule'>): string {
  switch (kind) {
    case 'approval_tasks':
      return 'the settings';
    case 'team_account':
      return 'the use of the team’s account';
    case 'mandate':
      return 'the rule for mandates';
    case 'environment':
      return 'the environment’s settings, because no signed policy is valid';
    case 'rest':
      return 'no rule';
  }
}

/** The names of several rules, joined. */
export function ruleNames(rules: readonly RuleReference[]): string {
  return rules.map(ruleName).join(', ');
}

/** Whether anything but the settings says who approves. */
export function isRuled({
  requirements,
}: {
  readonly requirements: readonly Pick<Requirement, 'rule'>[];
}): boolean {
  return requirements.length > 1 || requirements.some(({ rule }) => rule.kind === 'rule');
}

/** The approvals that counted at the last approval; undefined before the first. */
export function lastProgress(history: readonly HistoryEvent[]): ApprovalsGiven | undefined {
  return history.findLast((event) => event.kind === 'approved')?.progress;
}

/**
 * User ids of the people whose approvals count, by the log: the order's rows can be changed. An admin who only agreed to exceed
 * a budget is not among them.
 */
export function countedApprovers(history: readonly HistoryEvent[]): readonly string[] {
  const given = lastProgress(history)?.requirements.flatMap((requirement) => requirement.given) ?? [];
  return withoutLapsed(
    given.map(({ userId }) => userId),
    history,
  );
}

/** Everybody who approved by the log, admins who agreed to exceed a budget included. */
export function loggedApprovers(history: readonly HistoryEvent[]): readonly string[] {
  return withoutLapsed(
    history.flatMap((event) => (event.kind === 'approved' ? event.actor : [])),
    history,
  );
}

function withoutLapsed(userIds: readonly string[], history: readonly HistoryEvent[]): readonly string[] {
  const lapsed = lapsedApprovals(history).userIds;
  return [...new Set(userIds)].filter((userId) => !lapsed.includes(userId));
}

/** An approver, with the person in whose place they approved: `@Carol for @Bob`. */
function slotName({ userId, standsInFor }: Slot): string {
  return standsInFor === undefined ? mention(userId) : `${mention(userId)} for ${mention(standsInFor)}`;
}

/** The same for a person of whom the order keeps only the id. */
export function approverName(userId: string, history: readonly HistoryEvent[]): string {
  const given = lastProgress(history)?.requirements.flatMap((requirement) => requirement.given) ?? [];
  const own = given.find((each) => each.userId === userId && each.standsInFor === undefined);
  return slotName(own ?? given.find((each) => each.userId === userId) ?? { userId });
}

/** What each requirement still needs and from whom, one line each. */
export function requirementLines(demand: Requirements, history: readonly HistoryEvent[]): string[] {
  const progress = lastProgress(history);
  return demand.requirements.map(({ needed, approvers }) => {
    const same = progress?.requirements.find(
      (each) => each.needed === needed && each.approvers.join() === approvers.join(),
    );
    const given = same?.given ?? [];
    const missing = Math.max(0, needed - given.length);
    const by = given.length === 0 ? '' : ` (${given.map(slotName).join(', ')})`;
    const whom = approvers.map(mentionApprover).join(', ');
    return missing === 0
      ? `${count(needed, 'approval')} of ${whom}: done${by}`
      : `${missing === needed ? '' : `${missing} more of `}${count(needed, 'approval')} of ${whom}${by}`;
  });
}

/** The rules of a waiting order, including those that decided when it was asked for. */
export function rulesOf(
  decision: WaitingDecision | undefined,
  history: readonly HistoryEvent[],
): RuleReference[] {
  const logged = loggedRules(history);
  const asked = logged.some(({ kind }) => kind === 'rule') ? logged : [];
  const { demand, decidedBy = [] } = decision ?? {};
  const current = [...(demand?.requirements.map(({ rule }) => rule) ?? []), ...(demand?.refusedBy ?? [])];
  // The demand includes what the row says was needed, and rows can be changed.
  const now = dropUnknownRules(current, [...logged, ...decidedBy]);
  const approved = lastProgress(history)?.requirements.map(({ rule }) => rule) ?? [];
  const all = [...asked, ...approved, ...now];
  const named = all.some(({ kind }) => kind === 'rule') ? all : [];
  return [...new Map(named.map((rule) => [ruleName(rule), rule])).values()];
}

/** Says that a waiting order needs more than when it was asked for, or is now refused; undefined otherwise. */
export function changedDemandLine({
  demand,
  isStricter,
  policyVersion,
}: WaitingDecision): string | undefined {
  if (!isStricter) return undefined;
  if (demand.outcome === 'refuse')
    return `:warning: The policy changed and no longer allows this: ${ruleNames(demand.refusedBy)}. It can’t be approved.`;
  const asks = isRuled(demand) ? `Policy version ${policyVersion} requires` : 'The settings require';
  return `:warning: ${asks} more than when this was requested.`;
}

/** How many approvals a waiting order needs; undefined where several requirements each need some. */
export function approvalsNeeded(order: Order, decision: WaitingDecision | undefined): number | undefined {
  const requirements = decision?.demand.requirements ?? [];
  const [only, ...others] = requirements;
  if (others.length > 0) return undefined;
  return only?.needed ?? order.approvalsRequired;
}

/** What is missing after an approval: `1 of @finance`. */
export function missingLines({
  requirements,
}: {
  readonly requirements: readonly (Pick<Requirement, 'needed' | 'approvers'> & {
    readonly given: readonly unknown[];
  })[];
}): string[] {
  return requirements
    .filter(({ needed, given }) => given.length < needed)
    .map(
      ({ needed, given, approvers }) =>
        `${needed - given.length} of ${approvers.map(mentionApprover).join(', ')}`,
    );
}

/** `@Carol for @Bob until 24 Dec`, for each. */
export function standInLines({ standIns }: WaitingDecision): string[] {
  return [...standIns].map(
    ([away, { userId, until }]) => `${mention(userId)} for ${mention(away)} until ${moment(until)}`,
  );
}
