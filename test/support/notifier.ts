import { pino } from 'pino';
import type { NotificationStore, Subject } from '../../src/outbox/notifications.ts';
import { formatSubjectKey } from '../../src/outbox/notifications.ts';
import { NOTIFICATION_LEASE_MS, type NotifierDeps, notify } from '../../src/slack/outbound/notify.ts';

/** A planner that a test does not call. */
const unplanned = async () => {
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
      order: unplanned,
      incident: unplanned,
      report: unplanned,
      digest: unplanned,
      channel: unplanned,
      group: unplanned,
      departure: unplanned,
      owner_left: unplanned,
      owner_question: unplanned,
      proposal: unplanned,
      event: unplanned,
      webhook_endpoint: unplanned,
      anchors: unplanned,
      mandate_day: unplanned,
      ...planners,
    },
  };
}

/** Sends due notifications, like the loop. @returns the due subjects */
export async function notifyDue(deps: NotifierDeps): Promise<readonly string[]> {
  const due = await deps.notifications.claimDue(deps.now(), deps.leaseMs, 100);
  for (const subject of due) await notify(deps, subject, true).catch(() => undefined);
  return due.map(formatSubjectKey);
}

/** A subject's messages, with their places and shown versions. */
export async function notificationsOf(store: NotificationStore, subject: Subject) {
  return (await store.read(subject))?.notifications ?? [];
}

/** Orders whose messages don't show the current state yet. */
export const BEHIND = `SELECT 1 FROM notifications
  WHERE subject_kind = 'order' AND purpose = 'plan' AND due_at IS NOT NULL AND shows IS DISTINCT FROM version::text`;
