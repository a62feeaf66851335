import { type Account, formatAccountName } from '../../accounts/account.ts';
import { code, escapeText, type Message, mention, mentionApprover, textMessage } from '../kit/blocks.ts';
import { formatReminderChannelError } from '../outbound/slack-error.view.ts';

const CONSEQUENCES = {
  approvals: {
    channel: 'the channel for all pending orders',
    effect: 'Until this is fixed, I’ll message each approver.',
  },
  other: {
    channel: 'where I want to post a message',
    effect: 'Nothing is posted there until this is fixed.',
  },
};

export function unreachableAlert(
  channelId: string,
  errorCode: string,
  purpose: keyof typeof CONSEQUENCES | 'reminders',
): Message {
  if (purpose === 'reminders')
    return textMessage(
      `:warning: I can’t post expiry reminders in <#${channelId}> (${code(channelId)}): ${escapeText(formatReminderChannelError(errorCode))}`,
    );
  const { channel, effect } = CONSEQUENCES[purpose];
  return textMessage(
    `:warning: I can’t post in <#${channelId}> (${code(channelId)}), ${channel}. Slack says ${code(errorCode)}. ${effect} Invite me there with \`/invite @Domain Steward\`, or choose another channel with \`/domain settings\`.`,
  );
}

export function unreadableGroupAlert(groupId: string, errorCode: string): Message {
  return textMessage(
    `:warning: Slack didn’t return the members of ${mentionApprover(groupId)} (${code(groupId)}), one of the approver groups. Slack says ${code(errorCode)}. Until this is fixed, only approvers who are listed by name can approve. Check that the group exists and that I have the permission ${code('usergroups:read')}, or change the approvers with \`/domain settings\`.`,
  );
}

export function teamAccountOwnerLeftAlert(account: Account, userId: string): Message {
  return textMessage(
    `:warning: ${mention(userId)} left the workspace and may know the password of the team’s account, ${code(formatAccountName(account))}, which they linked. Change the password at the domain service, then link the account again with \`/domain link\`. To remove the account, use \`/domain unlink team\`.`,
  );
}

const FAILURE_TEXTS: Readonly<Record<string, string>> = {
  connection: 'it can’t be reached',
  timeout: 'it times out',
  too_large: 'its response is too large',
};

export function failingEndpointAlert(host: string, failure: string): Message {
  const [, status] = /^http_(\d+)$/.exec(failure) ?? [];
  const cause = status === undefined ? (FAILURE_TEXTS[failure] ?? failure) : `it returns status ${status}`;
  return textMessage(
    `:warning: Webhooks to ${code(host)} (${code('WEBHOOK_URLS')}) are failing, because ${cause}. I’ll retry for three days, then I’ll drop them. Ask your operator to check the receiver. To send a test, use \`/domain settings\`.`,
  );
}
