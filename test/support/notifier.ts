import { pino } from 'pino';
import type { NotificationStore, Subject } from '../../src/outbox/notifications.ts';
import { formatSubjectKey } from '../../src/outbox/notifications.ts';
import { NOTIFICATION_LEASE_MS, type NotifierDeps, notify } from '../../src/slack/outbound/notify.ts';

/** The planner for kinds of subjects that a test doesn't have. */
const throwNoPlanner = async () => {
  throw new Error('the test has no planner for this kind of subject');
};

/** Dependencies of {@link notify}, with planners for a test's kinds of subjects. */
export function notifierDeps(
  deps: Pick<NotifierDeps, 'notifications' | 'web' | 'now'> & Partial<Omit<NotifierDeps, 'planners'>>,
  planners: Partial<NotifierDeps['planners']>,
): NotifierDeps {
  return {
    log: pino({ level: 'silent' }),
    leaseMs: NOTIFICATION_LEASE_MS,
    ...deps,
    planners: {
      order: throwNoPlanner,
      incident: throwNoPlanner,
      report: throwNoPlanner,
      digest: throwNoPlanner,
      channel: throwNoPlanner,
      group: throwNoPlanner,
      departure: throwNoPlanner,
      owner_left: throwNoPlanner,
      owner_question: throwNoPlanner,
      proposal: throwNoPlanner,
      event: throwNoPlanner,
      webhook_endpoint: throwNoPlanner,
      anchors: throwNoPlanner,
      mandate_day: throwNoPlanner,
      ...planners,
    },
  };
}

/** Sends due notifications, as the bot's loop does. @returns the keys of the due subjects */
export async function notifyDue(deps: NotifierDeps): Promise<readonly string[]> {
  const due = await deps.notifications.claimDueSubjects(deps.now(), deps.leaseMs, 100);
  for (const subject of due) await notify(deps, subject, true).catch(() => undefined);
  return due.map(formatSubjectKey);
}

export async function notificationsOf(store: NotificationStore, subject: Subject) {
  return (await store.loadSubject(subject))?.notifications ?? [];
}

/** Orders whose messages don't show the current state yet. */
export const STALE_ORDER_MESSAGES_SQL = `SELECT 1 FROM notifications
  WHERE subject_kind = 'order' AND purpose = 'plan' AND due_at IS NOT NULL AND shows IS DISTINCT FROM version::text`;
