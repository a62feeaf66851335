import { type Account, formatAccountName } from '../../accounts/account.ts';
import { code, escapeText, type Message, mention, mentionApprover, textMessage } from '../kit/blocks.ts';
import { reminderProblem } from '../outbound/slack-error.view.ts';

const CONSEQUENCES = {
  approvals: {
    where: 'the channel for all pending orders',
    until: 'Until this is fixed, I’ll message each approver.',
  },
  other: { where: 'where I want to post a message', until: 'Nothing is posted there until this is fixed.' },
};

/** @param why Slack's error code */
export function unreachableAlert(
  channelId: string,
  why: string,
  use: keyof typeof CONSEQUENCES | 'reminders',
): Message {
  if (use === 'reminders')
    return textMessage(
      `:warning: I can’t post expiry reminders in <#${channelId}> (${code(channelId)}): ${escapeText(reminderProblem(why))} To choose another channel, use \`/domain settings\`.`,
    );
  const { where, until } = CONSEQUENCES[use];
  return textMessage(
    `:warning: I can’t post in <#${channelId}> (${code(channelId)}), ${where}. Slack says ${code(why)}. ${until} Invite me there with \`/invite @Domain Steward\`, or choose another channel with \`/domain settings\`.`,
  );
}

/** @param why Slack's error code */
export function unreadableGroupAlert(groupId: string, why: string): Message {
  return textMessage(
    `:warning: Slack didn’t return the members of ${mentionApprover(groupId)} (${code(groupId)}), one of the approver groups. Slack says ${code(why)}. Until this is fixed, only approvers who are listed by name can approve. Check that the group exists and that I have the permission ${code('usergroups:read')}, or change the approvers with \`/domain settings\`.`,
  );
}

export function departedLinkerAlert(account: Account, userId: string): Message {
  return textMessage(
    `:warning: ${mention(userId)} left the workspace and may know the password of the team’s account, ${code(formatAccountName(account))}, which they linked. Change the password at the domain service, then link the account again with \`/domain link\`. To remove the account, use \`/domain unlink team\`.`,
  );
}

const ATTEMPTS: Readonly<Record<string, string>> = {
  connection: 'it can’t be reached',
  timeout: 'it times out',
  too_large: 'its response is too large',
};

/** @param why the last failure */
export function failingEndpointAlert(host: string, why: string): Message {
  const [, status] = /^http_(\d+)$/.exec(why) ?? [];
  const problem = status === undefined ? (ATTEMPTS[why] ?? why) : `it returns status ${status}`;
  return textMessage(
    `:warning: Webhooks to ${code(host)} (${code('WEBHOOK_URLS')}) fail, because ${problem}. I’ll retry for three days, then I’ll drop them. Ask your operator to check the receiver. To send a test, use \`/domain settings\`.`,
  );
}
