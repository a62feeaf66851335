import { type Database, type Transaction, withStoreError } from './database.ts';

/*
 * What the stores share that change what the team has set, and keep who changed it.
 */

/** @returns what runs changes in transactions of Prisma's, one at a time of all that share the lock */
export function exclusiveChanges(prisma: Database['prisma'], lock: string) {
  return <T>(activity: string, change: (tx: Transaction) => Promise<T>): Promise<T> =>
    withStoreError(activity, () =>
      prisma.$transaction(async (tx) => {
        await lockChanges(tx, lock);
        return change(tx);
      }),
    );
}

/** Waits until no other transaction holds the lock, and holds it until this one ends. */
export async function lockChanges(tx: Transaction, lock: string): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${lock}, 0))`;
}
