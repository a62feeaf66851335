import { isFinal, isOpen, type Order, type OrderItem } from '../orders/order.ts';
import type {
  AuditStore,
  CommitOutcome,
  MessageStore,
  OrderFilter,
  OrderJob,
  OrderStore,
} from '../orders/ports.ts';
import { type Database, isUniqueViolation, Prisma, type Transaction } from './database.ts';
import { changedColumns, historyFromRow, ORDER_PARTS, orderFromRow, sealedFrom, toJson } from './rows.ts';

/** Queues jobs in a transaction, through the executor that runs SQL in it. */
export type Enqueue = (
  execute: (text: string, values: unknown[]) => Promise<{ rows: unknown[] }>,
  jobs: readonly OrderJob[],
) => Promise<void>;

export interface OrderStoreOptions {
  readonly enqueue: Enqueue;
  /** Told after the commit which queues have work that is due. */
  readonly onCommitted: (queues: readonly string[]) => void;
}

/** Figures for operators. */
export interface OrderFigures {
  readonly byState: Readonly<Record<string, number>>;
  /** How long the oldest approved order waits to be carried out, in seconds. */
  readonly queueAgeSeconds: number;
}

/** An order or a message of it is taken up by recovery after this much silence. */
const NEGLECT_MS = 15_000;
const BATCH = 500;
const TRANSACTION = { maxWait: 3_000, timeout: 10_000 };

