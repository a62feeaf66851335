import type { ItemSummary, PlainSummary, ReopenReason, RetryReason } from '../../orders/summary.ts';
import { holdReasonText } from '../mandates/held.view.ts';
import { issueText } from './input-issue.view.ts';
import { requestIssueText } from './request-issue.view.ts';

/* The bot's own words about an item or event. */

type PlainSummaryCode = Exclude<
  PlainSummary['code'],
  | 'account_refused'
  | 'earlier_order'
  | 'mandate_held'
  | 'not_signed'
  | 'policy_refuses'
  | 'request_invalid'
  | 'rules_changed'
  | 'settled'
  | 'statement_changed'
>;

const PLAIN_SUMMARY_TEXTS: Readonly<Record<PlainSummaryCode, string>> = {
  account_gone:
    'The account it used is no longer linked, so nothing was sent. Link it again with `/domain link` and request it again.',
  answered_done: 'The service confirmed that it was carried out.',
  database_restored:
    'It was approved, and may already have been sent: the database was restored from a backup or failed over, or no bot was running. It won’t be sent automatically.',
  decryption_failed:
    'Its encrypted data can’t be decrypted anymore, so nothing was sent. Link the account again with `/domain link`, then request it again.',
  done: 'Done.',
  error_while_sending: 'The bot failed while it was sending the request, so it may have been carried out.',
  in_force: 'It’s in force.',
  log_differs:
    'The database and the log disagree about this order, so nothing more was sent. Admins were notified. Request it again if you still need it.',
  may_also_be_sent: 'The database lost what was sent for this order, so this may have been sent too.',
  no_answer: 'The service didn’t respond, and nothing was sent.',
  no_answer_known: 'The request may have reached the service, but the bot stopped before it read a response.',
  no_readable_answer: 'The request may have reached the service, but no readable response came back.',
  not_prepared: 'The bot couldn’t prepare the request, so nothing was sent. See its log.',
  not_reached: 'The service couldn’t be reached, so nothing was sent.',
  owner_left:
    'The account’s owner is no longer a full member of this workspace, so nothing was sent. Request it again with your own account if you still need it.',
  pause_expired:
    'It wasn’t sent: the order was paused and not resumed in time. Request it again if you still need it.',
  refused: 'The service refused.',
  requester_left:
    'The requester is no longer a full member of this workspace, so nothing was sent. Someone else can request it.',
  sent_again: 'The service didn’t respond. Sending it again is safe.',
  service_busy: 'The service stayed busy, so it wasn’t carried out.',
  session_ended:
    'The service refused it because the session had ended, so it wasn’t carried out. It wasn’t sent again, because the order changed meanwhile.',
  stopped: 'It was stopped before it was sent.',
  stopped_while_sending: 'Its request was being sent when the order was stopped. It won’t be sent again.',
  suspended:
    'The bot was suspended right before sending, so it sent nothing. Another process or person may have acted meanwhile: check whether it was carried out before you mark it as done or failed.',
  team_account_gone:
    'The team’s account is no longer linked, so nothing was sent. Link your own with `/domain link`, or ask an admin to link the team’s, and request it again.',
  tokens_used_up: 'Each one-time token of the linked account was already used, so nothing was sent.',
  unclear_answer: 'The service’s response doesn’t say clearly whether it was carried out.',
};

/** One line about an unknown outcome; undefined if one line isn't enough. */
export function unknownOutcomeText({ code }: ItemSummary): string | undefined {
  switch (code) {
    case 'no_answer_known':
    case 'no_readable_answer':
      return 'The service may have received it.';
    case 'earlier_unanswered':
      return 'An earlier request may have reached the service.';
    case 'unclear_answer':
      return 'The response doesn’t say clearly whether it was carried out.';
    default:
      return undefined;
  }
}

function formatRefusingRules(rules: Extract<PlainSummary, { code: 'policy_refuses' }>['rules']): string {
  return rules.map((rule) => (rule.kind === 'rule' ? `rule “${rule.name}”` : 'the settings')).join(', ');
}

/** The result of an item, or why it was stopped. The caller must escape the text. */
export function summaryText(summary: ItemSummary): string {
  switch (summary.code) {
    case 'mandate_held':
      return `The mandate doesn’t allow it: ${holdReasonText(summary.holdReason)}. Nothing was sent.`;
    case 'account_refused':
      if (summary.isTeamAccount === true)
        return `The service refused the team’s account (${summary.account}). An admin can link it again with \`/domain link\`; then retry.`;
      return `The service refused the linked account (${summary.account}). Link it again with \`/domain link\`, then retry.`;
    case 'earlier_order':
      return summary.outcome === 'done'
        ? `Order \`${summary.orderId}\`, which this retries, was carried out after all. Nothing was sent.`
        : `The outcome of order \`${summary.orderId}\`, which this retries, is unknown. Nothing was sent. Mark that order as done or failed first.`;
    case 'request_invalid':
      return `Nothing was sent. ${requestIssueText(summary.issue)}`;
    case 'rules_changed':
      return [
        'The rules changed since it was requested, so nothing was sent.',
        ...summary.issues.map(issueText),
      ].join(' ');
    case 'policy_refuses':
      return `The policy no longer allowed it at the scheduled time: ${formatRefusingRules(summary.rules)}. Nothing was sent.`;
    case 'not_signed':
      return 'It no longer has the required signatures, so nothing was sent. Request it again if you still need it.';
    case 'statement_changed':
      return 'It no longer matches what was requested and approved, so nothing was sent. Request it again if you still need it.';
    case 'settled':
      return summary.outcome === 'SUCCEEDED' ? 'Marked as done.' : 'Marked as failed.';
    case 'earlier_unanswered':
      return `An earlier request may have reached the service and got no response. After it: ${summaryText(summary.since)}`;
    case 'sending_lost': {
      const lostText = 'This was sent, but the bot’s database lost the record.';
      return summary.since === undefined ? lostText : `${lostText} ${summaryText(summary.since)}`;
    }
    default:
      return PLAIN_SUMMARY_TEXTS[summary.code];
  }
}

const RETRY_REASON_TEXTS: Readonly<Record<RetryReason, string>> = {
  busy: 'The service is busy.',
  no_answer: 'The service didn’t respond.',
  no_answer_harmless: 'The service didn’t respond; repeating this is safe.',
  not_reached: 'The service couldn’t be reached.',
  not_sendable: 'It couldn’t be sent.',
  session_ended: 'The service refused the previous request because the session had ended.',
  token_used: 'The current one-time token is already used.',
};

/** Why a scheduled order needs approval again. */
const REOPEN_REASON_TEXTS: Readonly<Record<ReopenReason, string>> = {
  late: 'it couldn’t be sent in time',
  price: 'the price changed',
  requirements: 'it now needs more approvals',
  approvals: 'an earlier approval no longer counts',
  budget: 'it now exceeds a budget',
  impact: 'its impact changed',
  incident: 'a name has an unexplained change',
};

export function reopenReasonText(reasons: readonly ReopenReason[]): string {
  return reasons.map((reason) => REOPEN_REASON_TEXTS[reason]).join(', ');
}

export function retryReasonText({ code }: { readonly code: RetryReason }): string {
  return RETRY_REASON_TEXTS[code];
}
