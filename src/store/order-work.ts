import type { OrderState } from '../orders/order.ts';
import type { OrderStore } from '../orders/ports.ts';
import { type Database, Prisma, storeOf } from './database.ts';
import { leaseOf } from './leases.ts';
import { idRows } from './rows.ts';
import { claimDueOrders, endLease, putOffOrder, rescheduleOrder } from './statements.ts';

/** How long a process stays away from an order that it left to others. */
const LEFT_MS = 5_000;

/** Claims and leases of orders, and when they are due. */
export function createOrderWork({ run }: Database) {
  /** Orders that this process left to others, with when it claims them again, by a clock that nobody sets. */
  const left = new Map<string, number>();

  return storeOf('orders', {
    claimDue: async (lane, until, leaseMs, limit) => {
      for (const [id, end] of left) if (end <= performance.now()) left.delete(id);
      return idRows.parse(
        await run(claimDueOrders(lane, until, leaseMs, limit, [...left.keys()]), 'verified'),
      );
    },

    extendLease: async (id, workerId, leaseMs) => {
      const rows = await run(Prisma.sql`
        UPDATE orders SET lease_until = ${leaseOf(leaseMs)}
        WHERE id = ${id} AND worker_id = ${workerId} AND state = ${'EXECUTING' satisfies OrderState} RETURNING id`);
      return idRows.parse(rows).length === 1;
    },

    putOff: async (id) => {
      await run(putOffOrder(id));
    },

    leaveToOthers: async (id) => {
      left.set(id, performance.now() + LEFT_MS);
      await run(endLease(id));
    },

    reschedule: async ({ id, version }, due) => {
      await run(rescheduleOrder(id, version, due));
    },

    requestNotification: async (id, now) => {
      await run(Prisma.sql`
        UPDATE notifications n SET version = n.version + 1, is_background = false,
          due_at = LEAST(n.due_at, ${now}::timestamptz) FROM orders o
        WHERE o.id = ${id} AND n.team_id = o.team_id AND n.subject_kind = 'order' AND n.subject_id = o.id
          AND n.purpose = 'plan'`);
    },

    refreshPending: async (now) => {
      await run(Prisma.sql`
        UPDATE notifications n SET version = n.version + 1, due_at = LEAST(n.due_at, ${now}::timestamptz),
          is_background = n.is_background OR n.shows IS NOT DISTINCT FROM n.version::text
        FROM orders o WHERE o.state = ${'PENDING' satisfies OrderState} AND n.team_id = o.team_id
          AND n.subject_kind = 'order' AND n.subject_id = o.id AND n.purpose = 'plan'`);
    },
  } satisfies Partial<OrderStore>);
}
