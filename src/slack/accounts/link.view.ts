import type { Button } from '@slack/types';
import { type Account, formatAccountName, isDemoContext } from '../../accounts/account.ts';
import type { ReadUserOutcome } from '../../accounts/accounts.ts';
import type { LinkOutcome, LinkRefusal, ServiceExplanation } from '../../accounts/check.ts';
import { dropMissing } from '../../lib/collections.ts';
import {
  button,
  code,
  escapeLine,
  escapeText,
  formatCount,
  formatLocalTime,
  joinAtMost,
  lineSections,
  type Message,
  mention,
  message,
  textMessage,
} from '../kit/blocks.ts';
import { formatFieldName, listAnswerFields } from '../orders/answer.view.ts';
import { formatContext } from '../orders/order.view.ts';
import { requestIssueText } from '../orders/request-issue.view.ts';

export const NOT_LINKED = textMessage(
  'You have no linked account yet. Use `/domain link` first, then try again.',
);

/** For admins of a team that has no team account. */
export const NOT_LINKED_ADMIN = textMessage(
  `${NOT_LINKED.text} As an admin, you can also let people without an account make requests: use \`/domain link\`, choose *Trusted application*, and select *The team’s account*.`,
);

/** For people who can order with the team's account but need an account of their own for this command. */
export const NOT_LINKED_BUT_CAN_ORDER = textMessage(
  `${NOT_LINKED.text} The team’s account is only for approved orders.`,
);

/** Returns plain text, for a form field or message. */
export function formatLinkRefusal(refusal: LinkRefusal): string {
  switch (refusal.code) {
    case 'not_accepted':
      return `The service didn’t accept these credentials. Check them and try again.${formatExplanation(refusal.explanation)}`;
    case 'not_sendable':
      return requestIssueText(refusal.issue);
    case 'busy':
      return `The service is busy, so nothing was saved. Try again in a minute.${formatExplanation(refusal.explanation)}`;
    case 'token_used':
      return `The current one-time token is already used, so nothing was saved. Try again in ${Math.ceil(refusal.retryAfterMs / 1_000)} seconds.`;
    case 'no_clear_answer':
      return refusal.explanation === undefined
        ? 'The service didn’t respond, so nothing was saved. Try again in a few minutes.'
        : `The service gave no clear answer, so nothing was saved. Try again in a few minutes.${formatExplanation(refusal.explanation)}`;
  }
}

function formatExplanation(explanation: ServiceExplanation | undefined): string {
  if (explanation === undefined) return '';
  return ` It says: ${explanation.text}${explanation.stid === undefined ? '' : ` (server transaction ${explanation.stid})`}`;
}

export const LINK_TEXTS = {
  intro:
    'Enter your own credentials for the domain service. I check them, encrypt them, and use them only for your orders.',
  invisibleCharacter: 'It contains an invisible character. Enter it again.',
  adminsOnly: 'Only admins can link the team’s account. Nothing was saved.',
  trustedApplicationOnly: 'The team’s account must be a trusted application. Nothing was saved.',
} as const;

export function tooManyAttemptsText(seconds: number): string {
  const wait = formatCount(Math.ceil(seconds / 60), 'minute');
  return `Too many attempts within an hour, so I didn’t contact the service. Try again in ${wait}. If you’re not sure about the credentials, ask the owner of the service account.`;
}

export function teamLinkedText({ account, replaced }: LinkOutcome & { readonly kind: 'linked' }): string {
  const replacementNote =
    replaced === undefined
      ? ''
      : ` It replaces ${code(formatAccountName(replaced))}. Pending orders with that account won’t be sent.`;
  return `:white_check_mark: Saved as the *team’s account*: ${code(formatAccountName(account))}. The service can’t check it in advance, so its first use will show whether it works. Approved orders from people without an account of their own now use it.${replacementNote} To remove it, use \`/domain unlink team\`.`;
}

export function linkedText({
  account,
  isVerified,
  replaced,
}: LinkOutcome & { readonly kind: 'linked' }): string {
  const name = code(formatAccountName(account));
  const systemLabel = isDemoContext(account.context) ? '*DEMO*' : '*LIVE*';
  const limitsNote =
    account.method === 'two_factor'
      ? ' A two-factor account works only for users, redirects, SSL contacts and preregistrations. Domain tasks need an account with a password.'
      : '';
  const replacementNote =
    replaced === undefined
      ? ''
      : ` It replaces ${code(formatAccountName(replaced))} (${METHOD_LABELS[replaced.method]}). Pending orders with that account won’t be sent.`;
  return isVerified
    ? `:white_check_mark: Linked: ${name}, ${systemLabel}. It’s your active account now.${replacementNote}${limitsNote} Try \`/domain renew cafe.rest\`, or \`/domain help\`.`
    : `:white_check_mark: Saved: ${name}. The service can’t check it in advance, so its first use will show whether it works. It’s your active account now.${replacementNote}`;
}

export const UNLINK_TEXTS = {
  adminsOnly: 'Only admins can unlink the team’s account. Ask a workspace admin or owner.',
  noTeamAccount: 'No team account is linked, so there’s nothing to delete.',
  noAccount: 'You have no linked account, so there’s nothing to delete.',
} as const;

const MAX_SHOWN_ORDERS = 10;

