import { type Account, accountName } from '../../accounts/account.ts';
import { code, escapeText, type Message, mention, mentionApprover, textMessage } from '../kit/blocks.ts';
import { reminderProblem } from '../outbound/slack-error.view.ts';

const CONSEQUENCES = {
  approvals: {
    where: 'where approvers are to find every waiting order',
    until: 'Until I can, I write to each approver.',
  },
  other: { where: 'where I have something to tell', until: 'I do not tell it there until I can.' },
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

/** An approver group cannot be read. @param why Slack's code */
export function unreadableGroupAlert(groupId: string, why: string): Message {
  return textMessage(
    `:warning: I could not read the group ${mentionApprover(groupId)} (${code(groupId)}), which is among the approvers. Slack says ${code(why)}. Until I can, its members cannot approve; people who are listed themselves can. Check that the group exists and that I have the permission ${code('usergroups:read')}, or change the approvers with \`/domain settings\`.`,
  );
}

/** Who linked the team's account has left. */
export function departedLinkerAlert(account: Account, userId: string): Message {
  return textMessage(
    `:warning: ${mention(userId)} has left the workspace. They linked the team’s account, ${code(accountName(account))}, which stays linked: approved orders of people without an account of their own go out with it. They may know its password, so change it at the domain service, then link it again with \`/domain link\`. \`/domain unlink team\` forgets it.`,
  );
}

const ATTEMPTS: Readonly<Record<string, string>> = {
  connection: 'there is no connection to it',
  timeout: 'it does not answer in time',
  too_large: 'its answer is too large',
};

/** An endpoint takes no webhooks. @param why how the last attempt failed */
export function failingEndpointAlert(host: string, why: string): Message {
  const [, status] = /^http_(\d+)$/.exec(why) ?? [];
  const problem = status === undefined ? (ATTEMPTS[why] ?? why) : `it answers with the status ${status}`;
  return textMessage(
    `:warning: ${code(host)} in ${code('WEBHOOK_URLS')} does not take what I tell it besides Slack: ${problem}. I go on trying; what it does not take for three days is lost to it. Whoever runs me can look at it there. A test is in \`/domain settings\`.`,
  );
}
