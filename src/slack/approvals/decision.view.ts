import type { PendingRequirements } from '../../approvals/approvers.ts';
import type { FilledSlot } from '../../approvals/progress.ts';
import type { ApprovalProgress, Order } from '../../orders/order.ts';
import type { Requirement, Requirements } from '../../policy/evaluate.ts';
import {
  dropUnknownRules,
  findLoggedRules,
  findNotifiedIds,
  type RuleReference,
} from '../../policy/policy.ts';
import { formatCount } from '../kit/blocks.ts';
import {
  escapeLine,
  formatLocalTime,
  joinWithOr,
  mention,
  mentionAnyApprover,
  mentionApprover,
} from '../kit/mrkdwn.ts';
import { findLapsedApprovals, type HistoryEvent } from '../orders/order.view.ts';

/** `rule “transfers of the brand” of policy version 3`; for a built-in rule, the setting. */
function formatRuleName(rule: RuleReference): string {
  return rule.kind === 'rule'
    ? `rule “${escapeLine(rule.name, 100)}” of policy version ${rule.version}`
    : formatSettingsRuleName(rule.kind);
}

export function formatSettingsRuleName(kind: Exclude<RuleReference['kind'], 'rule'>): string {
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

export function formatRuleNames(rules: readonly RuleReference[]): string {
  return rules.map(formatRuleName).join(', ');
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
  const userIds = listFilledSlots(history).map(({ userId }) => userId);
  return dropLapsedApprovers(userIds, history);
}

/** Like {@link findValidApprovers}, but includes admins who only agreed to exceed a budget. */
export function findLoggedApprovers(history: readonly HistoryEvent[]): readonly string[] {
  const approvals = sliceCurrentRound(history).filter((event) => event.kind === 'approved');
  const userIds = approvals.map(({ actor }) => actor);
  return dropLapsedApprovers(userIds, history);
}

function dropLapsedApprovers(
  userIds: readonly string[],
  history: readonly HistoryEvent[],
): readonly string[] {
  const lapsedIds = findLapsedApprovals(history).userIds;
  return [...new Set(userIds)].filter((userId) => !lapsedIds.includes(userId));
}

function formatSlot({ userId, standsInFor }: FilledSlot): string {
  return standsInFor === undefined ? mention(userId) : `${mention(userId)} for ${mention(standsInFor)}`;
}

/** Includes the person that the user approved for, if the log has one. */
export function formatApprover(userId: string, history: readonly HistoryEvent[]): string {
  return formatSlot(findSlot(userId, history));
}

/** `@Carol (for @Bob)`, for sentences with several people. */
export function formatApproverInSentence(userId: string, history: readonly HistoryEvent[]): string {
  const { standsInFor } = findSlot(userId, history);
  return standsInFor === undefined ? mention(userId) : `${mention(userId)} (for ${mention(standsInFor)})`;
}

function listFilledSlots(history: readonly HistoryEvent[]): readonly FilledSlot[] {
  return findLastProgress(history)?.requirements.flatMap(({ slots }) => slots) ?? [];
}

function findSlot(userId: string, history: readonly HistoryEvent[]): FilledSlot {
  const slots = listFilledSlots(history);
  const ownSlot = slots.find((slot) => slot.userId === userId && slot.standsInFor === undefined);
  return ownSlot ?? slots.find((slot) => slot.userId === userId) ?? { userId };
}

/** The approvers who are notified; if there are none, all approvers. */
export function selectNotifiedApprovers(
  requirement: Pick<Requirement, 'approvers' | 'silent'>,
): readonly string[] {
  const notifiedIds = findNotifiedIds([requirement]);
  return notifiedIds.length > 0 ? notifiedIds : requirement.approvers;
}

export function requirementLines(requirements: Requirements, history: readonly HistoryEvent[]): string[] {
  const progress = findLastProgress(history);
  return requirements.list.map((requirement) => {
    const { needed, approvers } = requirement;
    const matchingProgress = progress?.requirements.find(
      (candidate) => candidate.needed === needed && candidate.approvers.join() === approvers.join(),
    );
    const slots = matchingProgress?.slots ?? [];
    const missingCount = Math.max(0, needed - slots.length);
    const approversText = slots.length === 0 ? '' : ` (${slots.map(formatSlot).join(', ')})`;
    const mentions = joinWithOr(selectNotifiedApprovers(requirement).map(mentionApprover));
    return missingCount === 0
      ? `${formatCount(needed, 'approval')} from ${mentions}: done${approversText}`
      : `${missingCount === needed ? '' : `${missingCount} more of `}${formatCount(needed, 'approval')} from ${mentions}${approversText}`;
  });
}

/** Includes the rules that applied when the order was requested. */
export function collectRules(
  pendingRequirements: PendingRequirements | undefined,
  history: readonly HistoryEvent[],
): RuleReference[] {
  const loggedRules = findLoggedRules(history);
  const rulesAtRequest = loggedRules.some(({ kind }) => kind === 'rule') ? loggedRules : [];
  const { requirements, decidedBy = [] } = pendingRequirements ?? {};
  const rules = [...(requirements?.list.map(({ rule }) => rule) ?? []), ...(requirements?.refusedBy ?? [])];
  // The requirements include those in the order's row, which could have been tampered with.
  const currentRules = dropUnknownRules(rules, [...loggedRules, ...decidedBy]);
  const rulesAtApproval = findLastProgress(history)?.requirements.map(({ rule }) => rule) ?? [];
  const allRules = [...rulesAtRequest, ...rulesAtApproval, ...currentRules];
  const namedRules = allRules.some(({ kind }) => kind === 'rule') ? allRules : [];
  return [...new Map(namedRules.map((rule) => [formatRuleName(rule), rule])).values()];
}

/** Undefined unless the requirements have grown or the order is now refused. */
export function changedRequirementsLine({
  requirements,
  isStricter,
  policyVersion,
}: PendingRequirements): string | undefined {
  if (!isStricter) return undefined;
  if (requirements.outcome === 'refuse')
    return `:warning: The policy changed and no longer allows this: ${formatRuleNames(requirements.refusedBy)}. It can’t be approved.`;
  if (!hasPolicyRule(requirements.list))
    return ':warning: The settings have become stricter since this was requested.';
  // Without a valid signed policy, there's no version.
  return policyVersion === 0
    ? ':warning: The requirements have become stricter since this was requested.'
    : `:warning: The policy has become stricter since this was requested (now version ${policyVersion}).`;
}

/** Undefined if several requirements need approvals. */
export function getNeededApprovalCount(
  order: Order,
  pendingRequirements: PendingRequirements | undefined,
): number | undefined {
  const requirements = pendingRequirements?.requirements.list ?? [];
  const [requirement, ...others] = requirements;
  if (others.length > 0) return undefined;
  return requirement?.needed ?? order.approvalsRequired;
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
      const missingCount = needed - slots.length;
      return `${formatCount(missingCount, 'approval')} from ${mentionAnyApprover(approvers, missingCount)}`;
    });
}

/** `@Carol can approve for @Bob until 24 Dec`, one line for each stand-in. */
export function standInLines({ standIns }: PendingRequirements): string[] {
  return [...standIns].map(
    ([absentUserId, { userId, until }]) =>
      `${mention(userId)} can approve for ${mention(absentUserId)} until ${formatLocalTime(until)}`,
  );
}
