import type { OrderEvent, OrderState } from '../../orders/order.ts';
import type { ApproverAction, Refusal } from '../../orders/refusal.ts';
import type { ScheduleIssue } from '../../orders/schedule.ts';
import { getUtcDay } from '../../zones/calendar-day.ts';
import { formatRuleNames, missingApprovalLines } from '../approvals/decision.view.ts';
import { formatDay } from '../expiry/expiry.view.ts';
import { joinWithOr, mentionApprover } from '../kit/mrkdwn.ts';
import { overrunDetailsText } from '../money/budget.view.ts';
import { summaryText } from './summary.view.ts';

/* Says why a request is refused, and what to do instead. */

/** Completes “This can’t be …”. */
const PARTICIPLES: Readonly<Record<OrderEvent['type'], string>> = {
  confirmed: 'confirmed',
  approved: 'approved',
  emergency_approved: 'approved in an emergency',
  signed_off: 'signed off',
  denied: 'denied',
  cancelled: 'canceled',
  expired: 'expired',
  reminded: 'reminded',
  escalated: 'escalated',
  asked: 'asked about',
  reopened: 'reopened',
  claimed: 'carried out',
  sending: 'sent',
  retry_scheduled: 'paused',
  released: 'released',
  stopped: 'stopped',
  paused: 'paused',
  contradicted: 'stopped',
  resumed: 'resumed',
  answered: 'answered',
  invalidated: 'invalidated',
  hinted: 'given a hint',
  resolved: 'resolved',
  answered_late: 'answered',
  confirmed_by_registry: 'confirmed by the registry',
  overdue: 'marked as overdue',
  delegation_seen: 'checked at its nameservers',
  in_force: 'put in force',
  mandate_ending: 'announced to end',
  mandate_ended: 'ended',
};

const NEXT_STEPS: Readonly<Record<OrderState, string>> = {
  DRAFT: 'The requester has to confirm it first.',
  PENDING: 'An approver has to decide first.',
  APPROVED: 'The result will appear in its thread.',
  EXECUTING: 'The result will appear in its thread.',
  SUCCEEDED: 'See the result in its thread.',
  FAILED: 'See the reason in its thread. Retry requests it again.',
  UNKNOWN: 'An approver has to mark it as done or failed first.',
  DENIED: 'Request it again if you still need it.',
  EXPIRED: 'Request it again if you still need it.',
  CANCELLED: 'Request it again if you still need it.',
};

/** Completes “the order …”. */
const STATE_PREDICATES: Readonly<Record<OrderState, string>> = {
  DRAFT: 'isn’t confirmed yet',
  PENDING: 'is waiting for approval',
  APPROVED: 'is already approved',
  EXECUTING: 'is in progress',
  SUCCEEDED: 'is already done',
  FAILED: 'failed',
  UNKNOWN: 'was sent, but its outcome is unknown',
  DENIED: 'was denied',
  EXPIRED: 'expired',
  CANCELLED: 'was canceled',
};

const NOT_AN_APPROVER_TEXTS: Readonly<Record<ApproverAction, string>> = {
  approve: 'Only approvers can approve orders. The card lists them.',
  ask: 'Only approvers can ask a question here. Write in the thread instead.',
  deny: 'Only approvers can deny orders. The card lists them.',
  resolve:
    'Only approvers can mark this as done or failed. Ask one of them to check with the domain service.',
  retry:
    'Only the requester or an approver can retry. Ask one of them, or request it yourself with `/domain`.',
  stop: 'Only the requester or an approver can stop this. Ask one of them.',
  resume: 'Only the requester or an approver can resume this. Ask one of them.',
  undo: 'Only the requester or an approver can undo this. Ask one of them.',
  confirm_protected_change: 'Only approvers can confirm this. Ask one of them.',
  end_mandate: 'Only the requester or an approver can end a mandate. Ask one of them.',
};

/** Used if a policy rule names the approvers. */
const NOT_AN_APPROVER_BY_RULE: Readonly<Record<ApproverAction, (approvers: string) => string>> = {
  approve: (approvers) => `You can’t approve this. Under the policy, only ${approvers} can.`,
  ask: (approvers) => `You can’t ask a question here. Under the policy, only ${approvers} can.`,
  deny: (approvers) => `You can’t deny this. Under the policy, only ${approvers} can.`,
  resolve: (approvers) => `You can’t mark this as done or failed. Under the policy, only ${approvers} can.`,
  retry: (approvers) => `You can’t retry this. Only the requester or ${approvers} can.`,
  stop: (approvers) => `You can’t stop this. Only the requester or ${approvers} can.`,
  resume: (approvers) => `You can’t resume this. Only the requester or ${approvers} can.`,
  undo: (approvers) => `You can’t undo this. Only the requester or ${approvers} can.`,
  confirm_protected_change: (approvers) => `You can’t confirm this. Only ${approvers} can.`,
  end_mandate: (approvers) => `You can’t end this mandate. Only the requester or ${approvers} can.`,
};

