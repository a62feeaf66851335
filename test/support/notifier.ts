import { pino } from 'pino';
import type { NotificationStore, Subject } from '../../src/outbox/notifications.ts';
import { keyOfSubject } from '../../src/outbox/notifications.ts';
import { NOTIFICATION_LEASE_MS, type NotifierDeps, notify } from '../../src/slack/outbound/notify.ts';

/** A planner that a test does not call. */
const unplanned = async () => {
  throw new Error('the test has no planner for this kind of subject');
};

/** What {@link notify} needs, with planners for the kinds of subjects that a test is about. */
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
      place: unplanned,
      group: unplanned,
      departure: unplanned,
      proposal: unplanned,
      event: unplanned,
      webhook_endpoint: unplanned,
      anchors: unplanned,
      mandate_day: unplanned,
      ...planners,
    },
  };
}

/** Sends what is due, as the loop does it. @returns the subjects that were due */
export async function notifyDue(deps: NotifierDeps): Promise<readonly string[]> {
  const due = await deps.notifications.claimDue(deps.now(), deps.leaseMs, 100);
  for (const subject of due) await notify(deps, subject, true).catch(() => undefined);
  return due.map(keyOfSubject);
}

/** Where the messages of a subject stand, and what they show. */
export async function notificationsOf(store: NotificationStore, subject: Subject) {
  return (await store.read(subject))?.notifications ?? [];
}

/** Orders of which people are not told yet how they stand. */
export const BEHIND = `SELECT 1 FROM notifications
  WHERE subject_kind = 'order' AND purpose = 'plan' AND due_at IS NOT NULL AND shows IS DISTINCT FROM version::text`;
