import type { MessageStore } from '../orders/ports.ts';
import { batch } from './batch.ts';
import { type Database, Prisma, withStoreError } from './database.ts';
import {
  adoptMessage,
  claimedRows,
  claimNotifications,
  claimTellingOrders,
  recordMessage,
  releaseNotifications,
  type ShownOrder,
  selectUnnotified,
  unnotifiedRows,
} from './message-statements.ts';
import { idRows } from './rows.ts';
import { leaseOf } from './statements.ts';

/** What Slack shows of orders, on PostgreSQL. */
export function createMessageStore({ prisma, run }: Database): MessageStore {
  const claim = batch(
    async (claims: readonly { readonly orderId: string; readonly now: Date; readonly leaseMs: number }[]) => {
      const now = new Date(Math.max(...claims.map((each) => each.now.getTime())));
      const leaseMs = Math.max(...claims.map((each) => each.leaseMs));
      const ids = claims.map(({ orderId }) => orderId);
      const rows = claimedRows.parse(await run(claimNotifications(ids, now, leaseMs)));
      const found = new Map(rows.map((row) => [row.shown.order.id, row]));
      return ids.map((id) => found.get(id));
    },
    ({ orderId }) => orderId,
  );
  const release = batch(
    async (orders: readonly ShownOrder[]) => {
      const released = idRows.parse(await run(releaseNotifications(orders)));
      return orders.map(({ shown }) => released.includes(shown.order.id));
    },
    ({ shown }) => shown.order.id,
  );
  const readUnnotified = async (orderId: string) =>
    unnotifiedRows.parse(await run(selectUnnotified(orderId)))[0];

  return {
    claimTelling: (now, leaseMs, limit) =>
      withStoreError('claiming orders to tell of', async () =>
        idRows.parse(await run(claimTellingOrders(now, leaseMs, limit))),
      ),

    claimNotification: (orderId, now, leaseMs) =>
      withStoreError(`taking the messages of order ${orderId}`, async () => {
        const taken = await claim({ orderId, now, leaseMs });
        return taken === undefined || taken.isCurrent ? taken?.shown : readUnnotified(orderId);
      }),

    releaseNotification: (shown, posted, again) =>
      withStoreError(`letting go of the messages of order ${shown.order.id}`, () =>
        release({ shown, posted, again }),
      ),

    extendShowLease: (orderId, leaseMs) =>
      withStoreError(`keeping the messages of order ${orderId}`, async () => {
        await run(
          Prisma.sql`UPDATE orders SET notification_lease_until = ${leaseOf(leaseMs)} WHERE id = ${orderId}`,
        );
      }),

    postponeNotification: (id, until) =>
      withStoreError(`putting off the messages of order ${id}`, async () => {
        await prisma.order.updateMany({
          where: { id },
          data: { notificationLeaseUntil: null, tellDueAt: until, tellFailedAttempts: { increment: 1 } },
        });
      }),

    deferNotification: (id, until) =>
      withStoreError(`deferring the messages of order ${id}`, async () => {
        await prisma.order.updateMany({
          where: { id },
          data: { notificationLeaseUntil: null, tellDueAt: until, tellFailedAttempts: 0 },
        });
      }),

    unnotified: (orderId) =>
      withStoreError(`reading order ${orderId} and what is shown of it`, () => readUnnotified(orderId)),

    recordMessage: (orderId, message) =>
      withStoreError(
        `recording a message of order ${orderId}`,
        async () => idRows.parse(await run(recordMessage(orderId, message))).length === 1,
      ),

    recordShownExcess: (orderId, excess) =>
      withStoreError(`recording what the card of order ${orderId} says`, async () => {
        await prisma.order.updateMany({ where: { id: orderId }, data: { shownExcess: [...excess] } });
      }),

    adoptMessage: (orderId, message, purposes, now) =>
      withStoreError(`taking up a message of order ${orderId}`, async () => {
        await run(adoptMessage(orderId, message, purposes, now));
      }),
  };
}
