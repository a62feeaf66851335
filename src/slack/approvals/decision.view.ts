import type { PendingDecision } from '../../approvals/approvers.ts';
import type { Slot } from '../../approvals/progress.ts';
import type { ApprovalProgress, Order } from '../../orders/order.ts';
import type { Requirement, Requirements } from '../../policy/evaluate.ts';
import {
  dropUnknownRules,
  findLoggedRules,
  findNotifiedIds,
  type RuleReference,
} from '../../policy/policy.ts';
import { count } from '../kit/blocks.ts';
import {
  formatLocalTime,
  joinWithOr,
  mention,
  mentionAnyApprover,
  mentionApprover,
  quote,
} from '../kit/mrkdwn.ts';
import { findLapsedApprovals, type HistoryEvent } from '../orders/order.view.ts';

/** `rule “transfers of the brand” of policy version 3`; for a built-in rule, the setting. */
function ruleName(rule: RuleReference): string {
  switch (rule.kind) {
    case 'rule':
      return `rule “${quote(rule.name, 100)}” of policy version ${rule.version}`;
    default:
      return settingsRuleName(rule.kind);
  }
}

export function settingsRuleName(kind: Exclude<RuleReference['kind'], 'rule'>): string {
  switch (kind) {
    case 'approval_tasks':
      return 'the settings';
    case 'team_account':
      return 'the rule for the team’s account';
    case 'mandate':
      return 'the rule for mandates';
    case 'environment':
      return 'the environment variables, because there’s no valid signed policy';
    case 'rest':
      return 'no rule';
  }
}

export function ruleNames(rules: readonly RuleReference[]): string {
  return rules.map(ruleName).join(', ');
}

/** Whether a policy rule, not only the settings, determines the approvers. */
export function hasPolicyRule(requirements: readonly Pick<Requirement, 'rule'>[]): boolean {
  return requirements.length > 1 || requirements.some(({ rule }) => rule.kind === 'rule');
}

/** Omits approvals from before the order was reopened. */
function sliceCurrentRound(history: readonly HistoryEvent[]): readonly HistoryEvent[] {
  return history.slice(history.findLastIndex(({ kind }) => kind === 'reopened') + 1);
}

/** The progress at the last approval; undefined before the first one. */
export function findLastProgress(history: readonly HistoryEvent[]): ApprovalProgress | undefined {
  return sliceCurrentRound(history).findLast((event) => event.kind === 'approved')?.progress;
}

/** Reads the log, because rows can be tampered with. Omits admins who only agreed to exceed a budget. */
export function findValidApprovers(history: readonly HistoryEvent[]): readonly string[] {
  const slots = findLastProgress(history)?.requirements.flatMap((requirement) => requirement.slots) ?? [];
  return dropLapsed(
    slots.map(({ userId }) => userId),
    history,
  );
}

/** Reads the log, as above. Includes admins who only agreed to exceed a budget. */
export function findLoggedApprovers(history: readonly HistoryEvent[]): readonly string[] {
  return dropLapsed(
    sliceCurrentRound(history).flatMap((event) => (event.kind === 'approved' ? event.actor : [])),
    history,
  );
}

function dropLapsed(userIds: readonly string[], history: readonly HistoryEvent[]): readonly string[] {
  const lapsed = findLapsedApprovals(history).userIds;
  return [...new Set(userIds)].filter((userId) => !lapsed.includes(userId));
}

function slotName({ userId, standsInFor }: Slot): string {
  return standsInFor === undefined ? mention(userId) : `${mention(userId)} for ${mention(standsInFor)}`;
}

/** Includes the person that the user approved for, if the log has one. */
export function approverName(userId: string, history: readonly HistoryEvent[]): string {
  return slotName(findSlot(userId, history));
}

/** `@Carol (for @Bob)`, for sentences with several people. */
export function approverNameInSentence(userId: string, history: readonly HistoryEvent[]): string {
  const { standsInFor } = findSlot(userId, history);
  return standsInFor === undefined ? mention(userId) : `${mention(userId)} (for ${mention(standsInFor)})`;
}

function findSlot(userId: string, history: readonly HistoryEvent[]): Slot {
  const slots = findLastProgress(history)?.requirements.flatMap((requirement) => requirement.slots) ?? [];
  const ownSlot = slots.find((slot) => slot.userId === userId && slot.standsInFor === undefined);
  return ownSlot ?? slots.find((slot) => slot.userId === userId) ?? { userId };
}

