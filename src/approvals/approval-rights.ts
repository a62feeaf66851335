import { isRequester, type Order } from '../orders/order.ts';
import type { ApproverRight, Refusal } from '../orders/refusal.ts';

/** Who may approve at one moment, among the people concerned. It is read anew for every decision. */
export interface ApprovalPolicy {
  /** Those of these people who may approve: listed, or in a group that is listed, and members of the workspace. */
  readonly approvers: ReadonlySet<string>;
  /** Those who are listed, or in a group that is, but of whom Slack does not tell whether they are still members. */
  readonly unconfirmed: ReadonlySet<string>;
  /** Groups whose members Slack does not tell. Nobody counts as a member of them. */
  readonly unreadableGroups: readonly string[];
  readonly allowSelfApproval: boolean;
  /** Ids of the people and groups who may, for the refusal of somebody else; left out where the settings name them. */
  readonly named?: readonly string[];
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
): Refusal | undefined {
  // Whoever retries an order counts as a requester, and so does whoever asked for it first.
  if (isRequester(order, userId) && !policy.allowSelfApproval && decision === 'approve') {
    return { code: 'own_order', isApprover: policy.approvers.has(userId) };
  }
  return refusalOfNonApprover(policy, userId, decision);
}

/**
 * Why a person does not count as an approver, or undefined when they do.
 * @param wanted what only approvers may do
 */
export function refusalOfNonApprover(
  { approvers, unconfirmed, unreadableGroups, named }: ApprovalPolicy,
  userId: string,
  wanted: ApproverRight,
): Refusal | undefined {
  if (approvers.has(userId)) return undefined;
  if (unconfirmed.has(userId)) return { code: 'own_membership_unknown' };
  return unreadableGroups.length === 0
    ? { code: 'not_an_approver', wanted, ...(named === undefined ? {} : { approvers: named }) }
    : { code: 'groups_unreadable', groupIds: unreadableGroups };
}
