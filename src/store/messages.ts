import type { MessageStore } from '../orders/ports.ts';
import { type Database, during } from './database.ts';

/** What Slack shows of orders, on PostgreSQL. */
export function createMessageStore({ prisma }: Database): MessageStore {
  return {
    takeShowLease: (orderId, now, until) =>
      during(`taking the messages of order ${orderId}`, async () => {
        const { count } = await prisma.order.updateMany({
          where: { id: orderId, OR: [{ notifyLease: null }, { notifyLease: { lte: now } }] },
          data: { notifyLease: until },
        });
        return count === 1;
      }),

    releaseShowLease: (orderId, shownVersion) =>
      during(`letting go of the messages of order ${orderId}`, async () => {
        const { count } = await prisma.order.updateMany({
          where: { id: orderId, version: shownVersion },
          data: { notifyLease: null, shownVersion },
        });
        return count === 1;
      }),

    postponeShow: (orderId, until) =>
      during(`putting off the messages of order ${orderId}`, async () => {
        await prisma.order.updateMany({ where: { id: orderId }, data: { notifyLease: until } });
      }),

    messages: (orderId) =>
      during(`reading where the messages of order ${orderId} stand`, () =>
        prisma.messageRef.findMany({
          where: { orderId },
          orderBy: [{ postedAt: 'asc' }, { ts: 'asc' }],
          select: { purpose: true, channelId: true, ts: true },
        }),
      ),

    recordMessage: (orderId, purpose, channelId, ts) =>
      during(`recording a message of order ${orderId}`, async () => {
        await prisma.messageRef.createMany({
          data: { orderId, purpose, channelId, ts, postedAt: new Date() },
          skipDuplicates: true,
        });
      }),
  };
}
