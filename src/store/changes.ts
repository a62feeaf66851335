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

/** Lines read at once. They bound the memory of an export, however long it is. */
const BATCH = 500;

/**
 * The lines that changes have left in a table, from `from` until before `to`, oldest first.
 * @param activity what is being done, as it stands in the log
 * @param read reads a page; it may narrow the condition
 */
export async function* changeLines<Line extends { readonly id: bigint }>(
  activity: string,
  from: Date,
  to: Date,
  read: (
    where: { readonly id: { readonly gt: bigint }; readonly at: { readonly gte: Date; readonly lt: Date } },
    page: { readonly orderBy: { readonly id: 'asc' }; readonly take: number },
  ) => Promise<readonly Line[]>,
): AsyncGenerator<Line> {
  for (let last = 0n; ; ) {
    const where = { id: { gt: last }, at: { gte: from, lt: to } };
    const lines = await withStoreError(activity, () => read(where, { orderBy: { id: 'asc' }, take: BATCH }));
    yield* lines;
    const end = lines.at(-1);
    if (end === undefined || lines.length < BATCH) return;
    last = end.id;
  }
}
