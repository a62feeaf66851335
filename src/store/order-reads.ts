import { z } from 'zod';
import type { Order, OrderState } from '../orders/order.ts';
import type { OrderStore } from '../orders/ports.ts';
import { type Database, Prisma, withStoreError } from './database.ts';
import { historyOf, historyRows, orderWithHistory, readHistory, selectWithHistory } from './events.ts';
import { idRows, orderRows, selectById, selectOrders, selectUnsent, whereFilter } from './rows.ts';
import { openKey } from './statements.ts';

const histories = z.array(z.object({ history: historyRows }));

/** Reading orders. */
export function createOrderReads({ prisma, run }: Database) {
  const select = async (rest: Prisma.Sql): Promise<Order[]> => orderRows.parse(await run(selectOrders(rest)));

  return {
    load: (id) =>
      withStoreError(`loading order ${id}`, async () => orderRows.parse(await run(selectById(id)))[0]),

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

    sealedItemInputs: (id) =>
      withStoreError(`reading the sealed inputs of the items of order ${id}`, async () => {
        const rows = await prisma.orderItem.findMany({
          where: { orderId: id, NOT: { sealedInput: null } },
          select: { n: true, sealedInput: true, sealedInputKeyId: true },
        });
        return new Map(
          rows.flatMap(({ n, sealedInput, sealedInputKeyId }) =>
            sealedInput === null || sealedInputKeyId === null
              ? []
              : [[n, { bytes: sealedInput, keyId: sealedInputKeyId }] as const],
          ),
        );
      }),

    openOrders: (task, names) =>
      withStoreError('looking for the open orders of names', async () => {
        const rows = await prisma.orderItem.findMany({
          where: { openKey: { in: names.map((name) => openKey({ task }, { name })) } },
          select: { name: true, orderId: true },
        });
        return new Map(rows.map(({ name, orderId }) => [name, orderId]));
      }),

    list: (filter) => withStoreError('listing orders', () => select(whereFilter(filter))),

    loadWithHistory: (id) =>
      withStoreError(
        `loading order ${id} with its history`,
        async () => orderWithHistory.parse(await run(selectWithHistory(id)))[0],
      ),

    recordShownExcess: (id, excess) =>
      withStoreError(`recording what the card of order ${id} says`, async () => {
        await prisma.order.updateMany({ where: { id }, data: { shownExcess: [...excess] } });
      }),

    history: (orderId) =>
      withStoreError(`reading the history of order ${orderId}`, async () =>
        histories
          .parse(
            await run(
              Prisma.sql`SELECT ${historyOf(Prisma.sql`o.id`)} FROM orders o WHERE o.id = ${orderId}`,
            ),
          )
          .flatMap(({ history }) => readHistory(history)),
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
          WHERE o.requester_id = ${requesterId} AND o.task = ${task} AND o.state <> 'DRAFT' AND o.bulk IS NULL
            AND ${context === undefined ? Prisma.sql`o.context IS NULL` : Prisma.sql`o.context = ${context}`}
          ORDER BY o.created_at DESC, o.id DESC LIMIT 1`);
        return found[0];
      }),

    unsent: () =>
      withStoreError('looking for orders that have not gone out', async () =>
        idRows.parse(await run(selectUnsent())),
      ),

    unfinishedOf: (accountIds, requesterId) =>
      withStoreError('looking for the orders that rest on accounts', async () => {
        const rows = await prisma.order.findMany({
          where: {
            state: { in: ['PENDING', 'APPROVED', 'EXECUTING'] satisfies OrderState[] },
            OR: [
              { accountId: { in: [...accountIds] } },
              ...(requesterId === undefined ? [] : [{ requesterId }]),
            ],
          },
          select: { id: true },
          orderBy: { createdAt: 'asc' },
        });
        return rows.map(({ id }) => id);
      }),
  } satisfies Partial<OrderStore>;
}
