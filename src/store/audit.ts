import type { AuditStore } from '../orders/ports.ts';
import { type Database, Prisma, withStoreError } from './database.ts';
import {
  eventRows,
  numberedEventRows,
  orderRows,
  selectAllEvents,
  selectApprovals,
  selectOrders,
} from './rows.ts';

/** Lines read at once. They bound the memory of an export, however long it is. */
const BATCH = 500;

/** The audit log of all orders, on PostgreSQL. @param batch lines read at once */
export function createAuditStore({ prisma }: Database, batch = BATCH): AuditStore {
  return {
    async *auditTrail(from, to) {
      for (let last: { at: Date; id: bigint } | undefined; ; ) {
        const { events, orders, approvals } = await withStoreError('reading the audit log', async () => {
          const events = numberedEventRows.parse(
            await prisma.$queryRaw(selectAllEvents(from, to, last, batch)),
          );
          const ids = [...new Set(events.map(({ entry }) => entry.orderId))];
          const rows = await prisma.$queryRaw(selectOrders(Prisma.sql`WHERE o.id = ANY(${ids})`));
          return {
            events,
            orders: new Map(orderRows.parse(rows).map((order) => [order.id, order])),
            approvals: eventRows.parse(await prisma.$queryRaw(selectApprovals(ids))),
          };
        });
        for (const { entry } of events) {
          const order = orders.get(entry.orderId);
          if (order === undefined) continue;
          yield { order, entry, approvals: approvals.filter(({ orderId }) => orderId === order.id) };
        }
        const end = events.at(-1);
        if (end === undefined || events.length < batch) return;
        last = { at: end.entry.at, id: end.id };
      }
    },
  };
}
