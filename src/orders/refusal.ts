import type { HoldReason } from '../mandates/codes.ts';
import type { BudgetOverrun } from '../money/budget.ts';
import type { RuleReference } from '../policy/policy.ts';
import type { ApprovalProgress, OrderEvent, OrderState } from './order.ts';
import type { ScheduleIssue } from './schedule.ts';
import type { SendingDifference } from './summary.ts';

export interface ShownIncident {
  readonly id: string;
  readonly changeCount: number;
}

/** Actions that approvers may take. Requesters may take some of them too. */
export type ApproverAction =
  | 'approve'
  | 'ask'
  | 'deny'
  | 'resolve'
  | 'retry'
  | 'stop'
  | 'resume'
  | 'undo'
  | 'end_mandate'
  /** Confirm or discard a change to a name's protected fields. */
  | 'confirm_protected_change';

export type Refusal =
  /** The id is a typo, or the order was a deleted draft. */
  | { readonly code: 'no_such_order' }
  | { readonly code: 'wrong_state'; readonly action: OrderEvent['type']; readonly state: OrderState }
  /** There is nothing to change automatically. Not shown to people. */
  | { readonly code: 'not_due' }
  | { readonly code: 'draft_deleted' }
  | { readonly code: 'already_open'; readonly orderId: string }
  | { readonly code: 'order_expired' }
  | { readonly code: 'send_at'; readonly issue: ScheduleIssue }
  | { readonly code: 'send_at_after_expiry'; readonly expiresAt: Date }
  | { readonly code: 'already_approved' }
  /** A rule requires a signature, not a click. */
  | { readonly code: 'signature_needed' }
  /** When sending: the item was already sent or has ended, according to the log. */
  | { readonly code: 'log_differs' }
  /** When sending: the approvals lack required signatures. */
  | { readonly code: 'not_signed'; readonly differences: readonly SendingDifference[] }
  /** Requesters can't ask themselves a question. */
  | { readonly code: 'own_question' }
  /** Only an admin's consent to exceed a budget is missing. */
  | { readonly code: 'over_budget'; readonly exceeded: readonly BudgetOverrun[] }
  /** An admin approved before the card showed the excess. */
  | { readonly code: 'excess_not_shown'; readonly exceeded: readonly BudgetOverrun[] }
  | { readonly code: 'own_order'; readonly isApprover: boolean }
  | {
      readonly code: 'not_an_approver';
      readonly action: ApproverAction;
      /** Ids of approvers and groups; omitted if the approvers are those in the settings. */
      readonly approvers?: readonly string[];
    }
  | { readonly code: 'policy_refuses'; readonly rules: readonly RuleReference[] }
  /** The absent approver or another stand-in has already approved. */
  | { readonly code: 'stand_in_not_needed' }
  | { readonly code: 'not_an_admin'; readonly action: 'break_glass' | 'sign_off' }
  | { readonly code: 'emergency_on_own_order' }
  /** A rule that requires approval doesn't allow break glass. */
  | { readonly code: 'break_glass_not_allowed' }
  | { readonly code: 'reason_missing' }
  | { readonly code: 'nothing_to_sign_off' }
  | { readonly code: 'already_signed_off'; readonly by: string }
  /** Admins can't sign off their own emergency approval. */
  | { readonly code: 'own_emergency_approval' }
  /** Requesters can't sign off an emergency approval of their own order. */
  | { readonly code: 'own_order_to_sign_off' }
  | { readonly code: 'not_the_requester'; readonly action: 'cancel' | 'confirm' | 'reveal' }
  /** Slack can't look up whether the person is still a member. */
  | { readonly code: 'own_membership_unknown' }
  /** The impact has grown: something that the card didn't show could also stop working. */
  | { readonly code: 'impact_changed' }
  /** One of the order's names has an open incident that the person hasn't seen yet. */
  | { readonly code: 'incident_open'; readonly incidents: readonly ShownIncident[] }
  /** Slack can't look up the membership of another person on whom the decision depends. */
  | { readonly code: 'membership_unknown'; readonly userId: string }
  /** Slack can't look up the members of approver groups. */
  | { readonly code: 'groups_unreadable'; readonly groupIds: readonly string[] }
  /** An earlier order that this one retries was, or may have been, carried out. */
  | { readonly code: 'earlier_order'; readonly finding: EarlierFinding }
  | { readonly code: 'not_failed'; readonly state: OrderState }
  | { readonly code: 'retry_expired'; readonly days: number }
  /** The order didn't change any nameservers, or set the same ones as before. */
  | { readonly code: 'nothing_to_undo' }
  | { readonly code: 'undo_expired'; readonly hours: number }
  | { readonly code: 'previous_nameservers_unknown' }
  | { readonly code: 'retry_outcome_unknown' }
  | { readonly code: 'retry_already_done' }
  | { readonly code: 'retry_account_gone' }
  /** The order's input contains another person's secret. */
  | { readonly code: 'secret_input_of'; readonly ownerId: string }
  /** The service's answer would contain another person's secret. */
  | { readonly code: 'secret_answer_of'; readonly ownerId: string }
  | { readonly code: 'not_approved_yet' }
  /** A paused order lacks approvals under the current rules. */
  | { readonly code: 'approvals_missing'; readonly requirements: ApprovalProgress['requirements'] }
  /** The bulk order is running again, or has ended. */
  | { readonly code: 'not_paused' }
  /** A bulk order can be retried only with a new file. */
  | { readonly code: 'retry_bulk' }
  | { readonly code: 'nothing_to_stop'; readonly state: OrderState }
  | { readonly code: 'already_sent' }
  | { readonly code: 'not_in_force' }
  /** The mandate now holds the order. Not shown to people. */
  | { readonly code: 'mandate_held'; readonly holdReason: HoldReason }
  | { readonly code: 'outcome_known' }
  | { readonly code: 'nothing_to_reveal' }
  | { readonly code: 'secret_expired' }
  | { readonly code: 'secret_key_missing' }
  | { readonly code: 'secret_undecryptable' };

/** A name that can't be retried, because an earlier order was, or may still be, carried out. */
export interface EarlierFinding {
  readonly orderId: string;
  readonly name: string;
  readonly outcome: 'done' | 'open';
}
