import type { MessageStore } from '../orders/ports.ts';
import { type Database, Prisma, withStoreError } from './database.ts';
import {
  adoptMessage,
  claimedRows,
  claimNotification,
  claimTellingOrders,
  releaseNotification,
  selectUnnotified,
  unnotifiedRows,
} from './message-statements.ts';
import { idRows } from './rows.ts';
import { leaseOf } from './statements.ts';

/** What Slack shows of orders, on PostgreSQL. */
export function createMessageStore({ prisma, run }: Database): MessageStore {
  const readUnnotified = async (orderId: string) =>
    unnotifiedRows.parse(await run(selectUnnotified(orderId)))[0];

  return {
    claimTelling: (now, leaseMs, limit) =>
      withStoreError('claiming orders to tell of', async () =>
        idRows.parse(await run(claimTellingOrders(now, leaseMs, limit))),
      ),

    claimNotification: (orderId, now, leaseMs) =>
      withStoreError(`taking the messages of order ${orderId}`, async () => {
        const [taken] = claimedRows.parse(await run(claimNotification(orderId, now, leaseMs)));
        return taken === undefined || taken.isCurrent ? taken?.shown : readUnnotified(orderId);
      }),

    releaseNotification: (shown, posted, again) =>
      withStoreError(`letting go of the messages of order ${shown.order.id}`, async () => {
        const rows = idRows.parse(await run(releaseNotification(shown, posted, again)));
        return rows.length === 1;
      }),

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

    messages: (orderId) =>
      withStoreError(`reading where the messages of order ${orderId} stand`, () =>
        prisma.messageRef.findMany({
          where: { orderId },
          select: { purpose: true, channelId: true, ts: true },
          orderBy: [{ postedAt: 'asc' }, { ts: 'asc' }],
        }),
      ),

    unnotified: (orderId) =>
      withStoreError(`reading order ${orderId} and what is shown of it`, () => readUnnotified(orderId)),

    recordMessage: (orderId, { purpose, channelId, ts }) =>
      withStoreError(`recording a message of order ${orderId}`, async () => {
        const { count } = await prisma.messageRef.createMany({
          data: [{ orderId, purpose, channelId, ts, postedAt: new Date() }],
          skipDuplicates: true,
        });
        return count === 1;
      }),

    adoptMessage: (orderId, message, now) =>
      withStoreError(`taking up a message of order ${orderId}`, async () => {
        await run(adoptMessage(orderId, message, now));
      }),
  };
}
