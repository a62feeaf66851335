import { z } from 'zod';
import { FARTHEST_MS } from '../orders/clock.ts';
import type { MessageRef, MessageStore, OrderToShow } from '../orders/ports.ts';
import { type Database, during, named, Prisma } from './database.ts';
import { selectToShow, toShowRows } from './rows.ts';
import { together } from './together.ts';

const touched = z.array(z.object({ id: z.string() }).transform(({ id }) => id));

const references = z.array(
  z
    .object({ purpose: z.string(), channel_id: z.string(), ts: z.string() })
    .transform(({ purpose, channel_id, ts }): MessageRef => ({ purpose, channelId: channel_id, ts })),
);

/** What Slack shows of orders, on PostgreSQL. */
export function createMessageStore({ run }: Database): MessageStore {
  const takeTogether = together(
    async (leases: readonly { readonly orderId: string; readonly now: Date; readonly until: Date }[]) => {
      const statement = named(
        'take show leases',
        Prisma.sql`
          UPDATE orders SET notify_lease = lease.until
          FROM unnest(
            ${leases.map(({ orderId }) => orderId)}::text[], ${leases.map(({ now }) => now)}::timestamptz[],
            ${leases.map(({ now }) => new Date(now.getTime() + FARTHEST_MS))}::timestamptz[],
            ${leases.map(({ until }) => until)}::timestamptz[]) AS lease (id, now, farthest, until)
          WHERE orders.id = ANY(${leases.map(({ orderId }) => orderId)}) AND orders.id = lease.id
            AND (notify_lease IS NULL OR notify_lease <= lease.now OR notify_lease > lease.farthest)
          RETURNING orders.id`,
      );
      const taken = new Set(touched.parse(await run(statement)));
      return leases.map(({ orderId }) => taken.has(orderId));
    },
    ({ orderId }) => orderId,
  );

  const releaseTogether = together(
    async (shown: readonly OrderToShow[]) => {
      const orderIds = shown.map(({ order }) => order.id);
      const statement = named(
        'release show leases',
        Prisma.sql`
          UPDATE orders SET notify_lease = NULL, shown_version = orders.version
          FROM unnest(
            ${orderIds}::text[], ${shown.map(({ order }) => order.version)}::int[],
            ${shown.map(({ shownVersion }) => shownVersion)}::int[]) AS shown (id, version, before)
          WHERE orders.id = ANY(${orderIds}) AND orders.id = shown.id
            AND orders.version = shown.version AND orders.shown_version = shown.before
          RETURNING orders.id`,
      );
      const released = new Set(touched.parse(await run(statement)));
      return orderIds.map((orderId) => released.has(orderId));
    },
    ({ order }) => order.id,
  );

  const readTogether = together(async (orderIds: readonly string[]) => {
    const rows = toShowRows.parse(await run(selectToShow(orderIds)));
    const found = new Map(rows.map((shown) => [shown.order.id, shown]));
    return orderIds.map((orderId) => found.get(orderId));
  });

  const recordTogether = together(
    async (messages: readonly (MessageRef & { readonly orderId: string })[]) => {
      const now = new Date();
      const statement = named(
        'record messages',
        Prisma.sql`
          INSERT INTO message_refs (order_id, purpose, channel_id, ts, posted_at)
          SELECT m.order_id, m.purpose, m.channel_id, m.ts, ${now}::timestamptz
          FROM unnest(
            ${messages.map(({ orderId }) => orderId)}::text[], ${messages.map(({ purpose }) => purpose)}::text[],
            ${messages.map(({ channelId }) => channelId)}::text[], ${messages.map(({ ts }) => ts)}::text[])
            AS m (order_id, purpose, channel_id, ts)
          ON CONFLICT DO NOTHING RETURNING order_id AS id`,
      );
      const kept = new Set(touched.parse(await run(statement)));
      return messages.map(({ orderId }) => kept.has(orderId));
    },
    ({ orderId }) => orderId,
  );

  return {
    takeShowLease: (orderId, now, until) =>
      during(`taking the messages of order ${orderId}`, () => takeTogether({ orderId, now, until })),

    releaseShowLease: (shown) =>
      during(`letting go of the messages of order ${shown.order.id}`, () => releaseTogether(shown)),

    postponeShow: (orderId, until) =>
      during(`putting off the messages of order ${orderId}`, async () => {
        await run(Prisma.sql`UPDATE orders SET notify_lease = ${until} WHERE id = ${orderId}`);
      }),

    messages: (orderId) =>
      during(`reading where the messages of order ${orderId} stand`, async () =>
        references.parse(
          await run(
            named(
              'messages of an order',
              Prisma.sql`
                SELECT purpose, channel_id, ts FROM message_refs WHERE order_id = ${orderId} ORDER BY posted_at, ts`,
            ),
          ),
        ),
      ),

    toShow: (orderId) =>
      during(`reading order ${orderId} and what is shown of it`, () => readTogether(orderId)),

    recordMessage: (orderId, purpose, channelId, ts) =>
      during(`recording a message of order ${orderId}`, () =>
        recordTogether({ orderId, purpose, channelId, ts }),
      ),

    adoptMessage: (orderId, { purpose, channelId, ts }) =>
      during(`taking up a message of order ${orderId}`, async () => {
        await run(Prisma.sql`
          WITH kept AS (
            INSERT INTO message_refs (order_id, purpose, channel_id, ts, posted_at)
            VALUES (${orderId}, ${purpose}, ${channelId}, ${ts}, ${new Date()}) ON CONFLICT DO NOTHING
            RETURNING order_id
          )
          UPDATE orders SET shown_version = shown_version - 1 FROM kept WHERE id = kept.order_id`);
      }),
  };
}
