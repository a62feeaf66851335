import type { OrderState } from '../orders/order.ts';
import type { OrderStore } from '../orders/ports.ts';
import { type Database, Prisma, withStoreError } from './database.ts';
import { idRows } from './rows.ts';
import { claimDueOrders, leaseOf, putOffOrder, rescheduleOrder } from './statements.ts';

/** Claims and leases of orders, and when they are due. */
export function createOrderWork({ run }: Database) {
  return {
    claimDue: (lane, until, leaseMs, limit) =>
      withStoreError('claiming orders that are due', async () =>
        idRows.parse(await run(claimDueOrders(lane, until, leaseMs, limit), 'verified')),
      ),

    extendLease: (id, workerId, leaseMs) =>
      withStoreError(`extending the lease of order ${id}`, async () => {
        const rows = await run(Prisma.sql`
          UPDATE orders SET lease_until = ${leaseOf(leaseMs)}
          WHERE id = ${id} AND worker_id = ${workerId} AND state = ${'EXECUTING' satisfies OrderState} RETURNING id`);
        return idRows.parse(rows).length === 1;
      }),

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
        // Whoever is showing the order just now sees that it has more to show.
        await run(Prisma.sql`
          UPDATE orders SET shown_version = shown_version - 1, tell_due_at = LEAST(tell_due_at, ${now}) WHERE id = ${id}`);
      }),
  } satisfies Partial<OrderStore>;
}
