import { isRequester, type Order, type OrderTaskName } from './order.ts';

/** The rules for approvals at one moment, read afresh for every decision. */
export interface ApprovalPolicy {
  /** Slack user ids, the members of user groups included. */
  readonly approvers: ReadonlySet<string>;
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
  if (!policy.approvers.has(userId)) {
    return `Only approvers can ${decision} orders. Ask one of them; the card names them.`;
  }
  return undefined;
}

/** Those who approved and may approve at this moment. */
export function standingApprovers(
  order: Order,
  userIds: readonly string[],
  policy: ApprovalPolicy,
): string[] {
  return [...new Set(userIds)].filter(
    (userId) => refusalToDecide(order, userId, 'approve', policy) === undefined,
  );
}