/** @param unsentOrderIds orders that would have used these accounts */
export function unlinkedText(
  removedAccounts: readonly Account[],
  unsentOrderIds: readonly string[],
  isTeamAccount = false,
): string {
  const names = removedAccounts.map((account) => code(formatAccountName(account))).join(', ');
  const ordersNote =
    unsentOrderIds.length === 0
      ? 'No pending orders use it.'
      : `${formatCount(unsentOrderIds.length, 'order')} won’t be sent: ${joinAtMost(unsentOrderIds.map(code), MAX_SHOWN_ORDERS)}.`;
  return `Deleted: ${isTeamAccount ? 'the team’s account, ' : ''}${names}. ${ordersNote}`;
}

export function unlinkQuestion(accounts: readonly Account[]): string {
  const list = accounts
    .map((account) => `• \`/domain unlink ${account.slot}\`: ${code(formatAccountName(account))}`)
    .join('\n');
  return `You have ${accounts.length} linked accounts. Which one do you want to delete?\n${list}`;
}

export function activeAccountQuestion(accounts: readonly Account[]): string {
  return `Which context? For example, \`/domain use 4\`.\n${accountListText(accounts)}`;
}

export function activeAccountText(account: Account): string {
  return `Your active account is now ${code(formatAccountName(account))}, ${formatContext(account.context)}.`;
}

/** Doesn't repeat the input, which may be a password. */
export function noSuchAccountText(accounts: readonly Account[]): string {
  return `No such account is linked.\n${accountListText(accounts)}`;
}

function accountListText(accounts: readonly Account[]): string {
  if (accounts.length === 0) return 'You have no linked account. Use `/domain link`.';
  return accounts.map(accountLine).join('\n');
}

const METHOD_LABELS: Readonly<Record<Account['method'], string>> = {
  password: 'password',
  trusted_application: 'trusted application',
  two_factor: 'two-factor',
};

function accountLine(account: Account): string {
  const lastCheckText =
    account.verifiedAt === undefined ? 'not used yet' : `last checked ${formatLocalTime(account.verifiedAt)}`;
  const applicationNote = account.application === undefined ? '' : ` “${escapeText(account.application)}”`;
  return `${account.isActive ? ':large_green_circle: *active*' : ':white_circle:'} ${code(formatAccountName(account))}${applicationNote}, ${account.context === undefined ? '' : `${formatContext(account.context)}, `}${METHOD_LABELS[account.method]}, ${lastCheckText}${formatProfile(account)}`;
}

function formatProfile({ profile, method }: Account): string {
  if (profile === undefined) {
    return method === 'password' ? '' : `\n      ${NO_DETAILS}`;
  }
  const { defaultEmail, status, substatus, language, owner } = profile;
  const parts = dropMissing([
    defaultEmail !== undefined && `email ${escapeLine(defaultEmail)}`,
    status !== undefined && `status ${status}${substatus === undefined ? '' : `, substatus ${substatus}`}`,
    owner?.user !== undefined &&
      `owner ${escapeLine(owner.user)}${owner.context === undefined ? '' : ` in context ${owner.context}`}`,
    language !== undefined && `language ${escapeLine(language)}`,
  ]);
  return parts.length === 0 ? '' : `\n      The service says: ${parts.join(', ')}`;
}

function teamAccountLine(teamAccount: Account | undefined, hasOwnAccount: boolean): string {
  if (teamAccount === undefined) return '';
  const linkedBy = teamAccount.linkedBy === undefined ? '' : `, linked by ${mention(teamAccount.linkedBy)}`;
  const lastUseText =
    teamAccount.verifiedAt === undefined
      ? 'not used yet'
      : `last used ${formatLocalTime(teamAccount.verifiedAt)}`;
  const usage = hasOwnAccount
    ? 'You use your own account.'
    : 'You use it, because you have no account of your own.';
  return `\n:busts_in_silhouette: *The team’s account*: ${code(formatAccountName(teamAccount))} “${escapeText(teamAccount.application ?? '')}”, ${lastUseText}${linkedBy}. Only approved orders use it. ${usage}`;
}

export function whoamiText(accounts: readonly Account[], teamAccount: Account | undefined): string {
  const usageNote = accounts.length > 1 ? '\nChange the active one with `/domain use CONTEXT`.' : '';
  return `${accountListText(accounts)}${usageNote}${teamAccountLine(teamAccount, accounts.length > 0)}`;
}

export function detailsButton(account: Account): Button {
  return button('whoami_details', 'Load rights, profile and customer data', account.id, {
    label: `Load more about ${formatAccountName(account)} from the service`,
  });
}

export const NO_LONGER_LINKED = 'This account is no longer linked. `/domain whoami` lists linked accounts.';
const NO_DETAILS = 'The service doesn’t provide more details about this account.';

const MAX_SHOWN_FIELDS = 60;

export function detailsMessage(account: Account, outcome: ReadUserOutcome): Message {
  switch (outcome.kind) {
    case 'failed':
      return textMessage(escapeText(formatLinkRefusal(outcome.refusal)));
    case 'not_documented':
      return textMessage(NO_DETAILS);
    case 'found': {
      const fields = listAnswerFields(outcome.record);
      const omittedCount = fields.length - MAX_SHOWN_FIELDS;
      return message(`Service data for ${escapeText(formatAccountName(account))}`, [
        ...lineSections([
          `*Service data for ${code(formatAccountName(account))}*`,
          ...fields
            .slice(0, MAX_SHOWN_FIELDS)
            .map(([name, value]) => `• ${formatFieldName(name)}: ${escapeLine(value, 300)}`),
          omittedCount > 0 && `• and ${omittedCount} more`,
        ]),
      ]);
    }
  }
}
