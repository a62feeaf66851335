import type { LinkRefusal, ServiceStatement } from '../../accounts/accounts.ts';
import { textMessage } from '../kit/blocks.ts';
import { requestIssueText } from '../orders/request-issue.view.ts';

/* Why an account cannot be linked or shown, as plain text that a form shows at a field; and what is said without one. */

/** Said to people without an account where one is needed. */
export const NOT_LINKED = textMessage(
  'You have no linked account yet. Type `/domain link` first, then try again.',
);

/** The same to admins, where nobody can ask without an account of their own. */
export const NOT_LINKED_ADMIN = textMessage(
  `${NOT_LINKED.text} As an admin you can also let people without an account ask: \`/domain link\`, choose *Trusted application*, and tick that it is the team’s account.`,
);

/** The same to people who can ask with the team's account, of what it is not used for. */
export const NOT_LINKED_BUT_MAY_ORDER = textMessage(
  `${NOT_LINKED.text} The team’s account is for orders alone, once they are approved.`,
);

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
