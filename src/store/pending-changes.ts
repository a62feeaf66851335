import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { approvalSignature } from '../approvals/signing/approval.ts';
import { messagePlace } from '../outbox/notifications.ts';
import {
  CHANGE_OUTCOMES,
  type KnownChange,
  type PendingChange,
  type PendingChanges,
} from '../policy/pending-changes.ts';
import { endQuestion, openQuestion } from './changes.ts';
import { optional } from './columns.ts';
import { type Database, Prisma, storeOf, type Transaction, withStoreError } from './database.ts';
import { isNextCharter, writeCharter } from './signing.ts';

const storedOrigin = optional(messagePlace);
const storedConfirmations = z.array(z.object({ userId: z.string(), signed: approvalSignature.optional() }));

const decidedRow = z
  .object({ outcome: z.enum(CHANGE_OUTCOMES).nullable(), decidedBy: z.string().nullable() })
  .transform(({ outcome, decidedBy: by }) => (outcome === null || by === null ? undefined : { outcome, by }));

type PendingRow = Prisma.PendingChangeGetPayload<Record<string, never>>;

export interface PendingKind<Change> {
  readonly kind: 'settings' | 'prices' | 'facts';
  /** Reads what {@link stored} has written. */
  readonly schema: z.ZodType<Change>;
  stored(change: Change): Prisma.InputJsonValue | Promise<Prisma.InputJsonValue>;
  /**
   * Applies a change in the transaction in which it stops waiting, with the log of who asked for it and who confirmed
   * it.
   * @returns false, and changes nothing, when what it changes is not as it was when it was asked for
   */
  apply(tx: Transaction, pending: PendingChange<Change>, confirmedBy: string, at: Date): Promise<boolean>;
  /** @returns the same change of what is there now; undefined when nothing is left of it */
  rebase(tx: Transaction, change: Change): Promise<Change | undefined>;
}

