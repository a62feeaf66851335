import { z } from 'zod';
import type { SealedSecret } from '../accounts/vault.ts';
import type { Order, OrderState } from '../orders/order.ts';
import type { OrderStore } from '../orders/ports.ts';
import { createBatcher } from './batch.ts';
import { type Database, Prisma, wrapStore } from './database.ts';
import {
  buildHistoryColumn,
  historyRowsSchema,
  orderWithHistorySchema,
  parseHistory,
  selectOrderWithHistory,
} from './events.ts';
import { buildFilterClauses, readOrders, selectOrders, selectOrdersById } from './order-rows.ts';
import { formatOpenKey } from './order-save.ts';

const openOrderRowsSchema = z.array(
  z.object({ name: z.string(), id: z.string() }).transform(({ name, id }) => [name, id] as const),
);
const historiesSchema = z.array(z.object({ history: historyRowsSchema }));

const UNFINISHED_STATES: OrderState[] = ['PENDING', 'APPROVED', 'EXECUTING'];
/** Approved orders that aren't finished. */
export const ORDERS_IN_PROGRESS = {
  where: { state: { in: ['APPROVED', 'EXECUTING'] satisfies OrderState[] } },
  select: { id: true },
};

export const toIds = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);

const SEALED_INPUT_COLUMNS = { sealedInput: true, sealedInputKeyId: true } as const;

function toSealedInput({
  sealedInput: bytes,
  sealedInputKeyId: keyId,
}: Pick<Prisma.OrderModel, keyof typeof SEALED_INPUT_COLUMNS>): SealedSecret | undefined {
  return bytes === null || keyId === null ? undefined : { bytes, keyId };
}

export function createOrderReader({ run, prisma }: Database) {
  const queryOrders = async (clauses: Prisma.Sql): Promise<Order[]> =>
    readOrders(await run(selectOrders(clauses)));

  return wrapStore('orders', {
    load: createBatcher(async (ids: readonly string[]) => {
      const orders = readOrders(await run(selectOrdersById(ids)));
      const ordersById = new Map(orders.map((order) => [order.id, order]));
      return ids.map((id) => ordersById.get(id));
    }),

    loadSealedInput: async (id) => {
      const row = await prisma.order.findUnique({ where: { id }, select: SEALED_INPUT_COLUMNS });
      return row === null ? undefined : toSealedInput(row);
    },

    loadSealedItemInputs: async (id) => {
      const rows = await prisma.orderItem.findMany({
        where: { orderId: id },
        select: { n: true, ...SEALED_INPUT_COLUMNS },
      });
      return new Map(
        rows.flatMap(({ n, ...item }) => {
          const sealed = toSealedInput(item);
          return sealed === undefined ? [] : [[n, sealed] as const];
        }),
      );
    },

    findOpenOrders: async (task, names) => {
      const openKeys = names.map((name) => formatOpenKey(task, name));
      const rows = await run(
        Prisma.sql`SELECT name, order_id AS id FROM order_items WHERE open_key = ANY(${openKeys})`,
      );
      return new Map(openOrderRowsSchema.parse(rows));
    },

    list: (filter) => queryOrders(buildFilterClauses(filter)),

    loadWithHistory: async (id) => orderWithHistorySchema.parse(await run(selectOrderWithHistory(id)))[0],

    recordShownOverruns: async (id, overruns) => {
      await run(
        Prisma.sql`UPDATE orders SET shown_excess = ${JSON.stringify(overruns)}::jsonb WHERE id = ${id}`,
      );
    },

    loadHistory: async (orderId) =>
      historiesSchema
        .parse(await run(Prisma.sql`SELECT ${buildHistoryColumn()} FROM orders o WHERE o.id = ${orderId}`))
        .flatMap(({ history }) => parseHistory(history)),

    loadAnswers: (orderId) =>
      prisma.orderAnswer.findMany({
        where: { orderId },
        orderBy: [{ n: 'asc' }, { version: 'asc' }],
        select: { n: true, at: true, answer: true },
      }),

    findLatest: async (task, requesterId, context) => {
      const [order] = await queryOrders(Prisma.sql`
        WHERE o.requester_id = ${requesterId} AND o.task = ${task} AND o.state <> 'DRAFT' AND o.bulk IS NULL
          AND ${context === undefined ? Prisma.sql`o.context IS NULL` : Prisma.sql`o.context = ${context}`}
        ORDER BY o.created_at DESC, o.id DESC LIMIT 1`);
      return order;
    },

    listInProgressIds: async () =>
      toIds(await prisma.order.findMany({ ...ORDERS_IN_PROGRESS, orderBy: { updatedAt: 'asc' } })),

    listUnfinishedIds: async (accountIds, requesterId) => {
      const requesterFilter = requesterId === undefined ? [] : [{ requesterId }];
      return toIds(
        await prisma.order.findMany({
          where: {
            state: { in: UNFINISHED_STATES },
            OR: [{ accountId: { in: [...accountIds] } }, ...requesterFilter],
          },
          orderBy: { createdAt: 'asc' },
          select: { id: true },
        }),
      );
    },
  } satisfies Partial<OrderStore>);
}
