import { count, section, textMessage } from '../kit/blocks.ts';
import { noticeView } from '../kit/form.ts';

/* What people are told of a delivery as such: who may use the bot, and how long it takes. */

export const SLOW = textMessage('This takes longer than usual. I’ll answer here.');

/** Said when the delivery was acknowledged late and the handler itself says nothing. */
export const DONE = textMessage('Done.');

/** Said to people of other workspaces. */
export const NOT_A_MEMBER = textMessage(
  'Only members of this workspace can use Domain Steward. Ask a member to do it for you.',
);

/** The same where the other workspaces of the organisation are let in. */
export const NOT_OF_THE_ORGANISATION = textMessage(
  'Only members of this organization can use Domain Steward, without guests. Ask a member to do it for you.',
);

export const NOT_AN_ADMIN = textMessage('Only admins can do this. Ask a workspace admin or owner.');
export const ADMIN_UNKNOWN = textMessage(
  'Slack doesn’t confirm that you’re an admin. Try again in a minute.',
);

/** @param orderId of the order whose card it is */
export function retiredMessage(link: string | undefined, orderId: string | undefined) {
  const current = link === undefined ? [] : [`the <${link}|current message>`];
  const command = orderId === undefined ? [] : [`\`/domain order ${orderId}\``];
  const ways = [...current, ...command];
  const todo = ways.length === 0 ? 'A new message follows' : `Use ${ways.join(' or ')}`;
  return textMessage(`Slack doesn’t let me update this message anymore, so nothing changed. ${todo}.`);
}

export const OPENED_TOO_LATE = 'Opening this took too long for Slack. Try again.';

export const tooManyMessage = (seconds: number) =>
  textMessage(
    `Too many commands and clicks within a minute, so this one was ignored. Try again in ${count(seconds, 'second')}.`,
  );

/** Shown for a form that another release of the bot opened. */
export const UNKNOWN_FORM = noticeView('Domain Steward', [
  section('This form is out of date, so nothing was done. Open it again, then submit it.'),
]);

/** Shown in the place of a form whose outcome takes longer. */
export const CHECKING = section(':hourglass_flowing_sand: Checking. The result appears here.');
export const ANSWERED_ELSEWHERE = section('Done. The answer is in the channel, visible only to you.');
