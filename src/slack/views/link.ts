import type { LinkRefusal, ServiceStatement } from '../../accounts/accounts.ts';
import { requestIssueText } from './request-issue.ts';

/* Why an account cannot be linked or shown. Plain text: a form shows it at a field. */

/** Why a credential was refused or its account cannot be shown, and what to do. */
export function formatLinkRefusal(refusal: LinkRefusal): string {
  switch (refusal.code) {
    case 'not_accepted':
      return `The service did not accept these credentials. Check them and try again.${formatStatement(refusal.said)}`;
    case 'not_sendable':
      return requestIssueText(refusal.issue);
    case 'busy':
      return `The service is busy, so nothing was stored. Wait a minute and try again.${formatStatement(refusal.said)}`;
    case 'token_used':
      return `The token of this half minute has been used already, so nothing was stored. Try again in ${Math.ceil(refusal.retryAfterMs / 1_000)} seconds.`;
    case 'no_clear_answer':
      return refusal.said === undefined
        ? 'The service did not answer, so nothing was stored. Try again in a few minutes.'
        : `The service gave no clear answer, so nothing was stored. Try again in a few minutes.${formatStatement(refusal.said)}`;
  }
}

function formatStatement(said: ServiceStatement | undefined): string {
  if (said === undefined) return '';
  return ` It says: ${said.words}${said.stid === undefined ? '' : ` (transaction ${said.stid})`}`;
}
