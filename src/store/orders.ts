import { z } from 'zod';
import type { Sealed } from '../accounts/vault.ts';
import { findingsIn } from '../orders/earlier.ts';
import type { Order, OrderState } from '../orders/order.ts';
import type { AuditStore, CommitOutcome, MessageStore, OrderCommit, OrderStore } from '../orders/ports.ts';
import { createAuditStore } from './audit.ts';
import { batch } from './batch.ts';
import { type Database, isUniqueViolation, Prisma, type RunStatement, withStoreError } from './database.ts';
import { createMessageStore } from './messages.ts';
import {
  earlierItemRows,
  eventRows,
  orderRows,
  selectById,
  selectEarlierItems,
  selectEvents,
  selectOrders,
  selectUnsent,
  whereFilter,
} from './rows.ts';
import {
  claimDueOrders,
  deleteDraftsOf,
  deleteExpiredDrafts,
  insertOrder,
  leaseOf,
  lockRetried,
  openKey,
  putOffOrder,
  rescheduleOrder,
  takeSecret,
  updateOrders,
} from './statements.ts';

/** Tries to keep a new order whose way is barred by one that is gone when we look. */
const CREATE_TRIES = 5;

/**
 * Orders on PostgreSQL. Every change is one statement, which says when the order is due next as well.
 * @param changed told of each order as a commit left it; what is due at once need not be looked for
 * @throws {StoreError} from every method, when the database fails
 */
