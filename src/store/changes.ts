import type { TeamEvent } from '../ledger/events.ts';
import type { SubjectKind } from '../outbox/notifications.ts';
import type { Database, RunStatement, Transaction } from './database.ts';
import { announceEvents } from './events.ts';

/*
 * What the stores share that change what the team has set through Prisma, and write into the log who changed it.
 */

/** @returns what runs changes in transactions of Prisma's, one at a time of all that share the lock */
export function exclusiveChanges(prisma: Database['prisma'], lock: string) {
  return <T>(change: (tx: Transaction) => Promise<T>): Promise<T> =>
    prisma.$transaction(async (tx) => {
      await lockChanges(tx, lock);
      return change(tx);
    });
}

/** Runs statements of SQL in a transaction of Prisma's. */
export function runIn(tx: Transaction): RunStatement {
  return ({ text, values }) => tx.$queryRawUnsafe(text, ...values);
}

/** Waits until no other transaction holds the lock, and holds it until this one ends. */
export async function lockChanges(tx: Transaction, lock: string): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${lock}, 0))`;
}

export function planOf(teamId: string, subjectKind: SubjectKind, subjectId: string) {
  return { teamId, subjectKind, subjectId, purpose: 'plan' };
}

/** Writes events in the transaction of what they report. @param teamId left out: the team of the installation */
export function writeEvents(tx: Transaction, events: readonly TeamEvent[], teamId?: string): Promise<void> {
  return announceEvents(runIn(tx), events, teamId);
}
