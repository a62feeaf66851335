import { formatCount, section, textMessage } from '../kit/blocks.ts';
import { noticeView } from '../kit/form.ts';

export const DELAY_NOTICE = textMessage('This takes longer than usual. I’ll answer here.');

/** Used if the delivery was acknowledged late and its handler has no reply. */
export const DONE_NOTICE = textMessage('Done.');

export const NOT_A_MEMBER = textMessage(
  'Only members of this workspace can use Domain Steward. Ask a member to do it for you.',
);

/** For organizations whose other workspaces may use the bot. */
export const NOT_IN_ORGANIZATION = textMessage(
  'Only full members of this organization can use Domain Steward, not guests. Ask a member to do it for you.',
);

export const NOT_AN_ADMIN = textMessage('Only admins can do this. Ask a workspace admin or owner.');
export const ADMIN_STATUS_UNKNOWN = textMessage(
  'Slack can’t confirm right now that you’re an admin. Try again in a minute.',
);

/** @param orderId the order that the message is about */
export function uneditableMessageNotice(currentMessageUrl: string | undefined, orderId: string | undefined) {
  const alternatives = [
    ...(currentMessageUrl === undefined ? [] : [`the <${currentMessageUrl}|current message>`]),
    ...(orderId === undefined ? [] : [`\`/domain order ${orderId}\``]),
  ];
  const nextStep = alternatives.length === 0 ? 'A new message follows' : `Use ${alternatives.join(' or ')}`;
  return textMessage(`Slack doesn’t let me update this message anymore, so nothing changed. ${nextStep}.`);
}

export const OPENED_TOO_LATE = 'Opening this took too long for Slack. Try again.';

export const rateLimitedMessage = (seconds: number) =>
  textMessage(
    `Too many commands and clicks within a minute, so this one was ignored. Try again in ${formatCount(seconds, 'second')}.`,
  );

/** For a form that another release of the bot opened. */
export const UNKNOWN_FORM = noticeView('Domain Steward', [
  section('This form is out of date, so nothing was done. Open it again, then submit it.'),
]);

/** Shown while a form's outcome isn't known yet. */
export const CHECKING_NOTICE = section(':hourglass_flowing_sand: Checking. The result appears here.');
export const ANSWERED_IN_CHANNEL = section('Done. The answer is in the channel, visible only to you.');
