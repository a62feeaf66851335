import { z } from 'zod';
import type { Sealed } from '../accounts/vault.ts';
import { findingsIn } from '../orders/earlier.ts';
import type { Order, OrderState } from '../orders/order.ts';
import {
  type AuditStore,
  type CommitOutcome,
  isForLater,
  type LaterJob,
  type MessageStore,
  type OrderCommit,
  type OrderJob,
  type OrderStore,
} from '../orders/ports.ts';
import { createAuditStore } from './audit.ts';
import { batch } from './batch.ts';
import {
  type Database,
  isUniqueViolation,
  Prisma,
  type RunStatement,
  type Trust,
  withStoreError,
} from './database.ts';
import { createMessageStore } from './messages.ts';
import {
  earlierItemRows,
  eventRows,
  neglectedRows,
  orderRows,
  selectById,
  selectEarlierItems,
  selectEvents,
  selectNeglected,
  selectOrders,
  selectUnsent,
  whereFilter,
} from './rows.ts';
import {
  deleteDraftsOf,
  deleteExpiredDrafts,
  insertOrder,
  lockRetried,
  openKey,
  takeSecret,
  updateOrders,
} from './statements.ts';

export interface OrderStoreDeps {
  /** Writes jobs down by SQL that runs in the transaction of the change that causes them. */
  readonly enqueue: (
    execute: (text: string, values: unknown[]) => Promise<{ rows: unknown[] }>,
    jobs: readonly LaterJob[],
  ) => Promise<void>;
  /** Told after the commit of all jobs. */
  readonly committed: (jobs: readonly OrderJob[]) => void;
}

/** Tries to keep a new order whose way is barred by one that is gone when we look. */
const CREATE_TRIES = 5;

/**
 * Orders on PostgreSQL. Every change is one statement, in one transaction with the jobs that it causes.
 * @throws {StoreError} from every method, when the database fails
 */
