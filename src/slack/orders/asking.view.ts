import { type Account, APPLICATION_SLOT, formatAccountName } from '../../accounts/account.ts';
import { isOpen, type Order } from '../../orders/order.ts';
import type { OrderTask } from '../../orders/order-task.ts';
import type { RetryOutcome } from '../../orders/retry-button.ts';
import type { RequestIssue } from '../../service/request-issue.ts';
import { formatDomainName } from '../../zones/names.ts';
import { NOT_LINKED } from '../accounts/link.view.ts';
import { code, escapeText, formatCount, type Message, textMessage } from '../kit/blocks.ts';
import { issueText } from './input-issue.view.ts';
import { orderTitle, STATES } from './order.view.ts';
import { refusalText } from './refusal.view.ts';
import { requestIssueText } from './request-issue.view.ts';

/* Immediate replies to a request, which say that it was accepted or why it wasn't. */

/**
 * Says why no order was created.
 * @param canSeeOrder whether the person may see the open order that the request conflicts with
 */
export function rejectionMessage(
  outcome: Exclude<RetryOutcome, { readonly kind: 'accepted' }>,
  canSeeOrder: boolean,
): Message {
  switch (outcome.kind) {
    case 'already_open':
      return textMessage(alreadyOpenText(outcome.order, canSeeOrder));
    case 'not_linked':
      return NOT_LINKED;
    case 'unsupported':
      return textMessage(`Your account can’t do this. ${escapeText(requestIssueText(outcome.issue))}`);
    case 'invalid':
      return textMessage(formatIssues(outcome.issues.map(issueText)));
    case 'refused':
      return textMessage(refusalText(outcome.refusal));
    case 'needs_secret':
      return textMessage('The secret wasn’t stored. Click *Retry* again and enter it.');
    case 'needs_plan':
      return textMessage('Click *Retry* again to get a plan of the failed rows.');
  }
}

const MAX_SHOWN_ISSUES = 10;

function formatIssues(issueTexts: readonly string[]): string {
  const [firstText, ...others] = issueTexts;
  if (firstText !== undefined && others.length === 0)
    return `Nothing was requested. ${escapeText(firstText)}`;
  const bullets = issueTexts.slice(0, MAX_SHOWN_ISSUES).map((text) => `• ${escapeText(text)}`);
  const hiddenCount = issueTexts.length - bullets.length;
  if (hiddenCount > 0) bullets.push(`• … and ${hiddenCount} more.`);
  return ['Nothing was requested.', ...bullets].join('\n');
}

/** Says that the request duplicates an open order. */
function alreadyOpenText(order: Order, canSeeOrder: boolean): string {
  return canSeeOrder
    ? `Nothing was requested. An order for this is already open: ${code(order.id)} *${escapeText(orderTitle(order))}*, requested by <@${order.requesterId}>. To see it, use \`/domain order ${order.id}\`.`
    : 'Nothing was requested. A private order for this is already open. Only its requester, approvers and admins can see it. Ask an approver about it.';
}

/**
 * Plain text, because field errors have no markup.
 * @param names the names in the form, in ASCII
 */
export function alreadyOpenFieldText(order: Order, names: readonly string[], canSeeOrder: boolean): string {
  const sharedNames = order.items.map(({ name }) => name).filter((name) => names.includes(name));
  const [first = orderTitle(order), ...others] = sharedNames.map(formatDomainName);
  const namesText = others.length === 0 ? first : `${first} and ${formatCount(others.length, 'other name')}`;
  const remedy = `Nothing was requested. Remove ${others.length === 0 ? 'the name' : 'them'} and try again`;
  return canSeeOrder
    ? `${namesText}: order ${order.id} is already open. ${remedy}, or see the order with /domain order ${order.id}.`
    : `${namesText}: a private order is already open. ${remedy}, or ask an approver about it.`;
}

export function unsupportedText(account: Account, { zoneTask }: OrderTask, issue: RequestIssue): string {
  const accountName = code(formatAccountName(account));
  return account.method === 'two_factor' && zoneTask !== undefined
    ? `${accountName} uses two-factor sign-in, and the service doesn’t accept domain tasks that way. It works for users, redirects, SSL contacts and preregistrations. For domains, link an account with a password or a trusted application: \`/domain link\`. If you already have one, choose it with \`/domain use CONTEXT\`.`
    : `${accountName} can’t do this. ${escapeText(requestIssueText(issue))}`;
}

/** Sent if the person would otherwise have to wait for the card. */
export function requestedText(order: Order): string {
  return `Requested: *${escapeText(orderTitle(order))}*, order ${code(order.id)}. Its card shows the status.`;
}

/** @param retryInMs time until the next attempt to post the card */
export function missingCardMessage(order: Order, retryInMs: number | undefined): Message {
  const { id } = order;
  const retryText =
    retryInMs === undefined
      ? 'I’ll post it as soon as Slack accepts it.'
      : `I’ll try again in ${formatCount(Math.max(Math.ceil(retryInMs / 1_000), 1), 'second')}, and keep trying until Slack accepts it.`;
  return textMessage(
    `Your order is saved: *${escapeText(orderTitle(order))}*, order ${code(id)}. I can’t post it in Slack right now. ${retryText} To see the order, use \`/domain order ${id}\`.`,
  );
}

export function retryMessage({ id, state }: Order): Message {
  return textMessage(
    isOpen(state)
      ? `Requested again as order ${code(id)}. I’m posting the card.`
      : `This was already retried as order ${code(id)} (${STATES[state].shortText}). To see it, use \`/domain order ${id}\`.`,
  );
}

/** Says why the current account can't retry an order of another account. */
export function otherAccountText({ isTeamAccount, ...account }: Order['account']): string {
  return isTeamAccount === true
    ? 'This was requested with the team’s account, and you now have your own. Request it again with `/domain`.'
    : `This was requested with ${code(formatAccountName(account))}, which isn’t your active account. Choose it with \`/domain use ${account.context ?? APPLICATION_SLOT}\`, then try again.`;
}

export function accountChangedText(account: Account): string {
  return `Your active account is now ${code(formatAccountName(account))}, not the one this form opened with. Nothing was requested. Check the fields, then submit again.`;
}

/** For a `renew` command whose last word is neither a name nor a number. */
export const UNREADABLE_LAST_WORD =
  'Nothing was requested. The last word isn’t a full domain name, such as cafe.rest, or a number of years, such as 2.';
export const misplacedPeriodText = (command: string) =>
  `Nothing was requested. Put the number of years last: ${code(command)}.`;

export const invalidContactIdText = (id: string) =>
  `${code(id)} isn’t a contact ID. Enter only the ID, such as \`/domain ssl-contact 501\`.`;
