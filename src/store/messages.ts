import { z } from 'zod';
import { FARTHEST_MS } from '../orders/clock.ts';
import type { MessageRef, MessageStore } from '../orders/ports.ts';
import { type Database, during, Prisma } from './database.ts';

const touched = z.array(z.object({ id: z.string() }));

const references = z.array(
  z
    .object({ purpose: z.string(), channel_id: z.string(), ts: z.string() })
    .transform(({ purpose, channel_id, ts }): MessageRef => ({ purpose, channelId: channel_id, ts })),
);

/** What Slack shows of orders, on PostgreSQL. */
export function createMessageStore({ run }: Database): MessageStore {
  /** @returns whether there was such an order */
  const touch = async (change: Prisma.Sql) =>
    touched.parse(await run(Prisma.sql`UPDATE orders SET ${change} RETURNING id`)).length === 1;

  return {
    takeShowLease: (orderId, now, until) =>
      during(`taking the messages of order ${orderId}`, () =>
        touch(
          Prisma.sql`notify_lease = ${until}
            WHERE id = ${orderId} AND (notify_lease IS NULL OR notify_lease <= ${now}
              OR notify_lease > ${new Date(now.getTime() + FARTHEST_MS)})`,
        ),
      ),

    releaseShowLease: (orderId, shownVersion) =>
      during(`letting go of the messages of order ${orderId}`, () =>
        touch(
          Prisma.sql`notify_lease = NULL, shown_version = ${shownVersion}
            WHERE id = ${orderId} AND version = ${shownVersion}`,
        ),
      ),

    postponeShow: (orderId, until) =>
      during(`putting off the messages of order ${orderId}`, async () => {
        await touch(Prisma.sql`notify_lease = ${until} WHERE id = ${orderId}`);
      }),

    messages: (orderId) =>
      during(`reading where the messages of order ${orderId} stand`, async () =>
        references.parse(
          await run(Prisma.sql`
            SELECT purpose, channel_id, ts FROM message_refs WHERE order_id = ${orderId} ORDER BY posted_at, ts`),
        ),
      ),

    recordMessage: (orderId, purpose, channelId, ts) =>
      during(`recording a message of order ${orderId}`, async () => {
        const kept = await run(Prisma.sql`
          INSERT INTO message_refs (order_id, purpose, channel_id, ts, posted_at)
          VALUES (${orderId}, ${purpose}, ${channelId}, ${ts}, ${new Date()}) ON CONFLICT DO NOTHING
          RETURNING order_id AS id`);
        return touched.parse(kept).length === 1;
      }),
  };
}