/** The approvers who are notified; if there are none, all approvers. */
export function selectNotifiedApprovers(
  requirement: Pick<Requirement, 'approvers' | 'silent'>,
): readonly string[] {
  const notified = findNotifiedIds([requirement]);
  return notified.length > 0 ? notified : requirement.approvers;
}

export function requirementLines(requirements: Requirements, history: readonly HistoryEvent[]): string[] {
  const progress = findLastProgress(history);
  return requirements.list.map((requirement) => {
    const { needed, approvers } = requirement;
    const matching = progress?.requirements.find(
      (candidate) => candidate.needed === needed && candidate.approvers.join() === approvers.join(),
    );
    const slots = matching?.slots ?? [];
    const missing = Math.max(0, needed - slots.length);
    const approversText = slots.length === 0 ? '' : ` (${slots.map(slotName).join(', ')})`;
    const mentions = joinWithOr(selectNotifiedApprovers(requirement).map(mentionApprover));
    return missing === 0
      ? `${count(needed, 'approval')} from ${mentions}: done${approversText}`
      : `${missing === needed ? '' : `${missing} more of `}${count(needed, 'approval')} from ${mentions}${approversText}`;
  });
}

/** Includes the rules that applied at the request. */
export function collectRules(
  decision: PendingDecision | undefined,
  history: readonly HistoryEvent[],
): RuleReference[] {
  const loggedRules = findLoggedRules(history);
  const requestedRules = loggedRules.some(({ kind }) => kind === 'rule') ? loggedRules : [];
  const { requirements, decidedBy = [] } = decision ?? {};
  const rules = [...(requirements?.list.map(({ rule }) => rule) ?? []), ...(requirements?.refusedBy ?? [])];
  // The requirements include those in the order's row, which could have been tampered with.
  const currentRules = dropUnknownRules(rules, [...loggedRules, ...decidedBy]);
  const approvedRules = findLastProgress(history)?.requirements.map(({ rule }) => rule) ?? [];
  const allRules = [...requestedRules, ...approvedRules, ...currentRules];
  const namedRules = allRules.some(({ kind }) => kind === 'rule') ? allRules : [];
  return [...new Map(namedRules.map((rule) => [ruleName(rule), rule])).values()];
}

/** Undefined unless the requirements have grown or the order is now refused. */
export function changedRequirementsLine({
  requirements,
  isStricter,
  policyVersion,
}: PendingDecision): string | undefined {
  if (!isStricter) return undefined;
  if (requirements.outcome === 'refuse')
    return `:warning: The policy changed and no longer allows this: ${ruleNames(requirements.refusedBy)}. It can’t be approved.`;
  if (!hasPolicyRule(requirements.list))
    return ':warning: The settings have become stricter since this was requested.';
  // Without a valid signed policy, there's no version.
  return policyVersion === 0
    ? ':warning: The requirements have become stricter since this was requested.'
    : `:warning: The policy has become stricter since this was requested (now version ${policyVersion}).`;
}

/** Undefined if several requirements need approvals. */
export function findNeededApprovals(order: Order, decision: PendingDecision | undefined): number | undefined {
  const requirements = decision?.requirements.list ?? [];
  const [only, ...others] = requirements;
  if (others.length > 0) return undefined;
  return only?.needed ?? order.approvalsRequired;
}

/** `1 approval from a member of @finance`. */
export function missingApprovalLines({
  requirements,
}: {
  readonly requirements: readonly (Pick<Requirement, 'needed' | 'approvers'> & {
    readonly slots: readonly unknown[];
  })[];
}): string[] {
  return requirements
    .filter(({ needed, slots }) => slots.length < needed)
    .map(({ needed, slots, approvers }) => {
      const missing = needed - slots.length;
      return `${count(missing, 'approval')} from ${mentionAnyApprover(approvers, missing)}`;
    });
}

/** `@Carol can approve for @Bob until 24 Dec`, one line for each stand-in. */
export function standInLines({ standIns }: PendingDecision): string[] {
  return [...standIns].map(
    ([away, { userId, until }]) =>
      `${mention(userId)} can approve for ${mention(away)} until ${formatLocalTime(until)}`,
  );
}