/** Changes of one kind that wait for a second person, on PostgreSQL. @param teamId whose */
export function createPendingChanges<Change>(
  { prisma }: Database,
  teamId: string,
  { kind, schema, stored, apply, rebase }: PendingKind<Change>,
): PendingChanges<Change> {
  const waiting = (now: Date) => ({ teamId, kind, expiresAt: { gt: now }, outcome: null });
  const read = async ({
    change,
    origin,
    confirmations,
    ...row
  }: PendingRow): Promise<PendingChange<Change>> => {
    const { id, askedBy, askedAt, expiresAt } = row;
    const parsed = await schema.parseAsync(change);
    const asked = { id, change: parsed, askedBy, askedAt, expiresAt, origin: storedOrigin.parse(origin) };
    return { ...asked, confirmations: storedConfirmations.parse(confirmations) };
  };

  /** Whoever sets the outcome decides about the change, so that it is applied at most once. */
  const take = async (
    tx: Transaction,
    where: Prisma.PendingChangeWhereInput,
    { outcome, by, at }: NonNullable<KnownChange<Change>['decided']> & { readonly at: Date },
  ) => {
    const row = await tx.pendingChange.findFirst({ where });
    if (row === null) return undefined;
    const { count } = await tx.pendingChange.updateMany({
      where: { id: row.id, outcome: null },
      data: { outcome, decidedBy: by },
    });
    if (count === 0) return undefined;
    await endQuestion(tx, teamId, row.id, at);
    return read(row);
  };

  const ask = async (
    tx: Transaction,
    kept: Prisma.InputJsonValue,
    asked: Omit<PendingChange<Change>, 'id' | 'confirmations'>,
  ): Promise<PendingChange<Change>> => {
    const { askedBy, askedAt, expiresAt, origin } = asked;
    const where = { ...waiting(askedAt), askedBy, change: { equals: kept } };
    const same = await tx.pendingChange.findFirst({ where });
    if (same !== null) return read(same);
    const id = randomUUID();
    await openQuestion(tx, teamId, id, askedAt);
    await tx.pendingChange.create({
      data: { id, teamId, kind, change: kept, askedBy, askedAt, expiresAt, origin: origin ?? Prisma.DbNull },
      select: { id: true },
    });
    return { ...asked, id, confirmations: [] };
  };

  /** Asks again for what was asked for, of what is there now. */
  const askAgain = async (tx: Transaction, pending: PendingChange<Change>, at: Date) => {
    const change = await rebase(tx, pending.change);
    if (change === undefined) return undefined;
    const expiresAt = new Date(at.getTime() + pending.expiresAt.getTime() - pending.askedAt.getTime());
    return ask(tx, await stored(change), { ...pending, change, askedAt: at, expiresAt });
  };

  return storeOf('pendingChanges', {
    list: async (now) => {
      const rows = await prisma.pendingChange.findMany({
        where: waiting(now),
        orderBy: [{ askedAt: 'asc' }, { id: 'asc' }],
      });
      return Promise.all(rows.map(read));
    },

    find: async (id, now) => {
      const row = await prisma.pendingChange.findFirst({ where: { id, ...waiting(now) } });
      return row === null ? undefined : read(row);
    },

    read: async (id) => {
      const row = await prisma.pendingChange.findFirst({ where: { id, teamId, kind } });
      return row === null ? undefined : { ...(await read(row)), decided: decidedRow.parse(row) };
    },

    request: async (change, askedBy, askedAt, expiresAt, origin) => {
      const kept = await stored(change);
      return prisma.$transaction((tx) => ask(tx, kept, { change, askedBy, askedAt, expiresAt, origin }));
    },

    addConfirmation: (id, confirmation, at) =>
      prisma.$transaction(async (tx) => {
        // Of two that confirm at once, the second reads what the first has added.
        await tx.$queryRaw`SELECT 1 FROM pending_changes WHERE id = ${id} FOR UPDATE`;
        const row = await tx.pendingChange.findFirst({ where: { id, ...waiting(at) } });
        if (row === null) return undefined;
        const given = storedConfirmations.parse(row.confirmations);
        const others = given.filter(({ userId }) => userId !== confirmation.userId);
        const confirmations = z.json().parse(JSON.parse(JSON.stringify([...others, confirmation])));
        await tx.pendingChange.update({ where: { id }, data: { confirmations: confirmations ?? [] } });
        await endQuestion(tx, teamId, id, at);
        return read({ ...row, confirmations });
      }),

    confirm: (id, by, at, signed) =>
      prisma.$transaction(async (tx) => {
        if (signed !== undefined && !(await isNextCharter(tx, teamId, signed))) return { kind: 'gone' };
        const where = { id, ...waiting(at), askedBy: { not: by } };
        const pending = await take(tx, where, { outcome: 'confirmed', by, at });
        if (pending === undefined) {
          const own = await tx.pendingChange.count({ where: { id, ...waiting(at), askedBy: by } });
          return { kind: own === 1 ? 'own' : 'gone' };
        }
        if (await apply(tx, pending, by, at)) {
          if (signed !== undefined) await writeCharter(tx, teamId, signed, at);
          return { kind: 'confirmed', pending };
        }
        await tx.pendingChange.update({ where: { id }, data: { outcome: 'stale' } });
        return { kind: 'stale', again: await askAgain(tx, pending, at) };
      }),

    dismiss: (id, by, at) =>
      prisma.$transaction((tx) => take(tx, { id, ...waiting(at) }, { outcome: 'dismissed', by, at })),
  });
}

/** For this long after its time the messages about a change can still be brought up to date. */
const KEPT_MS = 7 * 86_400_000;

/** Deletes what has expired a week ago, of every kind. @returns how many */
export function purgePendingChanges({ prisma }: Database, now: Date): Promise<number> {
  return withStoreError('deleting changes that have expired', async () => {
    const { count } = await prisma.pendingChange.deleteMany({
      where: { expiresAt: { lte: new Date(now.getTime() - KEPT_MS) } },
    });
    return count;
  });
}