export function createOrderStore(
  database: Database,
  deps: OrderStoreDeps,
): OrderStore & MessageStore & AuditStore {
  const { prisma, run } = database;

  /**
   * Makes a change and writes the jobs down that it causes, both or neither. Where none of them is written, a change of
   * one statement is a transaction by itself.
   * @param possible every job that the change may cause
   * @param make says what came of it and which jobs it did cause
   * @param trust in the server that it is made on
   * @param isOneStatement it needs no transaction of its own
   */
  const changeWithJobs = async <Outcome>(
    possible: readonly OrderJob[],
    make: (run: RunStatement) => Promise<{ readonly outcome: Outcome; readonly jobs: readonly OrderJob[] }>,
    trust: Trust,
    isOneStatement = true,
  ): Promise<Outcome> => {
    const { outcome, jobs } =
      !isOneStatement || possible.some(isForLater)
        ? await database.transaction(async (runInside) => {
            const made = await make(runInside);
            await deps.enqueue(executorOf(runInside), made.jobs.filter(isForLater));
            return made;
          }, trust)
        : await make((statement) => run(statement, trust));
    deps.committed(jobs);
    return outcome;
  };

  /** @returns the ids of the orders that were changed, and how far the server's log had reached before */
  const update = async (runInside: RunStatement, commits: readonly OrderCommit[]) => {
    const rows = changedRows.parse(await runInside(updateOrders(commits)));
    return { changed: new Set(rows.map(({ id }) => id)), position: rows[0]?.position };
  };

  /** It was committed behind this position: by now the log is on disk up to there. */
  const noteCommitted = (position: number | undefined) => {
    if (position !== undefined) database.server.note(position);
  };

  /** All changes of a moment in one transaction. Of one order only one goes at a time. */
  const commitTogether = batch(
    async (commits: readonly OrderCommit[]) => {
      const { isDone, position } = await changeWithJobs(
        commits.flatMap(({ jobs }) => jobs),
        async (runInside) => {
          // In one sequence, so that replicas hardly ever wait for each other; where they do, each order goes alone.
          const sorted = commits.toSorted((a, b) => (a.before.id < b.before.id ? -1 : 1));
          const { changed, position } = await update(runInside, sorted);
          const isDone = commits.map(({ before }) => changed.has(before.id));
          const done = commits.filter((_commit, index) => isDone[index]);
          return { outcome: { isDone, position }, jobs: done.flatMap(({ jobs }) => jobs) };
        },
        commits.some(startsWork) ? 'verified' : 'any',
      );
      noteCommitted(position);
      return isDone;
    },
    ({ before }) => before.id,
  );

  /**
   * Commits that an item of a retry is about to be sent, unless an order that it asks for again has done that name. The
   * rows of those orders are locked meanwhile: an answer that comes late is kept before, and seen here, or after.
   */
  const commitSending = async (commit: OrderCommit): Promise<CommitOutcome> => {
    const { outcome, position } = await changeWithJobs<{
      outcome: CommitOutcome;
      position?: number | undefined;
    }>(
      commit.jobs,
      async (runInside) => {
        const { id } = commit.before;
        const retried = ids.parse(await runInside(lockRetried(id))).filter((each) => each !== id);
        const names = sentNames(commit);
        const items = earlierItemRows.parse(await runInside(selectEarlierItems(retried, names)));
        const [earlier] = findingsIn(items, names);
        const refused = { ok: false, conflictingOrderId: undefined } as const;
        if (earlier !== undefined) return { outcome: { outcome: { ...refused, earlier } }, jobs: [] };
        const { changed, position } = await update(runInside, [commit]);
        return changed.has(id)
          ? { outcome: { outcome: { ok: true }, position }, jobs: commit.jobs }
          : { outcome: { outcome: refused }, jobs: [] };
      },
      'verified',
      false,
    );
    noteCommitted(position);
    return outcome;
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
    return ids.parse(rows)[0];
  };

  return {
    ...createMessageStore(database),
    ...createAuditStore(database),

    load: (id) => withStoreError(`loading order ${id}`, () => loadTogether(id)),

    create: (order, sealedInput, log, jobs) =>
      withStoreError(`keeping the new order ${order.id}`, async () => {
        for (let tries = 1; ; tries += 1) {
          try {
            const insert = async (runInside: RunStatement) => {
              await runInside(insertOrder(order, sealedInput, log));
              return { outcome: undefined, jobs };
            };
            await changeWithJobs(jobs, insert, 'any');
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
          if (commit.before.retryOf !== undefined && sentNames(commit).length > 0) {
            return await commitSending(commit);
          }
          const ok = await commitTogether(commit);
          return ok ? { ok } : { ok, conflictingOrderId: undefined };
        } catch (error) {
          if (!isUniqueViolation(error)) throw error;
          return { ok: false, conflictingOrderId: await holderOfNames(commit.after) };
        }
      }),

    extendLease: (id, workerId, until) =>
      withStoreError(`extending the lease of order ${id}`, async () => {
        const { count } = await prisma.order.updateMany({
          where: { id, workerId, state: 'EXECUTING' satisfies OrderState },
          data: { leaseUntil: until },
        });
        return count === 1;
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

    findNeglected: (now, silentMs) =>
      withStoreError('looking for orders that need a hand', async () => {
        const rows = neglectedRows.parse(await run(selectNeglected(now, silentMs)));
        const of = (kind: (typeof rows)[number]['kind']) =>
          rows.filter((row) => row.kind === kind).map((row) => row.id);
        return {
          abandoned: of('abandoned'),
          unclaimed: of('unclaimed'),
          overdue: of('overdue'),
          toRemind: of('to_remind'),
          unnotified: of('unnotified'),
        };
      }),

    unsent: () =>
      withStoreError('looking for orders that have not gone out', async () =>
        ids.parse(await run(selectUnsent())),
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

    enqueue: (jobs) =>
      withStoreError('queueing jobs', async () => {
        await deps.enqueue(executorOf(run), jobs.filter(isForLater));
        deps.committed(jobs);
      }),

    purgeExpired: (now) =>
      withStoreError('sweeping what has run out', async () => {
        const drafts = ids.parse(await run(deleteExpiredDrafts(now))).length;
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

const ids = z.array(z.object({ id: z.string() }).transform((row) => row.id));

const sealedRows = z.array(
  z
    .object({ sealed: z.instanceof(Uint8Array), key_id: z.string() })
    .transform((row): Sealed => ({ bytes: Uint8Array.from(row.sealed), keyId: row.key_id })),
);

function executorOf(run: RunStatement) {
  return async (text: string, values: unknown[]) => ({
    rows: z.array(z.unknown()).parse(await run({ text, values })),
  });
}
