import type { HeldCode } from '../mandates/codes.ts';
import type { Shortfall } from '../money/budget.ts';
import type { RuleReference } from '../policy/policy.ts';
import type { ApprovalsGiven, OrderEvent, OrderState } from './order.ts';
import type { SendingDifference } from './summary.ts';

/** An incident as somebody was told of it. */
export interface ShownIncident {
  readonly id: string;
  /** How many changes it had. */
  readonly changes: number;
}

/** What a person may do who asked, or who is an approver. */
export type ApproverRight =
  | 'approve'
  | 'ask'
  | 'deny'
  | 'resolve'
  | 'retry'
  | 'stop'
  | 'resume'
  | 'undo'
  | 'end_mandate'
  /** To confirm, or to drop, a change of names that decides about orders. */
  | 'confirm_facts';

/** Why something is not done for a person. */
export type Refusal =
  /** A draft that was forgotten, or a slip. */
  | { readonly code: 'no_such_order' }
  /** The event does not apply in the order's state. */
  | { readonly code: 'wrong_state'; readonly wanted: OrderEvent['type']; readonly state: OrderState }
  /** The bot wanted to change an order by itself and found nothing to do. Nobody is told. */
  | { readonly code: 'not_due' }
  | { readonly code: 'draft_forgotten' }
  /** Another order for the same task and name is open. */
  | { readonly code: 'open_already'; readonly orderId: string }
  | { readonly code: 'time_is_over' }
  | { readonly code: 'approved_already' }
  /** A rule asks for a signature: no click takes its place. */
  | { readonly code: 'signature_needed' }
  /** At sending, the log says that it was sent before, or has ended. */
  | { readonly code: 'log_differs' }
  /** At sending, the approvals are not signed as they have to be. */
  | { readonly code: 'not_signed'; readonly differs: readonly SendingDifference[] }
  /** The requester cannot be asked by themselves. */
  | { readonly code: 'own_question' }
  /** Everybody else has agreed; an admin has to agree to the budgets that it exceeds. */
  | { readonly code: 'over_budget'; readonly over: readonly Shortfall[] }
  /** An admin approved before the card said by how much it exceeds budgets. */
  | { readonly code: 'excess_unseen'; readonly over: readonly Shortfall[] }
  | { readonly code: 'own_order'; readonly isApprover: boolean }
  | {
      readonly code: 'not_an_approver';
      readonly wanted: ApproverRight;
      /** Ids of the people and groups who may, where a rule of the policy names others than the settings do. */
      readonly approvers?: readonly string[];
    }
  /** A rule of the policy refuses what is asked for. */
  | { readonly code: 'policy_refuses'; readonly rules: readonly RuleReference[] }
  /** The approver they stand in for has approved, or another stand-in has. */
  | { readonly code: 'stand_in_not_needed' }
  /** Only admins approve alone in an emergency, and review that. */
  | { readonly code: 'not_an_admin'; readonly wanted: 'break_glass' | 'sign_off' }
  /** Whoever asked never approves alone. */
  | { readonly code: 'own_emergency' }
  /** Not every rule that asks for approval lets an admin approve alone. */
  | { readonly code: 'break_glass_not_allowed' }
  | { readonly code: 'reason_missing' }
  | { readonly code: 'nothing_to_sign_off' }
  | { readonly code: 'signed_off_already'; readonly by: string }
  /** Nobody reviews what they approved alone themselves, */
  | { readonly code: 'own_emergency_approval' }
  /** nor what they asked for. */
  | { readonly code: 'own_order_to_sign_off' }
  | { readonly code: 'not_the_requester'; readonly wanted: 'cancel' | 'confirm' | 'reveal' }
  /** Slack does not tell whether the person who acts is still a member. */
  | { readonly code: 'own_membership_unknown' }
  /** Since the card was shown something has appeared that would be lost. */
  | { readonly code: 'impact_changed' }
  /** An incident of a name of the order is open, which the card shows. */
  | { readonly code: 'incident_open'; readonly shown: readonly ShownIncident[] }
  /** Slack does not tell whether somebody else is still a member on whom the decision depends. */
  | { readonly code: 'membership_unknown'; readonly userId: string }
  /** Slack does not tell who belongs to groups of approvers. */
  | { readonly code: 'groups_unreadable'; readonly groupIds: readonly string[] }
  /** What a retry asks for again was done, or may be. */
  | { readonly code: 'earlier_order'; readonly finding: EarlierFinding }
  | { readonly code: 'not_failed'; readonly state: OrderState }
  | { readonly code: 'retry_over'; readonly days: number }
  /** The order has changed no nameservers, or set the same ones as before. */
  | { readonly code: 'nothing_to_undo' }
  | { readonly code: 'undo_over'; readonly hours: number }
  /** It is not known what they were before. */
  | { readonly code: 'undo_unknown' }
  | { readonly code: 'retry_unanswered' }
  | { readonly code: 'retry_done_since' }
  | { readonly code: 'retry_account_gone' }
  /** The secret part of the order, or of its answer, is another person's. */
  | { readonly code: 'secret_input_of'; readonly ownerId: string }
  | { readonly code: 'secret_answer_of'; readonly ownerId: string }
  | { readonly code: 'stop_unapproved' }
  /** A paused order needs more approvals than it has, by what is in force at this moment. */
  | { readonly code: 'approvals_missing'; readonly requirements: ApprovalsGiven['requirements'] }
  /** A bulk order goes on already, or has ended. */
  | { readonly code: 'not_paused' }
  /** An order of many rows is asked for again as a file. */
  | { readonly code: 'retry_bulk' }
  | { readonly code: 'nothing_waits'; readonly state: OrderState }
  | { readonly code: 'sent_already' }
  /** The mandate is not in force, or not any more. */
  | { readonly code: 'not_in_force' }
  /** Its mandate does not let an order go at this moment. Nobody is told. */
  | { readonly code: 'mandate_held'; readonly because: HeldCode }
  | { readonly code: 'outcome_known' }
  | { readonly code: 'nothing_to_reveal' }
  | { readonly code: 'reveal_over' }
  | { readonly code: 'reveal_key_missing' }
  | { readonly code: 'reveal_unopened' };

/** A name that may not be asked for again: an earlier order has done it, or may still do it. */
export interface EarlierFinding {
  readonly orderId: string;
  readonly name: string;
  readonly found: 'done' | 'open';
}
