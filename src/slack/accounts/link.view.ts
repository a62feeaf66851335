import type { Button } from '@slack/types';
import { type Account, accountName } from '../../accounts/account.ts';
import type { LookUpOutcome } from '../../accounts/accounts.ts';
import type { LinkOutcome, LinkRefusal, ServiceStatement } from '../../accounts/check.ts';
import { present } from '../../lib/collections.ts';
import {
  button,
  code,
  count,
  escapeText,
  firstOf,
  lines,
  type Message,
  mention,
  message,
  moment,
  quote,
  textMessage,
} from '../kit/blocks.ts';
import { factsOf, fieldWords } from '../orders/answer.view.ts';
import { formatContext } from '../orders/order.view.ts';
import { requestIssueText } from '../orders/request-issue.view.ts';

/* Why an account cannot be linked or shown, as plain text that a form shows at a field; and what is said without one. */

/** Said to people without an account where one is needed. */
export const NOT_LINKED = textMessage(
  'You have no linked account yet. Type `/domain link` first, then try again.',
);

/** The same to admins, where nobody can ask without an account of their own. */
export const NOT_LINKED_ADMIN = textMessage(
  `${NOT_LINKED.text} As an admin you can let people without an account ask. Type \`/domain link\`, choose *Trusted application*, and tick that it is the team’s account.`,
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

/** What is said about linking. */
export const LINK = {
  intro:
    'Your own credentials at the domain service. They are checked, sealed, and used for what you ask for only.',
  unseen: 'It contains a character that cannot be seen. Type it again.',
  teamByAdmins: 'Only admins can link the team’s account. Nothing was stored.',
  teamIsApplication: 'Only a trusted application can be the team’s account. Nothing was stored.',
} as const;

export function tooManyTriesText(seconds: number): string {
  const wait = count(Math.ceil(seconds / 60), 'minute');
  return `Too many tries within an hour, so the service was not asked. Wait ${wait}, then try once more; whoever runs the account there can say which credentials are right.`;
}

export function teamLinkedText({ account, replaced }: LinkOutcome & { readonly kind: 'linked' }): string {
  const gone =
    replaced === undefined
      ? ''
      : ` It takes the place of ${code(accountName(replaced))}, which is forgotten: orders that wait with that one will not be sent.`;
  return `:white_check_mark: Stored as the *team’s account*: ${code(accountName(account))}, not yet used. The service documents no way to check it, so its first use tells. People without an account of their own can ask now: what is approved goes out with this one.${gone} \`/domain unlink team\` forgets it.`;
}

export function linkedText({
  account,
  verified,
  replaced,
}: LinkOutcome & { readonly kind: 'linked' }): string {
  const name = code(accountName(account));
  const where = formatContext(account.context);
  const limits =
    account.method === 'two_factor'
      ? ' A two-factor account can work with users, redirects, SSL contacts and preregistrations; domain tasks need an account with a password.'
      : '';
  const gone =
    replaced === undefined
      ? ''
      : ` It takes the place of ${code(accountName(replaced))} (${METHOD_WORDS[replaced.method]}), which is forgotten: orders that wait with that one will not be sent.`;
  return verified
    ? `:white_check_mark: Linked: ${name}, ${where}. It is your active account now.${gone}${limits} Try \`/domain renew cafe.rest\`, or \`/domain help\`.`
    : `:white_check_mark: Stored: ${name}, not yet used. The service documents no way to check it, so its first use tells. It is your active account now.${gone}`;
}

/** Why nothing was forgotten. */
export const UNLINK = {
  teamByAdmins: 'Only admins can unlink the team’s account. Ask a workspace admin or owner.',
  noTeam: 'No team’s account is linked, so there is nothing to forget.',
  none: 'You have no linked account, so there is nothing to forget.',
} as const;

const SHOWN_ORDERS = 10;

/** @param unsent ids of orders that would have gone out with these accounts */
export function forgottenText(gone: readonly Account[], unsent: readonly string[], isTeams = false): string {
  const names = gone.map((account) => code(accountName(account))).join(', ');
  const orders =
    unsent.length === 0
      ? 'No order waits for it.'
      : `Nothing more is sent of ${count(unsent.length, 'order')}: ${firstOf(unsent.map(code), SHOWN_ORDERS)}.`;
  return `Forgotten: ${isTeams ? 'the team’s account, ' : ''}${names}. ${orders}`;
}

export function whichToForget(accounts: readonly Account[]): string {
  const list = accounts
    .map((account) => `• \`/domain unlink ${account.slot}\`: ${code(accountName(account))}`)
    .join('\n');
  return `You have ${accounts.length} linked accounts. Say which one to forget:\n${list}`;
}

export function whichToUse(accounts: readonly Account[]): string {
  return `Say which context, such as \`/domain use 4\`.\n${accountList(accounts)}`;
}

export function activeText(account: Account): string {
  return `Active now: ${code(accountName(account))}, ${formatContext(account.context)}.`;
}

/** What was typed may be a password, so it is not repeated. */
export function noSuchSlot(accounts: readonly Account[]): string {
  return `You have no account linked for this.\n${accountList(accounts)}`;
}

function accountList(accounts: readonly Account[]): string {
  if (accounts.length === 0) return 'You have no linked account. Type `/domain link`.';
  return accounts.map(accountLine).join('\n');
}

const METHOD_WORDS: Readonly<Record<Account['method'], string>> = {
  password: 'password',
  trusted_application: 'trusted application',
  two_factor: 'two-factor',
};

function accountLine(account: Account): string {
  const checked =
    account.verifiedAt === undefined ? 'not yet used' : `last checked ${moment(account.verifiedAt)}`;
  const name = account.application === undefined ? '' : ` “${escapeText(account.application)}”`;
  return `${account.active ? ':large_green_circle: *active*' : ':white_circle:'} ${code(accountName(account))}${name}, ${formatContext(account.context)}, ${METHOD_WORDS[account.method]}, ${checked}${formatProfile(account)}`;
}

/** What the service said about the user when the account was last checked, on a line of its own. */
function formatProfile({ profile, method }: Account): string {
  if (profile === undefined) {
    return method === 'password' ? '' : `\n      ${NO_DETAILS}`;
  }
  const { defaultEmail, status, substatus, language, owner } = profile;
  const parts = present([
    defaultEmail !== undefined && `e-mail ${quote(defaultEmail)}`,
    status !== undefined && `status ${status}${substatus === undefined ? '' : `, substatus ${substatus}`}`,
    owner?.user !== undefined &&
      `owner ${quote(owner.user)}${owner.context === undefined ? '' : ` in context ${owner.context}`}`,
    language !== undefined && `language ${quote(language)}`,
  ]);
  return parts.length === 0 ? '' : `\n      The service says: ${parts.join(', ')}`;
}

/** That there is an account of the team, who linked it, and whether the reader's orders go out with it. */
function teamAccountLine(team: Account | undefined, hasOwn: boolean): string {
  if (team === undefined) return '';
  const by = team.linkedBy === undefined ? '' : `, linked by ${mention(team.linkedBy)}`;
  const checked = team.verifiedAt === undefined ? 'not yet used' : `last used ${moment(team.verifiedAt)}`;
  const use = hasOwn
    ? 'Yours go out with your own.'
    : 'Yours go out with it, because you have none of your own.';
  return `\n:busts_in_silhouette: *The team’s account*: ${code(accountName(team))} “${escapeText(team.application ?? '')}”, ${checked}${by}. Only approved orders use it. ${use}`;
}

/** A person's accounts, and the team's. */
export function whoamiText(accounts: readonly Account[], team: Account | undefined): string {
  const use = accounts.length > 1 ? '\nChange the active one with `/domain use CONTEXT`.' : '';
  return `${accountList(accounts)}${use}${teamAccountLine(team, accounts.length > 0)}`;
}

export function detailsButton(account: Account): Button {
  return button('whoami_details', 'Ask for rights, profile and customer', account.id, {
    label: `Ask the service for more of ${accountName(account)}`,
  });
}

export const UNLINKED_SINCE = 'This account is not linked any more. `/domain whoami` shows those that are.';
const NO_DETAILS = 'The document shows no login that tells more of such an account.';

/** The number of facts that a message shows; a list of rights can be long. */
const MAX_FACTS = 60;

/** What the service tells about a login. */
export function detailsMessage(account: Account, outcome: LookUpOutcome): Message {
  switch (outcome.kind) {
    case 'failed':
      return textMessage(escapeText(formatLinkRefusal(outcome.refusal)));
    case 'not_documented':
      return textMessage(NO_DETAILS);
    case 'told': {
      const facts = factsOf(outcome.record);
      const left = facts.length - MAX_FACTS;
      return message(`What the service knows of ${escapeText(accountName(account))}`, [
        ...lines([
          `*What the service knows of ${code(accountName(account))}*`,
          ...facts.slice(0, MAX_FACTS).map(([name, value]) => `• ${fieldWords(name)}: ${quote(value, 300)}`),
          left > 0 && `• and ${left} more`,
        ]),
      ]);
    }
  }
}
