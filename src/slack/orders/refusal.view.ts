import type { OrderEvent, OrderState } from '../../orders/order.ts';
import type { ApproverRight, Refusal } from '../../orders/refusal.ts';
import { missingLines, ruleNames } from '../approvals/decision.view.ts';
import { mentionApprover } from '../kit/mrkdwn.ts';
import { overBudgetText } from '../money/budget.view.ts';
import { STATES } from './order.view.ts';
import { summaryText } from './summary.view.ts';

/*
 * Why something is not done for a person, and what to do instead.
 */

/** Follows "It cannot be". */
const PARTICIPLES: Readonly<Record<OrderEvent['type'], string>> = {
  confirmed: 'confirmed',
  approved: 'approved',
  emergency_approved: 'approved in an emergency',
  signed_off: 'signed off',
  denied: 'denied',
  cancelled: 'cancelled',
  expired: 'expired',
  reminded: 'reminded',
  escalated: 'escalated',
  asked: 'asked about',
  claimed: 'carried out',
  sending: 'sent',
  retry_scheduled: 'held back',
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
  shown: 'confirmed by the registry',
  overdue: 'noted as overdue',
  delegation_seen: 'noted what its nameservers answer',
  in_force: 'put into force',
  mandate_ending: 'said to end',
  mandate_ended: 'ended',
};

/** What a person can do after a refusal, by the state of the order. */
const NEXT: Readonly<Record<OrderState, string>> = {
  DRAFT: 'The person who asked has to confirm it first.',
  PENDING: 'An approver decides about it.',
  APPROVED: 'Its thread will say how it ends.',
  EXECUTING: 'Its thread will say how it ends.',
  SUCCEEDED: 'Its thread says how it went.',
  FAILED: 'Its thread says why; Retry asks again.',
  UNKNOWN: 'An approver has to settle it first.',
  DENIED: 'Ask again if it is still wanted.',
  EXPIRED: 'Ask again if it is still wanted.',
  CANCELLED: 'Ask again if it is still wanted.',
};

const NOT_AN_APPROVER: Readonly<Record<ApproverRight, string>> = {
  approve: 'Only approvers can approve orders. Ask one of them; the card names them.',
  ask: 'Only approvers can ask back. Write into the thread what you want to say.',
  deny: 'Only approvers can deny orders. Ask one of them; the card names them.',
  resolve:
    'Only approvers can settle an order whose outcome is not known. Ask one of them to look at the domain service.',
  retry:
    'Only the person who asked, or an approver, can retry. Ask one of them, or ask for it yourself with `/domain`.',
  stop: 'Only the person who asked, or an approver, can stop this. Ask one of them.',
  resume: 'Only the person who asked, or an approver, can let this go on. Ask one of them.',
  undo: 'Only the person who asked, or an approver, can undo this. Ask one of them.',
  confirm_facts: 'Only approvers can decide about this. Ask one of them.',
  end_mandate: 'Only the person who asked for it, or an approver, can end a mandate. Ask one of them.',
};

/** Stands before the names of those who may, where a rule of the policy names them. */
const NOT_AN_APPROVER_BY_RULE: Readonly<Record<ApproverRight, string>> = {
  approve: 'You cannot approve this. By the policy these can:',
  ask: 'Only who could approve this can ask back. By the policy these can:',
  deny: 'You cannot deny this. By the policy these can:',
  resolve: 'You cannot settle this. By the policy these can:',
  retry: 'Only the person who asked, or who could approve it, can retry. By the policy these can:',
  stop: 'Only the person who asked, or who could approve it, can stop this. By the policy these can:',
  resume: 'Only the person who asked, or who could approve it, can let this go on. By the policy these can:',
  undo: 'Only the person who asked, or who could approve it, can undo this. By the policy these can:',
  confirm_facts: 'You cannot decide about this. These can:',
  end_mandate: 'Only the person who asked for it, or who could approve it, can end a mandate. These can:',
};