/** The orders in PostgreSQL. */
export function createOrderStore(
  database: Database,
  options: OrderStoreOptions,
): OrderStore & MessageStore & AuditStore & { figures(now: Date): Promise<OrderFigures> } {
  const { prisma } = database;

  const enqueue = (tx: Transaction, jobs: readonly OrderJob[]) =>
    options.enqueue(
      async (text, values) => ({ rows: await tx.$queryRawUnsafe<unknown[]>(text, ...values) }),
      jobs,
    );
  const wake = (jobs: readonly OrderJob[]) => {
    const due = jobs.filter((job) => job.startAfter === undefined).map((job) => job.queue);
    if (due.length > 0) options.onCommitted(due);
  };

  /** The open order that holds one of these names for the task. */
  async function conflicting(order: Order): Promise<string | undefined> {
    const held = await prisma.orderItem.findFirst({
      where: { openKey: { in: order.items.map((item) => openKey(order, item)) }, NOT: { orderId: order.id } },
      select: { orderId: true },
    });
    return held?.orderId;
  }

  return {
    async load(id) {
      const row = await prisma.order.findUnique({ where: { id }, include: ORDER_PARTS });
      return row === null ? undefined : orderFromRow(row);
    },

    async create(order, sealedInput, log, jobs) {
      try {
        await prisma.$transaction(async (tx) => {
          await tx.order.create({
            data: {
              id: order.id,
              task: order.task,
              state: order.state,
              version: order.version,
              requesterId: order.requesterId,
              accountId: order.account.id,
              accountLogin: order.account.login,
              accountMethod: order.account.method,
              context: order.account.context ?? null,
              names: order.items.map((item) => item.name),
              input: toJson(order.input),
              hasSecretInput: order.hasSecretInput,
              sealedInput: sealedInput?.bytes ?? null,
              sealedInputKeyId: sealedInput?.keyId ?? null,
              reason: order.reason ?? null,
              channelId: order.channelId,
              threadTs: order.threadTs ?? null,
              approvalsRequired: order.approvalsRequired,
              expiresAt: order.expiresAt ?? null,
              nudgeAt: order.nudgeAt ?? null,
              retryOf: order.retryOf ?? null,
              deliveryId: order.deliveryId,
              createdAt: order.createdAt,
              updatedAt: order.createdAt,
              items: {
                createMany: {
                  data: order.items.map((item) => ({
                    n: item.n,
                    name: item.name,
                    ctid: item.ctid,
                    state: item.state,
                    openKey: isOpen(order.state) ? openKey(order, item) : null,
                  })),
                },
              },
              events: {
                createMany: { data: log.map((entry) => ({ ...entry, detail: toJson(entry.detail) })) },
              },
            },
          });
          await enqueue(tx, jobs);
        }, TRANSACTION);
      } catch (error) {
        if (!isUniqueViolation(error)) throw error;
        const delivered = await prisma.order.findUnique({
          where: { deliveryId: order.deliveryId },
          select: { id: true },
        });
        const conflictingOrderId = delivered?.id ?? (await conflicting(order));
        // What stood in the way has closed meanwhile: the caller tries again.
        return { conflictingOrderId: conflictingOrderId ?? order.id };
      }
      wake(jobs);
      return undefined;
    },

    async commit({ before, after, log, jobs, revealable }): Promise<CommitOutcome> {
      const now = log[0]?.at ?? new Date();
      const opens = isOpen(after.state) && !isOpen(before.state);
      const closes = isFinal(after.state);
      const wipes = closes || after.state === 'UNKNOWN';
      try {
        const won = await prisma.$transaction(async (tx) => {
          const { count } = await tx.order.updateMany({
            where: { id: before.id, version: before.version },
            data: {
              ...changedColumns(before, after, now),
              ...(wipes ? { sealedInput: null, sealedInputKeyId: null } : {}),
            },
          });
          if (count === 0) return false;
          for (const item of after.items) {
            const changed = before.items.find((each) => each.n === item.n) !== item;
            if (!changed && !opens && !closes) continue;
            await tx.orderItem.update({
              where: { orderId_n: { orderId: after.id, n: item.n } },
              data: {
                state: item.state,
                attempts: item.attempts,
                notBefore: item.notBefore ?? null,
                sentAt: item.sentAt ?? null,
                answeredAt: item.answeredAt ?? null,
                result: item.result === undefined ? Prisma.DbNull : toJson(item.result),
                ...(opens ? { openKey: openKey(after, item) } : {}),
                ...(closes ? { openKey: null } : {}),
              },
            });
          }
          const given = after.approvals.slice(before.approvals.length);
          if (given.length > 0) {
            await tx.approval.createMany({ data: given.map((each) => ({ ...each, orderId: after.id })) });
          }
          if (log.length > 0) {
            await tx.orderEvent.createMany({
              data: log.map((entry) => ({ ...entry, orderId: after.id, detail: toJson(entry.detail) })),
            });
          }
          if (revealable !== undefined) {
            const { n, sealed, expiresAt } = revealable;
            const secret = { sealed: sealed.bytes, keyId: sealed.keyId, expiresAt, revealedAt: null };
            await tx.revealableSecret.upsert({
              where: { orderId_n: { orderId: after.id, n } },
              create: { orderId: after.id, n, ...secret },
              update: secret,
            });
          }
          await enqueue(tx, jobs);
          return true;
        }, TRANSACTION);
        if (!won) return { ok: false, conflictingOrderId: undefined };
      } catch (error) {
        if (!isUniqueViolation(error)) throw error;
        return { ok: false, conflictingOrderId: opens ? await conflicting(after) : undefined };
      }
      wake(jobs);
      return { ok: true };
    },

    async extendLease(id, workerId, until) {
      const { count } = await prisma.order.updateMany({
        where: { id, workerId, state: 'EXECUTING' },
        data: { leaseUntil: until },
      });
      return count === 1;
    },

    async sealedInput(id) {
      const row = await prisma.order.findUnique({
        where: { id },
        select: { sealedInput: true, sealedInputKeyId: true },
      });
      return row === null ? undefined : sealedFrom(row.sealedInput, row.sealedInputKeyId);
    },

    async list(filter) {
      const rows = await prisma.order.findMany({
        where: whereOf(filter),
        include: ORDER_PARTS,
        orderBy: { createdAt: 'desc' },
        take: filter.limit,
      });
      return rows.map(orderFromRow);
    },

    async history(orderId) {
      const rows = await prisma.orderEvent.findMany({ where: { orderId }, orderBy: { id: 'asc' } });
      return rows.map(historyFromRow);
    },

    async latest(task, requesterId, context) {
      const row = await prisma.order.findFirst({
        where: { task, requesterId, context: context ?? null, state: { not: 'DRAFT' } },
        include: ORDER_PARTS,
        orderBy: { createdAt: 'desc' },
      });
      return row === null ? undefined : orderFromRow(row);
    },

    async neglected(now) {
      const silent = new Date(now.getTime() - NEGLECT_MS);
      const ids = async (where: Prisma.OrderWhereInput) =>
        (
          await prisma.order.findMany({
            where,
            select: { id: true },
            take: BATCH,
            orderBy: { updatedAt: 'asc' },
          })
        ).map(({ id }) => id);
      const [abandoned, unclaimed, overdue, toNudge, unshown] = await Promise.all([
        ids({ state: 'EXECUTING', leaseUntil: { lt: now } }),
        ids({
          state: 'APPROVED',
          updatedAt: { lt: silent },
          items: { some: { state: 'WAITING', OR: [{ notBefore: null }, { notBefore: { lte: now } }] } },
        }),
        ids({ state: 'PENDING', expiresAt: { lte: now } }),
        ids({ state: 'PENDING', nudgeAt: { lte: now } }),
        ids({
          shownVersion: { lt: prisma.order.fields.version },
          state: { not: 'DRAFT' },
          updatedAt: { lt: silent },
          OR: [{ notifyLease: null }, { notifyLease: { lt: now } }],
        }),
      ]);
      return { abandoned, unclaimed, overdue, toNudge, unshown };
    },

    async enqueue(jobs) {
      if (jobs.length === 0) return;
      await options.enqueue(
        async (text, values) => ({ rows: await prisma.$queryRawUnsafe<unknown[]>(text, ...values) }),
        jobs,
      );
      wake(jobs);
    },

    async sweep(now) {
      const drafts = await prisma.order.findMany({
        where: { state: 'DRAFT', expiresAt: { lte: now } },
        select: { id: true, version: true },
        take: BATCH,
      });
      for (const { id, version } of drafts) {
        await prisma.$transaction(async (tx) => {
          // Taken out of reach first, so that a confirmation at this moment loses.
          const { count } = await tx.order.updateMany({
            where: { id, version, state: 'DRAFT' },
            data: { version: version + 1 },
          });
          if (count === 0) return;
          await tx.orderItem.deleteMany({ where: { orderId: id } });
          await tx.orderEvent.deleteMany({ where: { orderId: id } });
          await tx.order.delete({ where: { id } });
        }, TRANSACTION);
      }
      const { count } = await prisma.revealableSecret.updateMany({
        where: { expiresAt: { lte: now }, NOT: { sealed: null } },
        data: { sealed: null, keyId: null },
      });
      return { drafts: drafts.length, secrets: count };
    },

    async takeRevealable(orderId, n, now) {
      const row = await prisma.revealableSecret.findUnique({ where: { orderId_n: { orderId, n } } });
      if (row === null) return undefined;
      const sealed = sealedFrom(row.sealed, row.keyId);
      if (sealed === undefined || row.expiresAt <= now) return 'gone';
      const { count } = await prisma.revealableSecret.updateMany({
        where: { orderId, n, revealedAt: null, NOT: { sealed: null } },
        data: { sealed: null, keyId: null, revealedAt: now },
      });
      return count === 1 ? sealed : 'gone';
    },

    async takeShowLease(orderId, now, until) {
      const { count } = await prisma.order.updateMany({
        where: { id: orderId, OR: [{ notifyLease: null }, { notifyLease: { lte: now } }] },
        data: { notifyLease: until },
      });
      return count === 1;
    },

    async releaseShowLease(orderId, shownVersion) {
      const { count } = await prisma.order.updateMany({
        where: { id: orderId, version: shownVersion },
        data: { notifyLease: null, shownVersion },
      });
      return count === 1;
    },

    async postponeShow(orderId, until) {
      await prisma.order.updateMany({ where: { id: orderId }, data: { notifyLease: until } });
    },

    messages(orderId) {
      return prisma.messageRef.findMany({
        where: { orderId },
        select: { purpose: true, channelId: true, ts: true },
      });
    },

    async recordMessage(orderId, purpose, channelId, ts) {
      await prisma.messageRef.createMany({
        data: [{ orderId, purpose, channelId, ts, postedAt: new Date() }],
        skipDuplicates: true,
      });
    },

    async *auditTrail(from, to) {
      for (let after = 0n; ; ) {
        const rows = await prisma.orderEvent.findMany({
          where: { id: { gt: after }, at: { gte: from, lt: to }, order: { state: { not: 'DRAFT' } } },
          include: { order: { include: ORDER_PARTS } },
          orderBy: { id: 'asc' },
          take: BATCH,
        });
        for (const row of rows) yield { order: orderFromRow(row.order), entry: historyFromRow(row) };
        const last = rows.at(-1);
        if (last === undefined || rows.length < BATCH) return;
        after = last.id;
      }
    },

    async figures(now) {
      const [states, oldest] = await Promise.all([
        prisma.order.groupBy({ by: ['state'], _count: { _all: true } }),
        prisma.order.findFirst({
          where: { state: 'APPROVED' },
          orderBy: { updatedAt: 'asc' },
          select: { updatedAt: true },
        }),
      ]);
      return {
        byState: Object.fromEntries(states.map(({ state, _count }) => [state, _count._all])),
        queueAgeSeconds:
          oldest === null ? 0 : Math.max(0, (now.getTime() - oldest.updatedAt.getTime()) / 1_000),
      };
    },
  };
}

function openKey(order: Pick<Order, 'task'>, item: Pick<OrderItem, 'name'>): string {
  return `${order.task}:${item.name}`;
}

function whereOf(filter: OrderFilter): Prisma.OrderWhereInput {
  return {
    state: filter.states === undefined ? { not: 'DRAFT' } : { in: [...filter.states] },
    ...(filter.requesterId === undefined ? {} : { requesterId: filter.requesterId }),
    ...(filter.name === undefined ? {} : { items: { some: { name: filter.name } } }),
    ...(filter.task === undefined ? {} : { task: filter.task }),
  };
}
