import type { TeamEvent } from '../ledger/events.ts';
import type { SubjectKind } from '../outbox/notifications.ts';
import type { Database, RunStatement, Transaction } from './database.ts';
import { insertEventsAndNotify } from './events.ts';

/* Helpers for stores that change the team's settings through Prisma and log who made the changes. */

/** Returns a function that runs changes in Prisma transactions, one at a time per lock. */
export function createExclusiveRunner(prisma: Database['prisma'], lockName: string) {
  return <T>(change: (tx: Transaction) => Promise<T>): Promise<T> =>
    prisma.$transaction(async (tx) => {
      await acquireAdvisoryLock(tx, lockName);
      return change(tx);
    });
}

/** The author of a change, and who confirmed the change if it was protected. */
export interface ChangeAuthor {
  readonly by: string;
  readonly confirmedBy?: string;
  readonly at: Date;
}

export function createRunStatement(tx: Transaction): RunStatement {
  return ({ text, values }) => tx.$queryRawUnsafe(text, ...values);
}

/** The lock is held until the transaction ends. */
export async function acquireAdvisoryLock(tx: Transaction, lockName: string): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${lockName}, 0))`;
}

export function buildPlanNotificationKey(teamId: string, subjectKind: SubjectKind, subjectId: string) {
  return { teamId, subjectKind, subjectId, purpose: 'plan' };
}

/**
 * Writes events and queues notifications for some kinds, in the transaction of the change that they record.
 * @param teamId default: the installation's team
 */
export function writeEvents(tx: Transaction, events: readonly TeamEvent[], teamId?: string): Promise<void> {
  return insertEventsAndNotify(createRunStatement(tx), events, teamId);
}
