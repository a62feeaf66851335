import { type Account, formatAccountName } from '../../accounts/account.ts';
import { code, escapeText, type Message, mention, mentionApprover, textMessage } from '../kit/blocks.ts';
import { reminderProblem } from '../outbound/slack-error.view.ts';

const CONSEQUENCES = {
  approvals: {
    where: 'where every pending order is posted for approvers',
    until: 'Until this is fixed, I message each approver.',
  },
  other: { where: 'where I have something to post', until: 'Nothing is posted there until this is fixed.' },
};

/** @param why Slack's error code */
export function unreachableAlert(
  channelId: string,
  why: string,
  use: keyof typeof CONSEQUENCES | 'reminders',
): Message {
  if (use === 'reminders')
    return textMessage(
      `Expiry reminders can’t be posted in <#${channelId}> ${code(channelId)}: ${escapeText(reminderProblem(why))} The channel is set in \`/domain settings\`.`,
    );
  const { where, until } = CONSEQUENCES[use];
  return textMessage(
    `:warning: I can’t post in <#${channelId}> (${code(channelId)}), ${where}. Slack says ${code(why)}. ${until} Invite me there with \`/invite @Domain Steward\`, or choose another channel with \`/domain settings\`.`,
  );
}

/** @param why Slack's error code */
export function unreadableGroupAlert(groupId: string, why: string): Message {
  return textMessage(
    `:warning: Slack didn’t return the members of ${mentionApprover(groupId)} (${code(groupId)}), one of the approver groups. Slack says ${code(why)}. Until this is fixed, its members can’t approve; people listed by name can. Check that the group exists and that I have the permission ${code('usergroups:read')}, or change the approvers with \`/domain settings\`.`,
  );
}

export function departedLinkerAlert(account: Account, userId: string): Message {
  return textMessage(
    `:warning: ${mention(userId)} left the workspace. They linked the team’s account, ${code(formatAccountName(account))}, which stays linked and is used for approved orders of people without their own account. They may know its password: change it at the domain service, then link it again with \`/domain link\`. \`/domain unlink team\` deletes it.`,
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
    `:warning: Webhooks to ${code(host)} (${code('WEBHOOK_URLS')}) fail: ${problem}. I’ll retry for three days; after that they’re lost. Ask your operator to check it. You can send a test from \`/domain settings\`.`,
  );
}