const NOT_THE_REQUESTER = {
  cancel: 'Only the person who asked can cancel. An approver can deny it.',
  confirm: 'Only the person who asked can confirm.',
  reveal: 'Only the person who asked can see this. Ask for your own with `/domain`.',
};

const NOT_AN_ADMIN = {
  break_glass: 'Only admins can approve alone in an emergency.',
  sign_off: 'Only admins can sign this off.',
};

/** Refusals that say the same of every order. */
const PLAIN = {
  signature_needed: 'The policy asks for a signature here: no click takes its place. Press *Sign*.',
  not_signed:
    'Its approvals are not signed as they have to be, so nothing was sent. Its thread says how it stands.',
  log_differs: 'My log says something else about this order, so nothing was sent. Its thread says more.',
  no_such_order: 'There is no such order. `/domain orders` lists the latest.',
  not_due: 'Nothing is to be done about it at this moment. Its thread says how it stands.',
  draft_forgotten: 'That was not confirmed in time and has been forgotten. Ask again if it is still wanted.',
  time_is_over: 'Its time is over. Ask again if it is still wanted.',
  stand_in_not_needed:
    'The approval that you could give in somebody else’s place is there already. It needs somebody else’s approval too.',
  approved_already: 'You have approved this already. It needs somebody else’s approval too.',
  own_question: 'You asked for this yourself. Write into the thread what approvers should know.',
  own_emergency:
    'You asked for this, so you cannot approve it alone, not even in an emergency. Ask an approver, or another admin.',
  break_glass_not_allowed:
    'The policy does not let an admin approve this alone: not every rule that asks for approval allows it in an emergency. Ask one of the approvers; the card names them.',
  reason_missing: 'Say why it cannot wait. Everybody who could have approved reads it.',
  nothing_to_sign_off: 'There is nothing to sign off: nobody approved this alone.',
  own_emergency_approval: 'You approved this alone, so another admin has to sign it off.',
  own_order_to_sign_off: 'You asked for this, so another admin has to sign it off.',
  incident_open:
    'Something has happened to this name that no order explains, and I counted no approval. The card says what: look there, and press again if it is still right.',
  impact_changed:
    'Something that hangs on this name has appeared since it was asked for, or can be seen no longer. The card shows it in a moment: look at it, and approve again if it is still right.',
  own_membership_unknown: 'Slack does not tell me whether you are still here. Try again in a minute.',
  retry_unanswered:
    'A request of this left and its answer never came, so it may have been carried out and is not asked for again. Look at the domain service; if it was not, ask for it anew with `/domain`.',
  retry_done_since:
    'It turned out since that this was carried out, so it is not asked for again. Its thread has the answer.',
  retry_account_gone:
    'The account it was asked with is no longer linked. Link it with `/domain link` and ask again.',
  nothing_to_undo: 'There is nothing to undo: it changed no nameservers. `/domain nameservers` sets others.',
  undo_unknown:
    'What the nameservers were before is not known, so I cannot set them back. `/domain nameservers` sets those that you name.',
  stop_unapproved: 'It is not approved yet. The person who asked can cancel it, an approver can deny it.',
  not_in_force:
    'This mandate is not in force, or has ended already. `/domain mandates` lists those that are.',
  not_paused: 'It is not paused. Its thread says how it stands.',
  retry_bulk:
    'The auth codes of its file were not kept. Take the failed rows out of its result file, add their auth codes, and ask with `/domain bulk transfer`.',
  sent_already: 'Its request is on its way and cannot be called back. Its thread will say how it ends.',
  outcome_known: 'Its outcome is known by now; there is nothing to settle. Its thread says how it went.',
  nothing_to_reveal: 'This order has nothing to show. Ask for it again with `/domain`.',
  reveal_over: 'It was shown already, or its hour is over, and it is gone. Ask for it again.',
  reveal_key_missing:
    'One of my keys is missing here, so this was not shown, and is still kept. Try again in a few minutes, within the hour for which it is kept; whoever runs me finds in my log which key it is.',
  reveal_unopened:
    'This cannot be opened: its key is missing, or it was changed. Whoever runs me can bring the key back within the hour; else ask for it again.',
};

