import { code, escapeText, type Message, textMessage } from './blocks.ts';
import { reminderProblem } from './slack-error.ts';

const CONSEQUENCES = {
  approvals: {
    where: 'where approvers are to find every waiting order',
    until: 'Until I can, I write to each approver.',
  },
  other: {
    where: 'where I have something to tell',
    until: 'I do not tell it there until I can.',
  },
};

/** Nothing can be posted in a channel. @param why Slack's code */
export function unreachableAlert(
  channelId: string,
  why: string,
  use: keyof typeof CONSEQUENCES | 'reminders',
): Message {
  if (use === 'reminders')
    return textMessage(
      `Reminders of names that expire cannot be posted in <#${channelId}> ${code(channelId)}: ${escapeText(reminderProblem(why))} Another channel is chosen with \`/domain settings\`.`,
    );
  const { where, until } = CONSEQUENCES[use];
  return textMessage(
    `:warning: I cannot post in <#${channelId}> (${code(channelId)}), ${where}. Slack says ${code(why)}. ${until} Invite me there with \`/invite @Domain Steward\`, or choose another channel with \`/domain settings\`.`,
  );
}
