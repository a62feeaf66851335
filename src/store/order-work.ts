import type { OrderState } from '../orders/order.ts';
import type { OrderStore } from '../orders/ports.ts';
import { type Database, Prisma, withStoreError } from './database.ts';
import { leaseOf } from './leases.ts';
import { idRows } from './rows.ts';
import { claimDueOrders, putOffOrder, rescheduleOrder } from './statements.ts';

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

    requestNotification: (id, now) =>
      withStoreError(`having people told of order ${id}`, async () => {
        await run(Prisma.sql`
          UPDATE notifications n SET version = n.version + 1, due_at = LEAST(n.due_at, ${now}::timestamptz) FROM orders o
          WHERE o.id = ${id} AND n.team_id = o.team_id AND n.subject_kind = 'order' AND n.subject_id = o.id
            AND n.purpose = 'plan'`);
      }),
  } satisfies Partial<OrderStore>;
}
