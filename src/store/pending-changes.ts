import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import type { PendingChange, PendingChanges } from '../policy/pending-changes.ts';
import { type Database, type Prisma, type Transaction, withStoreError } from './database.ts';

type PendingRow = Prisma.PendingChangeGetPayload<Record<string, never>>;

/** How changes of one kind are kept and applied. */
export interface PendingKind<Change> {
  readonly kind: 'settings' | 'prices' | 'facts';
  /** Reads what {@link stored} has written. */
  readonly schema: z.ZodType<Change>;
  stored(change: Change): Prisma.InputJsonValue;
  /**
   * Applies a change in the transaction in which it stops waiting, with the log of who asked for it and who confirmed
   * it.
   * @returns false, and changes nothing, when what it changes is not as it was when it was asked for
   */
  apply(tx: Transaction, pending: PendingChange<Change>, confirmedBy: string, at: Date): Promise<boolean>;
}

/** Changes of one kind that wait for a second person, on PostgreSQL. @param teamId whose */
export function createPendingChanges<Change>(
  { prisma }: Pick<Database, 'prisma'>,
  teamId: string,
  { kind, schema, stored, apply }: PendingKind<Change>,
): PendingChanges<Change> {
  const waiting = (now: Date) => ({ teamId, kind, expiresAt: { gt: now } });
  const read = ({ id, change, askedBy, askedAt, expiresAt }: PendingRow): PendingChange<Change> => ({
    id,
    change: schema.parse(change),
    askedBy,
    askedAt,
    expiresAt,
  });

  /** Whoever deletes the row decides about the change, so that it is applied at most once. */
  const take = async (tx: Transaction, where: Prisma.PendingChangeWhereInput) => {
    const row = await tx.pendingChange.findFirst({ where });
    if (row === null) return undefined;
    const { count } = await tx.pendingChange.deleteMany({ where: { id: row.id } });
    return count === 1 ? read(row) : undefined;
  };

  return {
    list: (now) =>
      withStoreError('reading the changes that wait', async () => {
        const rows = await prisma.pendingChange.findMany({
          where: waiting(now),
          orderBy: [{ askedAt: 'asc' }, { id: 'asc' }],
        });
        return rows.map(read);
      }),

    find: (id, now) =>
      withStoreError('reading a change that waits', async () => {
        const row = await prisma.pendingChange.findFirst({ where: { id, ...waiting(now) } });
        return row === null ? undefined : read(row);
      }),

    request: (change, by, at, expiresAt) =>
      withStoreError('keeping a change that waits', async () => {
        const kept = stored(change);
        const same = await prisma.pendingChange.findFirst({
          where: { ...waiting(at), askedBy: by, change: { equals: kept } },
        });
        return read(
          same ??
            (await prisma.pendingChange.create({
              data: { id: randomUUID(), teamId, kind, change: kept, askedBy: by, askedAt: at, expiresAt },
            })),
        );
      }),

    confirm: (id, by, at) =>
      withStoreError('confirming a change', () =>
        prisma.$transaction(async (tx) => {
          const pending = await take(tx, { id, ...waiting(at), askedBy: { not: by } });
          if (pending === undefined) {
            const own = await tx.pendingChange.count({ where: { id, ...waiting(at), askedBy: by } });
            return { kind: own === 1 ? 'own' : 'gone' };
          }
          return { kind: (await apply(tx, pending, by, at)) ? 'confirmed' : 'stale', pending };
        }),
      ),

    dismiss: (id, at) =>
      withStoreError('dismissing a change', () =>
        prisma.$transaction((tx) => take(tx, { id, ...waiting(at) })),
      ),
  };
}

/** Deletes what has expired, of every kind. @returns how many */
export function purgePendingChanges({ prisma }: Pick<Database, 'prisma'>, now: Date): Promise<number> {
  return withStoreError('deleting changes that have expired', async () => {
    const { count } = await prisma.pendingChange.deleteMany({ where: { expiresAt: { lte: now } } });
    return count;
  });
}
