import { z } from 'zod';
import type { Order, OrderState } from '../orders/order.ts';
import type { OrderStore } from '../orders/ports.ts';
import { batch } from './batch.ts';
import { sealedBytes } from './columns.ts';
import { type Database, Prisma, storeOf } from './database.ts';
import { historyOf, historyRows, orderWithHistory, readHistory, selectWithHistory } from './events.ts';
import { openKey } from './order-save.ts';
import { idRows, readOrders, selectById, selectOrders, selectUnsent, whereFilter } from './rows.ts';

const sealedInputs = z.array(
  z
    .object({ n: z.number(), bytes: sealedBytes, keyId: z.string() })
    .transform(({ n, ...sealed }) => [n, sealed] as const),
);
const holders = z.array(
  z.object({ name: z.string(), id: z.string() }).transform(({ name, id }) => [name, id] as const),
);
const answers = z.array(z.object({ n: z.number(), at: z.date(), answer: z.unknown() }));
const histories = z.array(z.object({ history: historyRows }));

export function createOrderReads({ run }: Database) {
  const select = async (rest: Prisma.Sql): Promise<Order[]> => readOrders(await run(selectOrders(rest)));

  const loadTogether = batch(async (wanted: readonly string[]) => {
    const found = new Map(readOrders(await run(selectById(wanted))).map((order) => [order.id, order]));
    return wanted.map((id) => found.get(id));
  });

  return storeOf('orders', {
    load: (id) => loadTogether(id),

    sealedInput: async (id) => {
      const rows = await run(Prisma.sql`
        SELECT 0 AS n, sealed_input AS bytes, sealed_input_key_id AS "keyId" FROM orders
        WHERE id = ${id} AND sealed_input IS NOT NULL`);
      return sealedInputs.parse(rows)[0]?.[1];
    },

    sealedItemInputs: async (id) => {
      const rows = await run(Prisma.sql`
        SELECT n, sealed_input AS bytes, sealed_input_key_id AS "keyId" FROM order_items
        WHERE order_id = ${id} AND sealed_input IS NOT NULL`);
      return new Map(sealedInputs.parse(rows));
    },

    openOrders: async (task, names) => {
      const keys = names.map((name) => openKey(task, name));
      const rows = await run(
        Prisma.sql`SELECT name, order_id AS id FROM order_items WHERE open_key = ANY(${keys})`,
      );
      return new Map(holders.parse(rows));
    },

    list: (filter) => select(whereFilter(filter)),

    loadWithHistory: async (id) => orderWithHistory.parse(await run(selectWithHistory(id)))[0],

    recordShownExcess: async (id, excess) => {
      await run(
        Prisma.sql`UPDATE orders SET shown_excess = ${JSON.stringify(excess)}::jsonb WHERE id = ${id}`,
      );
    },

    history: async (orderId) =>
      histories
        .parse(await run(Prisma.sql`SELECT ${historyOf()} FROM orders o WHERE o.id = ${orderId}`))
        .flatMap(({ history }) => readHistory(history)),

    answers: async (orderId) =>
      answers.parse(
        await run(
          Prisma.sql`SELECT n, at, answer FROM order_answers WHERE order_id = ${orderId} ORDER BY n, version`,
        ),
      ),

    latest: async (task, requesterId, context) => {
      const found = await select(Prisma.sql`
        WHERE o.requester_id = ${requesterId} AND o.task = ${task} AND o.state <> 'DRAFT' AND o.bulk IS NULL
          AND ${context === undefined ? Prisma.sql`o.context IS NULL` : Prisma.sql`o.context = ${context}`}
        ORDER BY o.created_at DESC, o.id DESC LIMIT 1`);
      return found[0];
    },

    unsent: async () => idRows.parse(await run(selectUnsent())),

    unfinishedOf: async (accountIds, requesterId) => {
      const states: readonly OrderState[] = ['PENDING', 'APPROVED', 'EXECUTING'];
      const rows = await run(Prisma.sql`
        SELECT id FROM orders WHERE state = ANY(${[...states]})
          AND (account_id = ANY(${[...accountIds]}) OR requester_id = ${requesterId ?? null}) ORDER BY created_at`);
      return idRows.parse(rows);
    },
  } satisfies Partial<OrderStore>);
}