export function createOrderStore(
  database: Database,
  changed: (order: Order) => void = () => undefined,
): OrderStore & MessageStore & AuditStore {
  const { prisma, run } = database;

  /** @returns the ids of the orders that were changed, and how far the server's log had reached before */
  const update = async (run: RunStatement, commits: readonly OrderCommit[]) => {
    const rows = changedRows.parse(await run(updateOrders(commits)));
    return { ids: new Set(rows.map(({ id }) => id)), position: rows[0]?.position };
  };

  /** It was committed behind this position: by now the log is on disk up to there. */
  const noteCommitted = (position: number | undefined) => {
    if (position !== undefined) database.server.note(position);
  };

  /** All changes of a moment in one transaction. Of one order only one goes at a time. */
  const commitTogether = batch(
    async (commits: readonly OrderCommit[]) => {
      // In one sequence, so that replicas hardly ever wait for each other; where they do, each order goes alone.
      const sorted = commits.toSorted((a, b) => (a.before.id < b.before.id ? -1 : 1));
      const trust = commits.some(startsWork) ? 'verified' : 'any';
      const { ids, position } = await update((statement) => run(statement, trust), sorted);
      noteCommitted(position);
      return commits.map(({ before }) => ids.has(before.id));
    },
    ({ before }) => before.id,
  );

  /**
   * Commits that an item of a retry is about to be sent, unless an order that it asks for again has done that name. The
   * rows of those orders are locked meanwhile: an answer that comes late is kept before, and seen here, or after.
   */
  const commitSending = async (commit: OrderCommit): Promise<CommitOutcome> => {
    const { outcome, position } = await database.transaction<{
      outcome: CommitOutcome;
      position?: number | undefined;
    }>(async (run) => {
      const { id } = commit.before;
      const retried = idRows.parse(await run(lockRetried(id))).filter((each) => each !== id);
      const names = sentNames(commit);
      const items = earlierItemRows.parse(await run(selectEarlierItems(retried, names)));
      const [earlier] = findingsIn(items, names);
      const refused = { ok: false, conflictingOrderId: undefined } as const;
      if (earlier !== undefined) return { outcome: { ...refused, earlier } };
      const { ids, position } = await update(run, [commit]);
      return ids.has(id) ? { outcome: { ok: true }, position } : { outcome: refused };
    }, 'verified');
    noteCommitted(position);
    return outcome;
  };

  const commitAlone = async (commit: OrderCommit): Promise<CommitOutcome> => {
    const ok = await commitTogether(commit);
    return ok ? { ok } : { ok, conflictingOrderId: undefined };
  };

  const loadTogether = batch(async (wanted: readonly string[]) => {
    const found = new Map(orderRows.parse(await run(selectById(wanted))).map((order) => [order.id, order]));
    return wanted.map((id) => found.get(id));
  });

  const select = async (rest: Prisma.Sql): Promise<Order[]> => orderRows.parse(await run(selectOrders(rest)));

  /** The open order that holds one of an order's task and names. */
  const holderOfNames = async (order: Order): Promise<string | undefined> => {
    const keys = order.items.map((item) => openKey(order, item));
    const rows = await run(Prisma.sql`
      SELECT order_id AS id FROM order_items WHERE open_key = ANY(${keys}) AND order_id <> ${order.id}
      ORDER BY order_id LIMIT 1`);
    return idRows.parse(rows)[0];
  };

  return {
    ...createMessageStore(database),
    ...createAuditStore(database),

    load: (id) => withStoreError(`loading order ${id}`, () => loadTogether(id)),

    create: (order, sealedInput, log) =>
      withStoreError(`keeping the new order ${order.id}`, async () => {
        for (let tries = 1; ; tries += 1) {
          try {
            await run(insertOrder(order, sealedInput, log));
            changed(order);
            return undefined;
          } catch (error) {
            if (!isUniqueViolation(error)) throw error;
            const same = await prisma.order.findUnique({
              where: { deliveryId: order.deliveryId },
              select: { id: true },
            });
            const conflictingOrderId = same?.id ?? (await holderOfNames(order));
            if (conflictingOrderId !== undefined) return { conflictingOrderId };
            if (tries >= CREATE_TRIES) throw error;
          }
        }
      }),

    commit: (commit) =>
      withStoreError(`committing a change of order ${commit.before.id}`, async () => {
        try {
          const isRetrySent = commit.before.retryOf !== undefined && sentNames(commit).length > 0;
          const outcome = isRetrySent ? await commitSending(commit) : await commitAlone(commit);
          if (outcome.ok) changed(commit.after);
          return outcome;
        } catch (error) {
          if (!isUniqueViolation(error)) throw error;
          return { ok: false, conflictingOrderId: await holderOfNames(commit.after) };
        }
      }),

    extendLease: (id, workerId, leaseMs) =>
      withStoreError(`extending the lease of order ${id}`, async () => {
        const rows = await run(Prisma.sql`
          UPDATE orders SET lease_until = ${leaseOf(leaseMs)}
          WHERE id = ${id} AND worker_id = ${workerId} AND state = ${'EXECUTING' satisfies OrderState} RETURNING id`);
        return idRows.parse(rows).length === 1;
      }),

    sealedInput: (id) =>
      withStoreError(`reading the sealed input of order ${id}`, async () => {
        const row = await prisma.order.findUnique({
          where: { id },
          select: { sealedInput: true, sealedInputKeyId: true },
        });
        return row?.sealedInput == null || row.sealedInputKeyId === null
          ? undefined
          : { bytes: row.sealedInput, keyId: row.sealedInputKeyId };
      }),

    list: (filter) => withStoreError('listing orders', () => select(whereFilter(filter))),

    history: (orderId) =>
      withStoreError(`reading the history of order ${orderId}`, async () =>
        eventRows.parse(await run(selectEvents(orderId))),
      ),

    answers: (orderId) =>
      withStoreError(`reading the answers to order ${orderId}`, () =>
        prisma.orderAnswer.findMany({
          where: { orderId },
          select: { n: true, at: true, answer: true },
          orderBy: [{ n: 'asc' }, { version: 'asc' }],
        }),
      ),

    latest: (task, requesterId, context) =>
      withStoreError('looking for the latest order of a task', async () => {
        const found = await select(Prisma.sql`
          WHERE o.requester_id = ${requesterId} AND o.task = ${task} AND o.state <> 'DRAFT'
            AND ${context === undefined ? Prisma.sql`o.context IS NULL` : Prisma.sql`o.context = ${context}`}
          ORDER BY o.created_at DESC, o.id DESC LIMIT 1`);
        return found[0];
      }),

    claimDue: (lane, until, leaseMs, limit) =>
      withStoreError('claiming orders that are due', async () =>
        idRows.parse(await run(claimDueOrders(lane, until, leaseMs, limit), 'verified')),
      ),

    putOff: (id) =>
      withStoreError(`putting off order ${id}`, async () => {
        await run(putOffOrder(id));
      }),

    reschedule: ({ id, version }, due) =>
      withStoreError(`rescheduling order ${id}`, async () => {
        await run(rescheduleOrder(id, version, due));
      }),

    requestTelling: (id, now) =>
      withStoreError(`having Slack told of order ${id}`, async () => {
        await run(Prisma.sql`UPDATE orders SET tell_due_at = LEAST(tell_due_at, ${now}) WHERE id = ${id}`);
      }),

    unsent: () =>
      withStoreError('looking for orders that have not gone out', async () =>
        idRows.parse(await run(selectUnsent())),
      ),

    unfinishedOf: (requesterId, accountIds) =>
      withStoreError('looking for the orders that rest on a person', async () => {
        const rows = await prisma.order.findMany({
          where: {
            state: { in: ['PENDING', 'APPROVED', 'EXECUTING'] satisfies OrderState[] },
            OR: [{ requesterId }, { accountId: { in: [...accountIds] } }],
          },
          select: { id: true },
          orderBy: { createdAt: 'asc' },
        });
        return rows.map(({ id }) => id);
      }),

    forgetPrivate: (requesterId) =>
      withStoreError('forgetting the drafts and secret results of a person', async () => {
        await run(deleteDraftsOf(requesterId));
        await prisma.revealableSecret.updateMany({
          where: { order: { requesterId }, sealed: { not: null } },
          data: { sealed: null, keyId: null },
        });
      }),

    purgeExpired: (now) =>
      withStoreError('purging what has run out', async () => {
        const drafts = idRows.parse(await run(deleteExpiredDrafts(now))).length;
        const { count: secrets } = await prisma.revealableSecret.updateMany({
          where: { expiresAt: { lte: now }, sealed: { not: null } },
          data: { sealed: null, keyId: null },
        });
        return { drafts, secrets };
      }),

    takeRevealable: (orderId, n, now) =>
      withStoreError(`taking a secret result of order ${orderId}`, async () => {
        const [taken] = sealedRows.parse(await run(takeSecret(orderId, n, now)));
        if (taken !== undefined) return taken;
        const was = await prisma.revealableSecret.count({ where: { orderId, n } });
        return was > 0 ? 'gone' : undefined;
      }),

    returnRevealable: (orderId, n, sealed) =>
      withStoreError(`taking back a secret result of order ${orderId}`, async () => {
        await prisma.revealableSecret.updateMany({
          where: { orderId, n, sealed: null, NOT: { revealedAt: null } },
          data: { sealed: sealed.bytes, keyId: sealed.keyId, revealedAt: null },
        });
      }),
  };
}

/** Whether a change claims an order, or marks a request as sent. */
function startsWork({ before, after }: OrderCommit): boolean {
  const isClaimed = after.claim !== undefined && after.claim !== before.claim;
  return (
    isClaimed || after.items.some((item, index) => item.state === 'SENT' && item !== before.items[index])
  );
}

const changedRows = z.array(z.object({ id: z.string(), position: z.number() }));

/** The names of the items that a change says are about to be sent. */
function sentNames({ before, after }: OrderCommit): string[] {
  return after.items
    .filter((item, index) => item.state === 'SENT' && item.attempts !== before.items[index]?.attempts)
    .map(({ name }) => name);
}

const idRows = z.array(z.object({ id: z.string() }).transform((row) => row.id));

const sealedRows = z.array(
  z
    .object({ sealed: z.instanceof(Uint8Array), key_id: z.string() })
    .transform((row): Sealed => ({ bytes: Uint8Array.from(row.sealed), keyId: row.key_id })),
);
