import { isRequester, type Order, type OrderTaskName } from './order.ts';

/** The rules for approvals at one moment, read afresh for every decision, as far as they concern certain people. */
export interface ApprovalPolicy {
  /** Those of these people who may approve: listed, or in a group that is listed, and members of the workspace. */
  readonly approvers: ReadonlySet<string>;
  /** Those who are listed, or in a group that is, while Slack does not tell whether they are still members. */
  readonly unconfirmed: ReadonlySet<string>;
  /** Groups whose members Slack does not tell. Nobody counts as a member of them. */
  readonly unreadableGroups: readonly string[];
  readonly allowSelfApproval: boolean;
}

/** Whether a task waits for an approver. */
export function needsApproval(task: OrderTaskName, approvalTasks: readonly OrderTaskName[]): boolean {
  return approvalTasks.includes(task);
}

/**
 * Why a person may not approve or deny an order, or undefined when they may.
 * @param decision an approver may deny their own order even where they may not approve it
 */
export function refusalToDecide(
  order: Order,
  userId: string,
  decision: 'approve' | 'deny',
  policy: ApprovalPolicy,
): string | undefined {
  // Who asks again for what failed is asking, and so is whoever asked for it first.
  if (isRequester(order, userId) && !policy.allowSelfApproval && decision === 'approve') {
    return policy.approvers.has(userId)
      ? 'You asked for this, so somebody else has to approve it.'
      : 'You asked for this, so an approver has to approve it. The card names them.';
  }
  return refusalOfNonApprover(
    policy,
    userId,
    `Only approvers can ${decision} orders. Ask one of them; the card names them.`,
  );
}

/**
 * Why a person does not count as an approver, or undefined when they do.
 * @param otherwise said where Slack has told all that there is to know
 */
export function refusalOfNonApprover(
  { approvers, unconfirmed, unreadableGroups }: ApprovalPolicy,
  userId: string,
  otherwise: string,
): string | undefined {
  if (approvers.has(userId)) return undefined;
  if (unconfirmed.has(userId))
    return 'Slack does not tell me whether you are still here. Try again in a minute.';
  if (unreadableGroups.length === 0) return otherwise;
  const groups = unreadableGroups.map((id) => `<!subteam^${id}>`).join(' and ');
  return `I could not read the group ${groups} in Slack, so I do not know whether you are an approver. Try again in a minute, or ask an approver whom the card names.`;
}

/** Said while Slack does not tell whether somebody else, on whom a decision rests, is still a member. */
export function membershipUnknown(userId: string): string {
  return `Slack does not tell me whether <@${userId}> is still here. Try again in a minute.`;
}

/** Those who approved and may approve at this moment. */
export function validApprovers(order: Order, userIds: readonly string[], policy: ApprovalPolicy): string[] {
  return [...new Set(userIds)].filter(
    (userId) => refusalToDecide(order, userId, 'approve', policy) === undefined,
  );
}
