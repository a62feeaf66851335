import { z } from 'zod';
import { FARTHEST_MS } from '../orders/clock.ts';
import type { MessageRef, MessageStore } from '../orders/ports.ts';
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
    async (shown: readonly { readonly orderId: string; readonly version: number }[]) => {
      const statement = named(
        'release show leases',
        Prisma.sql`
          UPDATE orders SET notify_lease = NULL, shown_version = orders.version
          FROM unnest(${shown.map(({ orderId }) => orderId)}::text[], ${shown.map(({ version }) => version)}::int[])
            AS shown (id, version)
          WHERE orders.id = ANY(${shown.map(({ orderId }) => orderId)}) AND orders.id = shown.id
            AND orders.version = shown.version
          RETURNING orders.id`,
      );
      const released = new Set(touched.parse(await run(statement)));
      return shown.map(({ orderId }) => released.has(orderId));
    },
    ({ orderId }) => orderId,
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

    releaseShowLease: (orderId, shownVersion) =>
      during(`letting go of the messages of order ${orderId}`, () =>
        releaseTogether({ orderId, version: shownVersion }),
      ),

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
  };
}
