import type { ItemSummary, PlainSummary, RetryReason } from '../../orders/summary.ts';
import { heldText } from '../mandates/held.view.ts';
import { issueText } from './input-issue.view.ts';
import { requestIssueText } from './request-issue.view.ts';

/*
 * What the bot itself says about an item or an event.
 */

type PlainCode = Exclude<
  PlainSummary['code'],
  | 'account_refused'
  | 'earlier_order'
  | 'mandate_held'
  | 'not_signed'
  | 'request_invalid'
  | 'rules_changed'
  | 'settled'
  | 'statement_changed'
>;

const PLAIN: Readonly<Record<PlainCode, string>> = {
  account_gone:
    'The account it was asked with is no longer linked, so nothing was sent. Link it again with `/domain link` and ask again.',
  answered_done: 'The service answered that it was carried out.',
  database_restored:
    'It was approved, and not sent as far as the bot’s database knows. That database was put back from a backup, failed over to another server or slept for long, so it may have been carried out since. It is not sent by itself.',
  done: 'Done.',
  failed_under_way: 'The bot failed while the request may have been under way.',
  in_force: 'It is in force.',
  log_differs:
    'The bot’s database says something else about this order than its log, and the log counts. Nothing more was sent. The admins are told. If it is still wanted, ask again.',
  may_be_sent_too: 'The bot’s database has lost what was sent of this order, so this may have been sent too.',
  no_answer: 'The service did not answer, and nothing was sent.',
  no_answer_known:
    'The request may have reached the service, but the bot stopped before it could read an answer.',
  no_readable_answer: 'The request may have reached the service, but no answer that can be read came back.',
  not_prepared: 'The bot could not prepare the request, so nothing was sent. Its log says why.',
  not_reached: 'The service could not be reached, so nothing was sent.',
  owner_left:
    'The person whose account it uses is no longer a full member of this workspace, so nothing was sent for it. If it is still wanted, ask again with your own account.',
  pause_over:
    'It was not sent: the order was paused, and nobody let it go on in time. If it is still wanted, ask again.',
  refused: 'The service refused.',
  requester_left:
    'The person who asked is no longer a full member of this workspace, so nothing was sent for it. If it is still wanted, somebody else has to ask.',
  sealed_unopened:
    'What is kept encrypted for it cannot be opened any more, so nothing was sent. Link the account again with `/domain link`, then ask again.',
  sent_again: 'The service did not answer. It is sent again, which does no harm.',
  service_busy: 'The service stayed busy, so it was not carried out.',
  session_ended:
    'The service refused it because the session had ended, so it was not carried out. It was not sent again, because the order has changed meanwhile.',
  stopped: 'It was stopped before it was sent.',
  stopped_under_way:
    'Its request was on its way when the order was stopped. It is not sent again, whatever becomes of it.',
  suspended:
    'The bot was suspended when it was about to send this, so it sent nothing. Meanwhile another process or person may have taken it for lost: look whether it was carried out before you settle it.',
  team_account_gone:
    'The team’s account is no longer linked, so nothing was sent. Link your own with `/domain link`, or have an admin link the team’s, and ask again.',
  tokens_used_up:
    'The one-time tokens of the linked account were used up again and again, so nothing was sent.',
  unclear_answer: 'The service answered, but its answer does not say clearly whether it was carried out.',
};

/** What people most have to know of a result that nobody knows, in a line; undefined where it takes more. */
export function doubtText({ code }: ItemSummary): string | undefined {
  switch (code) {
    case 'no_answer_known':
    case 'no_readable_answer':
      return 'It may have reached the service.';
    case 'earlier_unanswered':
      return 'An earlier one may have reached the service.';
    case 'unclear_answer':
      return 'The answer does not say clearly whether it was carried out.';
    default:
      return undefined;
  }
}

/** The result of an item, or why it was stopped, in sentences that are not escaped yet. */
export function summaryText(summary: ItemSummary): string {
  switch (summary.code) {
    case 'mandate_held':
      return `The mandate does not let it go: ${heldText(summary.because)}. Nothing was sent.`;
    case 'account_refused':
      if (summary.isTeamAccount === true)
        return `The service did not accept the team’s account (${summary.account}). An admin renews its link with \`/domain link\`; then retry.`;
      return `The service did not accept the linked account (${summary.account}). Renew the link with \`/domain link\`, then retry.`;
    case 'earlier_order':
      return summary.found === 'done'
        ? `Order \`${summary.orderId}\`, which this asks for again, turned out to have been carried out. Nothing was sent.`
        : `What became of order \`${summary.orderId}\`, which this asks for again, is not known yet. Nothing was sent. That order has to be settled first.`;
    case 'request_invalid':
      return `Nothing was sent. ${requestIssueText(summary.issue)}`;
    case 'rules_changed':
      return [
        'The rules have changed since it was asked for, so nothing was sent.',
        ...summary.issues.map(issueText),
      ].join(' ');
    case 'not_signed':
      return 'It is not approved with the signatures that it needs any more, so nothing was sent. If it is still wanted, ask again.';
    case 'statement_changed':
      return 'It is not what was asked for and approved any more, so nothing was sent. If it is still wanted, ask again.';
    case 'settled':
      return summary.outcome === 'SUCCEEDED' ? 'Settled as done.' : 'Settled as not done.';
    case 'earlier_unanswered':
      return `An earlier request may have reached the service and got no answer. After it: ${summaryText(summary.since)}`;
    case 'sending_lost': {
      const lost = 'This was sent, and the bot’s database has lost that it was.';
      return summary.since === undefined ? lost : `${lost} ${summaryText(summary.since)}`;
    }
    default:
      return PLAIN[summary.code];
  }
}

const RETRY_REASONS: Readonly<Record<RetryReason, string>> = {
  busy: 'The service is busy.',
  no_answer: 'The service did not answer.',
  no_answer_harmless: 'The service did not answer; repeating this is harmless.',
  not_reached: 'The service could not be reached.',
  not_sendable: 'It could not be sent.',
  session_ended: 'The service refused the request before it, because the session had ended.',
  token_used: 'The one-time token of this half minute is used up.',
};

/** Why a request goes out again, as a sentence that is not escaped yet. */
export function retryReasonText({ code }: { readonly code: RetryReason }): string {
  return RETRY_REASONS[code];
}
