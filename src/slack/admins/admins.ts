import type { Account } from '../../accounts/account.ts';
import type { Log } from '../../lib/log.ts';
import type { NotificationStore, Subject } from '../../outbox/notifications.ts';
import { getUtcDay } from '../../zones/calendar-day.ts';
import type { AdminsToNotify, SlackContext } from '../context.ts';
import type { Message } from '../kit/blocks.ts';
import type { SlackDirectory } from '../outbound/directory.ts';
import {
  createDirectMessagePlace,
  type NotificationPlanner,
  type SendNotification,
  STATIC_VERSION,
} from '../outbound/notify.ts';
import type { SlackApiError } from '../outbound/web.ts';
import {
  failingEndpointAlert,
  teamAccountOwnerLeftAlert,
  unreachableAlert,
  unreadableGroupAlert,
} from './unreachable.view.ts';

/** Returns a function that loads `ADMINS` or, if it isn't set, the workspace's admins and owners. */
export function createAdminLoader(
  configuredAdmins: readonly string[],
  { loadWorkspaceAdmins }: SlackDirectory,
  log: Log,
): AdminsToNotify {
  // Returned if Slack doesn't answer.
  let lastKnownAdmins: readonly string[] = [];
  return async () => {
    if (configuredAdmins.length > 0) return configuredAdmins;
    try {
      lastKnownAdmins = await loadWorkspaceAdmins();
    } catch (err) {
      log.warn({ err }, 'listing the workspace’s admins failed');
    }
    return lastKnownAdmins;
  };
}

/** Sends each admin one direct message per subject. */
async function notifyAdmins(
  { directory, adminsToNotify }: SlackContext,
  send: SendNotification,
  message: Message,
  excludedUserId?: string,
): Promise<void> {
  for (const adminId of await adminsToNotify()) {
    if (adminId === excludedUserId) continue;
    await send({
      purpose: `to:${adminId}`,
      version: STATIC_VERSION,
      occurredAt: new Date(0),
      places: [createDirectMessagePlace(directory, adminId)],
      message: () => message,
    });
  }
}

export function recordUnreadableGroup(
  { notifications, now, log }: { notifications: NotificationStore; now: () => Date; log: Log },
  groupId: string,
  error: SlackApiError,
): void {
  log.warn({ err: error, groupId }, 'the members of an approver group can’t be read');
  if (error.kind !== 'refused') return;
  const subject = { kind: 'group', id: `${groupId} ${getUtcDay(now())}` } as const;
  notifications
    .markSubjectRefused(subject, error.code ?? error.kind, now())
    .catch((err: unknown) => log.warn({ err, groupId }, 'recording an unreadable approver group failed'));
}

/** Alerts admins once a day about a group that Slack can't look up. */
export function createUnreadableGroupPlanner(context: SlackContext): NotificationPlanner {
  return async ({ id, refusalCode: code = '' }, send) => {
    const [groupId = ''] = id.split(' ');
    await notifyAdmins(context, send, unreadableGroupAlert(groupId, code));
    return undefined;
  };
}

export function toDepartureSubject(account: Account, userId: string): Subject {
  return { kind: 'departure', id: `${account.id} ${userId}` };
}

/** Alerts admins once that the person who linked the team's account has left. */
export function createDeparturePlanner(context: SlackContext): NotificationPlanner {
  return async ({ id }, send) => {
    const account = await context.accounts.team.find();
    const userId = account?.linkedBy;
    if (account === undefined || userId === undefined || toDepartureSubject(account, userId).id !== id)
      return undefined;
    // The person who left can't read messages.
    await notifyAdmins(context, send, teamAccountOwnerLeftAlert(account, userId), userId);
    return undefined;
  };
}

/** Alerts admins once about a channel that refuses messages. A successful post resets this. */
export function createUnreachableChannelPlanner(context: SlackContext): NotificationPlanner {
  return async ({ id, refusalCode: code = '' }, send) => {
    const { approvalChannel, reminderChannel } = await context.loadSettings();
    const purpose = id === approvalChannel ? 'approvals' : id === reminderChannel ? 'reminders' : 'other';
    await notifyAdmins(context, send, unreachableAlert(id, code, purpose));
    return undefined;
  };
}

/** Alerts admins once about a webhook endpoint that fails. */
export function createFailingEndpointPlanner(context: SlackContext): NotificationPlanner {
  return async ({ id, refusalCode: code }, send) => {
    const endpoint = context.webhooks.endpoints.find((candidate) => candidate.id === id);
    if (endpoint !== undefined && code !== undefined)
      await notifyAdmins(context, send, failingEndpointAlert(endpoint.host, code));
    return undefined;
  };
}
