import { HOUR_MS } from '../lib/duration.ts';
import { MAX_WAIT_MS } from '../orders/clock.ts';
import { STATES_BY_DUE_LANE } from '../orders/due.ts';
import type { OrderState } from '../orders/order.ts';
import type { DueLane, OrderStore } from '../orders/ports.ts';
import { type Database, Prisma, type Statement, wrapStore } from './database.ts';
import { buildLeaseEnd, isLeaseExpired } from './leases.ts';
import { idRowsSchema } from './order-rows.ts';

/** A process that has released an order to others doesn't claim it again for this long. */
const RECLAIM_DELAY_MS = 5_000;

export function createOrderQueue({ run }: Database) {
  /** When this process may again claim the orders that it released to others (monotonic clock). */
  const reclaimTimes = new Map<string, number>();

  return wrapStore('orders', {
    claimDue: async (lane, until, leaseMs, limit) => {
      for (const [id, time] of reclaimTimes) if (time <= performance.now()) reclaimTimes.delete(id);
      return idRowsSchema.parse(
        await run(claimDueOrders(lane, until, leaseMs, limit, [...reclaimTimes.keys()]), 'verified'),
      );
    },

    extendLease: async (id, workerId, leaseMs) => {
      const rows = await run(Prisma.sql`
        UPDATE orders SET lease_until = ${buildLeaseEnd(leaseMs)}
        WHERE id = ${id} AND worker_id = ${workerId} AND state = ${'EXECUTING' satisfies OrderState} RETURNING id`);
      return idRowsSchema.parse(rows).length === 1;
    },

    postpone: async (id) => {
      await run(postponeOrder(id));
    },

    releaseToOthers: async (id) => {
      reclaimTimes.set(id, performance.now() + RECLAIM_DELAY_MS);
      await run(endLease(id));
    },

    reschedule: async ({ id, version }, dueAt) => {
      await run(rescheduleOrder(id, version, dueAt));
    },

    queueMessageUpdate: async (id, now) => {
      await run(Prisma.sql`
        UPDATE notifications n SET version = n.version + 1, is_background = false,
          due_at = LEAST(n.due_at, ${now}::timestamptz) FROM orders o
        WHERE o.id = ${id} AND n.team_id = o.team_id AND n.subject_kind = 'order' AND n.subject_id = o.id
          AND n.purpose = 'plan'`);
    },

    queuePendingMessageUpdates: async (now) => {
      await run(Prisma.sql`
        UPDATE notifications n SET version = n.version + 1, due_at = LEAST(n.due_at, ${now}::timestamptz),
          is_background = n.is_background OR n.shows IS NOT DISTINCT FROM n.version::text
        FROM orders o WHERE o.state = ${'PENDING' satisfies OrderState} AND n.team_id = o.team_id
          AND n.subject_kind = 'order' AND n.subject_id = o.id AND n.purpose = 'plan'`);
    },
  } satisfies Partial<OrderStore>);
}

/**
 * Orders due later than this are claimed now, because their time was set before the clock was set back.
 * Orders that wait for people or a scheduled time are exempt.
 */
const MAX_DUE_AHEAD_MS: Readonly<Record<DueLane, number>> = {
  deadlines: MAX_WAIT_MS,
  execution: MAX_WAIT_MS,
  observation: 2 * HOUR_MS,
};

/** Claims orders of a lane that are due by `until` and have no lease. */
function claimDueOrders(
  lane: DueLane,
  until: Date,
  leaseMs: number,
  limit: number,
  excludedIds: string[],
): Statement {
  const maxDueAt = new Date(until.getTime() + MAX_DUE_AHEAD_MS[lane]);
  return Prisma.sql`
      WITH due AS (
        SELECT id AS due_id, due_at AS since FROM orders
        WHERE due_at IS NOT NULL AND state IN (${Prisma.raw(STATES_BY_DUE_LANE[lane].map((state) => `'${state}'`).join(', '))})
          AND (due_at <= ${until} OR (due_at > ${maxDueAt} AND expires_at IS NULL AND due_at IS DISTINCT FROM send_after))
          AND ${isLeaseExpired(Prisma.sql`lease_until`)} AND id <> ALL(${excludedIds})
        ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ), claimed AS (
        UPDATE orders SET lease_until = ${buildLeaseEnd(leaseMs)}, worker_id = NULL FROM due WHERE id = due_id
        RETURNING id, since
      )
      SELECT id FROM claimed ORDER BY since`;
}

const MIN_RETRY_DELAY_MS = 1_000;
const MAX_RETRY_DELAY_MS = 30_000;

/** Reschedules an order that has no worker, with exponential backoff. */
function postponeOrder(id: string): Prisma.Sql {
  return Prisma.sql`
    UPDATE orders SET failed_attempts = failed_attempts + 1,
      lease_until = now() + LEAST(${MAX_RETRY_DELAY_MS}, ${MIN_RETRY_DELAY_MS} * 2 ^ LEAST(failed_attempts, 10)) * interval '1 ms'
    WHERE id = ${id} AND worker_id IS NULL`;
}

/** Ends the lease of an order that has no worker. */
const endLease = (id: string): Prisma.Sql => Prisma.sql`
    UPDATE orders SET lease_until = NULL WHERE id = ${id} AND worker_id IS NULL`;

/** Sets when an order is due next, unless it has changed. Ends this process's lease. */
function rescheduleOrder(id: string, version: number, dueAt: Date | undefined): Statement {
  return Prisma.sql`
      UPDATE orders SET due_at = ${dueAt ?? null}, lease_until = NULL, failed_attempts = 0
      WHERE id = ${id} AND version = ${version} AND worker_id IS NULL`;
}