const NOT_THE_REQUESTER = {
  cancel: 'Only the requester can cancel this. An approver can deny it.',
  confirm: 'Only the requester can confirm this.',
  reveal: 'Only the requester can see this. If you need it, make your own request with `/domain`.',
};

const NOT_AN_ADMIN = {
  break_glass: 'Only admins can use break glass.',
  sign_off: 'Only admins can sign this off.',
};

const PLAIN_REFUSAL_TEXTS = {
  signature_needed: 'The policy requires a signature. Click *Sign*.',
  not_signed: 'A required signature is missing or no longer valid, so nothing was sent. See its thread.',
  log_differs: 'The log contradicts this order, so nothing was sent. See its thread.',
  no_such_order: 'This order doesn’t exist. `/domain orders` lists the latest.',
  not_due: 'There’s nothing to do right now. See its thread.',
  draft_deleted: 'This wasn’t confirmed in time and was dropped. Request it again if you still need it.',
  order_expired: 'This has expired. Request it again if you still need it.',
  stand_in_not_needed:
    'The approval you could give as a stand-in was already given. It needs another approver.',
  already_approved: 'You already approved this. It needs another approver.',
  own_question: 'You requested this. Write in the thread what approvers should know.',
  emergency_on_own_order:
    'You requested this, so you can’t use break glass for it. Ask an approver or another admin.',
  break_glass_not_allowed:
    'The policy doesn’t allow break glass here: not every rule that requires approval permits it. Ask an approver; the card lists them.',
  reason_missing: 'Say why it can’t wait. Everyone who could have approved will read it.',
  nothing_to_sign_off: 'There’s nothing to sign off: this wasn’t an emergency approval.',
  own_emergency_approval: 'You approved this alone, so another admin has to sign off on it.',
  own_order_to_sign_off: 'You requested this, so another admin has to sign off on it.',
  incident_open:
    'This name has an unexplained change, so your approval wasn’t counted. Check the card, and approve again if it’s still right.',
  impact_changed:
    'The impact of this order changed since it was requested, so your approval wasn’t counted. Check the card, and approve again if it’s still right.',
  own_membership_unknown: 'Slack can’t confirm right now that you’re still a member. Try again in a minute.',
  retry_outcome_unknown:
    'A request was sent and got no response, so it may have been carried out and can’t be retried. Check with the domain service. If it wasn’t done, request it again with `/domain`.',
  retry_already_done:
    'This was carried out after all, so it can’t be retried. See the response in its thread.',
  retry_account_gone:
    'The account it used is no longer linked. Link it with `/domain link` and request it again.',
  nothing_to_undo: 'There’s nothing to undo: no nameservers changed. `/domain nameservers` sets others.',
  previous_nameservers_unknown:
    'The previous nameservers are unknown, so I can’t restore them. Set them with `/domain nameservers`.',
  not_approved_yet: 'This order isn’t approved yet. The requester can cancel it, or an approver can deny it.',
  not_in_force: 'This mandate isn’t in force. `/domain mandates` lists those that are.',
  not_paused: 'This order isn’t paused. See its thread.',
  retry_bulk:
    'The auth codes of its file weren’t kept. Take the failed rows from its result file, add their auth codes, and use `/domain bulk transfer`.',
  already_sent:
    'This request is already being sent and can’t be stopped. The result will appear in its thread.',
  outcome_known: 'This order’s outcome is known, so there’s nothing to mark. See its thread.',
  nothing_to_reveal: 'This order has nothing to show. Request it again with `/domain`.',
  secret_expired: 'This was already shown, or an hour has passed. Request it again.',
  secret_key_missing:
    'An encryption key is missing, so I can’t show this yet. It’s kept for an hour: try again in a few minutes. Your operator can find the missing key’s ID in the log.',
  secret_undecryptable:
    'This can’t be decrypted: its key is missing, or the data was changed. Your operator can restore the key within the hour. Otherwise, request it again.',
};