/** Why something is not done for a person and what to do instead, in sentences with markup. */
export function refusalText(refusal: Refusal): string {
  switch (refusal.code) {
    case 'wrong_state':
      return `It cannot be ${PARTICIPLES[refusal.wanted]}: the order is ${STATES[refusal.state].words}. ${NEXT[refusal.state]}`;
    case 'open_already':
      return `Another order for this is open already: \`${refusal.orderId}\`. See it with \`/domain order ${refusal.orderId}\`.`;
    case 'own_order':
      return refusal.isApprover
        ? 'You asked for this, so somebody else has to approve it.'
        : 'You asked for this, so an approver has to approve it. The card names them.';
    case 'not_an_approver':
      return refusal.approvers === undefined
        ? NOT_AN_APPROVER[refusal.wanted]
        : `${NOT_AN_APPROVER_BY_RULE[refusal.wanted]} ${refusal.approvers.map(mentionApprover).join(', ')}.`;
    case 'policy_refuses':
      return `The policy doesn’t allow this: ${ruleNames(refusal.rules)}. If it’s needed anyway, ask an admin.`;
    case 'not_an_admin':
      return `${NOT_AN_ADMIN[refusal.wanted]} Ask a workspace admin or owner. If you are one, try again in a minute.`;
    case 'signed_off_already':
      return `<@${refusal.by}> has signed this off already.`;
    case 'not_the_requester':
      return NOT_THE_REQUESTER[refusal.wanted];
    case 'membership_unknown':
      return `Slack does not tell me whether <@${refusal.userId}> is still here. Try again in a minute.`;
    case 'groups_unreadable': {
      const groups = refusal.groupIds.map((id) => `<!subteam^${id}>`).join(' and ');
      return `I could not read the group ${groups} in Slack, so I do not know whether you are an approver. Try again in a minute, or ask an approver whom the card names.`;
    }
    case 'earlier_order': {
      const { orderId, found } = refusal.finding;
      return summaryText({ code: 'earlier_order', orderId, found });
    }
    case 'over_budget':
      return `${overBudgetText(refusal.over)} An admin has to approve that besides everybody else whose approval it needs.`;
    case 'excess_unseen':
      return `${overBudgetText(refusal.over)} The card did not say so when you pressed; it does in a moment. Look at it, and press again if it is still right.`;
    case 'approvals_missing':
      return `It does not go on with the approvals that it has: by what is in force now it needs ${missingLines(refusal).join('; ')} besides. Who approves presses *Go on*, too.`;
    case 'not_failed':
      return `Only an order that failed can be retried; this one is ${STATES[refusal.state].words}. Ask for it anew with \`/domain\`.`;
    case 'retry_over':
      return `It ended more than ${refusal.days} days ago, so it can no longer be retried. Ask for it anew with \`/domain\`.`;
    case 'undo_over':
      return `It was done more than ${refusal.hours} hours ago, so it can no longer be undone with one click. Type \`/domain nameservers\` with the ones that you want.`;
    case 'secret_input_of':
      return `Its secret part was not kept. Only the person who asked first, <@${refusal.ownerId}>, can ask again and type it.`;
    case 'secret_answer_of':
      return `Its answer is a secret for <@${refusal.ownerId}> alone, so only they can ask for it again. Ask for your own with \`/domain\`.`;
    case 'mandate_held':
      return summaryText({ code: 'mandate_held', because: refusal.because });
    case 'nothing_waits':
      return `The order is ${STATES[refusal.state].words}; nothing waits to be sent any more. Its thread says how it went.`;
    default:
      return PLAIN[refusal.code];
  }
}
