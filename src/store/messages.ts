import { z } from 'zod';
import type { MessageRef, MessageStore, UnnotifiedOrder } from '../orders/ports.ts';
import { batch } from './batch.ts';
import { type Database, named, Prisma, withStoreError } from './database.ts';
import { claimedRows, claimNotifications, selectUnnotified, unnotifiedRows } from './rows.ts';
import { claimTellingOrders, leaseOf } from './statements.ts';

const touchedRows = z.array(z.object({ id: z.string() }).transform(({ id }) => id));

const places = z.array(
  z
    .object({ order_id: z.string(), purpose: z.string(), channel_id: z.string(), ts: z.string() })
    .transform(({ order_id, purpose, channel_id, ts }) => ({
      orderId: order_id,
      message: { purpose, channelId: channel_id, ts } satisfies MessageRef,
    })),
);

type MessageOfOrder = MessageRef & { readonly orderId: string };

/** Answers with a row for each message that is the first of its purpose; the others are not kept. */
function insertMessages(messages: readonly MessageOfOrder[]): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO message_refs (order_id, purpose, channel_id, ts, posted_at)
    SELECT m.order_id, m.purpose, m.channel_id, m.ts, ${new Date()}::timestamptz
    FROM unnest(
      ${messages.map(({ orderId }) => orderId)}::text[], ${messages.map(({ purpose }) => purpose)}::text[],
      ${messages.map(({ channelId }) => channelId)}::text[], ${messages.map(({ ts }) => ts)}::text[])
      AS m (order_id, purpose, channel_id, ts)
    ON CONFLICT DO NOTHING RETURNING order_id AS id`;
}

/** What Slack shows of orders, on PostgreSQL. */
export function createMessageStore({ run }: Database): MessageStore {
  const readTogether = batch(async (orderIds: readonly string[]) => {
    const rows = unnotifiedRows.parse(await run(selectUnnotified(orderIds)));
    const found = new Map(rows.map((shown) => [shown.order.id, shown]));
    return orderIds.map((orderId) => found.get(orderId));
  });

  const takeTogether = batch(
    async (leases: readonly { readonly orderId: string; readonly now: Date; readonly leaseMs: number }[]) => {
      const rows = claimedRows.parse(await run(claimNotifications(leases)));
      const taken = new Map(rows.map((row) => [row.shown.order.id, row]));
      return leases.map(({ orderId }) => taken.get(orderId));
    },
    ({ orderId }) => orderId,
  );

  const releaseTogether = batch(
    async (
      releases: readonly { readonly shown: UnnotifiedOrder; readonly posted: readonly MessageRef[] }[],
    ) => {
      const orderIds = releases.map(({ shown }) => shown.order.id);
      const posted = releases.flatMap((release) =>
        release.posted.map((message) => ({ orderId: release.shown.order.id, ...message })),
      );
      const statement = named(
        'release show leases',
        Prisma.sql`
          WITH kept AS (${insertMessages(posted)})
          UPDATE orders SET notification_lease_until = NULL, shown_version = orders.version, tell_due_at = NULL,
            tell_failed_attempts = 0
          FROM unnest(
            ${orderIds}::text[], ${releases.map(({ shown }) => shown.order.version)}::int[],
            ${releases.map(({ shown }) => shown.shownVersion)}::int[]) AS shown (id, version, before)
          WHERE orders.id = ANY(${orderIds}) AND orders.id = shown.id
            AND orders.version = shown.version AND orders.shown_version = shown.before
          RETURNING orders.id`,
      );
      const released = new Set(touchedRows.parse(await run(statement)));
      return orderIds.map((orderId) => released.has(orderId));
    },
    ({ shown }) => shown.order.id,
  );

  const placesTogether = batch(async (orderIds: readonly string[]) => {
    const statement = named(
      'where messages stand',
      Prisma.sql`
        SELECT order_id, purpose, channel_id, ts FROM message_refs WHERE order_id = ANY(${orderIds})
        ORDER BY posted_at, ts`,
    );
    const rows = places.parse(await run(statement));
    return orderIds.map((id) => rows.filter(({ orderId }) => orderId === id).map(({ message }) => message));
  });

  const recordTogether = batch(
    async (messages: readonly MessageOfOrder[]) => {
      const kept = new Set(touchedRows.parse(await run(named('record messages', insertMessages(messages)))));
      return messages.map(({ orderId }) => kept.has(orderId));
    },
    ({ orderId }) => orderId,
  );

  return {
    claimTelling: (now, leaseMs, limit) =>
      withStoreError('claiming orders to tell of', async () =>
        touchedRows.parse(await run(claimTellingOrders(now, leaseMs, limit))),
      ),

    claimNotification: (orderId, now, leaseMs) =>
      withStoreError(`taking the messages of order ${orderId}`, async () => {
        const taken = await takeTogether({ orderId, now, leaseMs });
        return taken === undefined || taken.isCurrent ? taken?.shown : readTogether(orderId);
      }),

    releaseNotification: (shown, posted) =>
      withStoreError(`letting go of the messages of order ${shown.order.id}`, () =>
        releaseTogether({ shown, posted }),
      ),

    extendShowLease: (orderId, leaseMs) =>
      withStoreError(`keeping the messages of order ${orderId}`, async () => {
        await run(
          Prisma.sql`UPDATE orders SET notification_lease_until = ${leaseOf(leaseMs)} WHERE id = ${orderId}`,
        );
      }),

    postponeNotification: (orderId, until) =>
      withStoreError(`putting off the messages of order ${orderId}`, async () => {
        await run(Prisma.sql`
          UPDATE orders SET notification_lease_until = NULL, tell_due_at = ${until},
            tell_failed_attempts = tell_failed_attempts + 1 WHERE id = ${orderId}`);
      }),

    messages: (orderId) =>
      withStoreError(`reading where the messages of order ${orderId} stand`, () => placesTogether(orderId)),

    unnotified: (orderId) =>
      withStoreError(`reading order ${orderId} and what is shown of it`, () => readTogether(orderId)),

    recordMessage: (orderId, message) =>
      withStoreError(`recording a message of order ${orderId}`, () =>
        recordTogether({ orderId, ...message }),
      ),

    adoptMessage: (orderId, message, now) =>
      withStoreError(`taking up a message of order ${orderId}`, async () => {
        await run(Prisma.sql`
          WITH kept AS (${insertMessages([{ orderId, ...message }])})
          UPDATE orders SET shown_version = shown_version - 1, tell_due_at = LEAST(tell_due_at, ${now})
          FROM kept WHERE orders.id = kept.id`);
      }),
  };
}