const SCHEDULE_ISSUE_TEXTS: Readonly<Record<ScheduleIssue, string>> = {
  unreadable: 'Enter a date and time, such as 2026-12-06 02:00.',
  no_such_time: 'That time doesn’t exist on that day, because clocks go forward. Choose another time.',
  past: 'That time is in the past. Choose a time at least 5 minutes from now.',
  too_soon: 'That’s too soon. Choose a time at least 5 minutes from now, or leave it out.',
  too_late: 'That’s too far ahead. Choose a time within 90 days.',
  time_zone_unknown: 'Slack didn’t return your time zone. Try again in a minute.',
  not_for_task: 'This can’t be scheduled. Request it without a time.',
};

/** Returns mrkdwn. */
export function refusalText(refusal: Refusal): string {
  switch (refusal.code) {
    case 'wrong_state':
      return refusal.action === 'confirmed'
        ? `There’s nothing left to confirm: the order ${STATE_PREDICATES[refusal.state]}. ${NEXT_STEPS[refusal.state]}`
        : `This can’t be ${PARTICIPLES[refusal.action]}, because the order ${STATE_PREDICATES[refusal.state]}. ${NEXT_STEPS[refusal.state]}`;
    case 'already_open':
      return `Another order for this is already open: \`${refusal.orderId}\`. To see it, use \`/domain order ${refusal.orderId}\`.`;
    case 'own_order':
      return refusal.isApprover
        ? 'You requested this, so someone else has to approve it.'
        : 'You requested this, so an approver has to approve it. The card lists them.';
    case 'not_an_approver':
      return refusal.approvers === undefined
        ? NOT_AN_APPROVER_TEXTS[refusal.action]
        : NOT_AN_APPROVER_BY_RULE[refusal.action](joinWithOr(refusal.approvers.map(mentionApprover)));
    case 'policy_refuses':
      return `The policy doesn’t allow this: ${formatRuleNames(refusal.rules)}. If you need it, ask an admin.`;
    case 'not_an_admin':
      return `${NOT_AN_ADMIN[refusal.action]} Ask a workspace admin or owner. If you’re one, try again in a minute.`;
    case 'already_signed_off':
      return `<@${refusal.by}> already signed this off.`;
    case 'not_the_requester':
      return NOT_THE_REQUESTER[refusal.action];
    case 'membership_unknown':
      return `Slack can’t confirm right now that <@${refusal.userId}> is still a member. Try again in a minute.`;
    case 'groups_unreadable': {
      const groups = refusal.groupIds.map((id) => `<!subteam^${id}>`).join(' and ');
      return `Slack didn’t return the members of ${groups}, so I can’t tell whether you’re an approver. Try again in a minute, or ask an approver named on the card.`;
    }
    case 'earlier_order': {
      const { orderId, outcome } = refusal.finding;
      return summaryText({ code: 'earlier_order', orderId, outcome });
    }
    case 'over_budget':
      return `${overrunDetailsText(refusal.exceeded)} An admin also has to approve it.`;
    case 'excess_not_shown':
      return `${overrunDetailsText(refusal.exceeded)} The card didn’t say so when you clicked the button; it will in a moment. Check it, and approve again if it’s still right.`;
    case 'approvals_missing':
      return `This order can’t resume with its current approvals: it now also needs ${missingApprovalLines(refusal).join('; ')}. Approvers also have to click *Resume*.`;
    case 'not_failed':
      return `Only failed orders can be retried. This order ${STATE_PREDICATES[refusal.state]}. ${refusal.state === 'UNKNOWN' ? NEXT_STEPS.UNKNOWN : 'Request it again with `/domain`.'}`;
    case 'retry_expired':
      return `This ended more than ${refusal.days} days ago, so it can’t be retried. Request it again with \`/domain\`.`;
    case 'undo_expired':
      return `This was done more than ${refusal.hours} hours ago, so it can’t be undone here. Use \`/domain nameservers\`.`;
    case 'secret_input_of':
      return `This order’s secret wasn’t kept. Only the requester, <@${refusal.ownerId}>, can retry and enter it again.`;
    case 'secret_answer_of':
      return `This order’s result is a secret of <@${refusal.ownerId}>, so only they can retry. If you need it, make your own request with \`/domain\`.`;
    case 'send_at':
      return SCHEDULE_ISSUE_TEXTS[refusal.issue];
    case 'send_at_after_expiry':
      return `A name expires before that time, on ${formatDay(getUtcDay(refusal.expiresAt))}. Choose an earlier time.`;
    case 'mandate_held':
      return summaryText({ code: 'mandate_held', holdReason: refusal.holdReason });
    case 'nothing_to_stop':
      return `Nothing is waiting to be sent: the order ${STATE_PREDICATES[refusal.state]}. See its thread.`;
    default:
      return PLAIN_REFUSAL_TEXTS[refusal.code];
  }
}
