import { z } from 'zod';
import { FARTHEST_MS, LONGEST_NIGHT_MS } from '../orders/clock.ts';
import type { MessageRef, UnnotifiedOrder } from '../orders/ports.ts';
import { isOneOf, named, Prisma, type Statement } from './database.ts';
import { event, ORDER_COLUMNS, orderColumns, orderOf } from './rows.ts';
import { isLeaseOver, leaseOf } from './statements.ts';

/*
 * Statements for showing orders in Slack: claims by the database's clock, and an order together with all that is shown of
 * it.
 */

/** Columns of {@link UNNOTIFIED_COLUMNS}. */
const unnotifiedColumns = orderColumns.extend({
  shown_version: z.number(),
  tell_failed_attempts: z.number(),
  history: z.array(z.object(event)),
  messages: z.array(z.object({ purpose: z.string(), channelId: z.string(), ts: z.string() })),
});

function unnotifiedOf(row: z.output<typeof unnotifiedColumns>): UnnotifiedOrder {
  return {
    order: orderOf(row),
    shownVersion: row.shown_version,
    history: row.history.map((entry) => ({ orderId: row.id, ...entry })),
    messages: row.messages,
    failedAttempts: row.tell_failed_attempts,
  };
}

const UNNOTIFIED_COLUMNS = Prisma.sql`${ORDER_COLUMNS}, o.shown_version, o.tell_failed_attempts,
  (
    SELECT coalesce(json_agg(json_build_object(
      'version', e.version, 'at', e.at, 'actor', e.actor, 'kind', e.kind, 'state', e.state, 'detail', e.detail
    ) ORDER BY e.id), '[]') FROM order_events e
    -- Of thousands of rows nothing is said one by one.
    WHERE e.order_id = o.id AND (o.bulk IS NULL OR e.kind NOT IN ('sending', 'answered'))
  ) AS history,
  (
    SELECT coalesce(json_agg(json_build_object(
      'purpose', m.purpose, 'channelId', m.channel_id, 'ts', m.ts
    ) ORDER BY m.posted_at, m.ts), '[]') FROM message_refs m WHERE m.order_id = o.id
  ) AS messages`;

/** Rows of {@link selectUnnotified}. */
export const unnotifiedRows = z.compile(z.array(unnotifiedColumns.transform(unnotifiedOf)));

/** An order with all that is shown of it. */
export function selectUnnotified(orderId: string): Statement {
  return named(
    'order to show',
    Prisma.sql`SELECT ${UNNOTIFIED_COLUMNS} FROM orders o WHERE o.id = ${orderId}`,
  );
}

/** Rows of {@link claimNotifications}. */
export const claimedRows = z.compile(
  z.array(
    unnotifiedColumns
      .extend({ is_current: z.boolean() })
      .transform((row) => ({ shown: unnotifiedOf(row), isCurrent: row.is_current })),
  ),
);

/**
 * Whether Slack is to be told of the order `o` now. A moment that a wrong clock has written counts as now; where all is
 * shown, the order only waits for the morning of people who are not disturbed at night.
 */
function isTellingDue(now: Date): Prisma.Sql {
  const farthest = new Date(now.getTime() + FARTHEST_MS);
  const morning = new Date(now.getTime() + LONGEST_NIGHT_MS);
  return Prisma.sql`(o.tell_due_at <= ${now} OR (o.tell_due_at > ${farthest}
    AND (o.shown_version <> o.version OR o.tell_failed_attempts > 0 OR o.tell_due_at > ${morning})))`;
}

/**
 * Claims the messages of orders that no process has, and reads all that is shown of them. When another transaction was
 * changing a row, the claim sees the changed row and the read an older one; the answer then says that it is not current.
 * The rows are locked in one sequence, so that two of a kind never wait for each other.
 */
export function claimNotifications(orderIds: readonly string[], now: Date, leaseMs: number): Statement {
  return named(
    'take orders to show',
    Prisma.sql`
      WITH free AS (
        SELECT id AS free_id FROM orders o
        WHERE ${isOneOf(Prisma.sql`o.id`, orderIds)} AND ${isLeaseOver(Prisma.sql`o.notification_lease_until`)}
          AND (o.tell_due_at IS NULL OR ${isTellingDue(now)})
        ORDER BY o.id FOR NO KEY UPDATE
      ), taken AS (
        UPDATE orders o SET notification_lease_until = ${leaseOf(leaseMs)} FROM free WHERE o.id = free_id
        RETURNING o.id, o.version, o.shown_version
      )
      SELECT ${UNNOTIFIED_COLUMNS}, o.version = taken.version AND o.shown_version = taken.shown_version AS is_current
      FROM taken JOIN orders o ON o.id = taken.id`,
  );
}

type PostedMessage = MessageRef & { readonly orderId: string };

/** Inserts messages that are the first of their purpose; others are left out. */
function insertMessages(messages: readonly PostedMessage[]): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO message_refs (order_id, purpose, channel_id, ts, posted_at)
    SELECT m.order_id, m.purpose, m.channel_id, m.ts, ${new Date()}::timestamptz
    FROM unnest(
      ${messages.map(({ orderId }) => orderId)}::text[], ${messages.map(({ purpose }) => purpose)}::text[],
      ${messages.map(({ channelId }) => channelId)}::text[], ${messages.map(({ ts }) => ts)}::text[]
    ) AS m (order_id, purpose, channel_id, ts)
    ON CONFLICT DO NOTHING RETURNING order_id AS id`;
}

/** An order whose messages were brought up to date. */
export interface ShownOrder {
  readonly shown: UnnotifiedOrder;
  readonly posted: readonly MessageRef[];
  /** When somebody is to be told later. */
  readonly again: Date | undefined;
}

/** Keeps what was posted and ends claims. Answers with a row for each order that has nothing else left to show. */
export function releaseNotifications(orders: readonly ShownOrder[]): Statement {
  const messages = orders.flatMap(({ shown, posted }) =>
    posted.map((message) => ({ orderId: shown.order.id, ...message })),
  );
  return named(
    'let go of shown orders',
    Prisma.sql`
      WITH kept AS (${insertMessages(messages)}), current AS (
        SELECT o.id AS current_id, s.again FROM orders o JOIN unnest(
          ${orders.map(({ shown }) => shown.order.id)}::text[], ${orders.map(({ shown }) => shown.order.version)}::int[],
          ${orders.map(({ shown }) => shown.shownVersion)}::int[], ${orders.map(({ again }) => again ?? null)}::timestamptz[]
        ) AS s (id, version, shown_version, again) ON s.id = o.id
        WHERE o.id = ANY(${orders.map(({ shown }) => shown.order.id)}) AND o.version = s.version
          AND o.shown_version = s.shown_version
        ORDER BY o.id FOR NO KEY UPDATE OF o
      )
      UPDATE orders SET notification_lease_until = NULL, shown_version = version, tell_due_at = current.again,
        tell_failed_attempts = 0
      FROM current WHERE id = current_id
      RETURNING id`,
  );
}

/** Keeps a message unless it is known, for the first of the purposes that no message has. Then the order is told again. */
export function adoptMessage(
  orderId: string,
  { channelId, ts }: Pick<MessageRef, 'channelId' | 'ts'>,
  purposes: readonly string[],
  now: Date,
): Statement {
  return named(
    'adopt a message',
    Prisma.sql`
      WITH known AS (
        SELECT purpose, ts FROM message_refs WHERE order_id = ${orderId}
      ), kept AS (
        INSERT INTO message_refs (order_id, purpose, channel_id, ts, posted_at)
        SELECT o.id, p.purpose, ${channelId}, ${ts}, ${new Date()}::timestamptz
        FROM orders o, unnest(${[...purposes]}::text[]) WITH ORDINALITY AS p (purpose, position)
        WHERE o.id = ${orderId} AND p.purpose NOT IN (SELECT purpose FROM known) AND ${ts} NOT IN (SELECT ts FROM known)
        ORDER BY p.position LIMIT 1
        ON CONFLICT DO NOTHING RETURNING order_id
      )
      UPDATE orders SET shown_version = shown_version - 1, tell_due_at = LEAST(tell_due_at, ${now})
      FROM kept WHERE id = order_id`,
  );
}

/** Keeps a message. Answers with a row unless another one has its purpose. */
export function recordMessage(orderId: string, message: MessageRef): Statement {
  return named('record a message', insertMessages([{ orderId, ...message }]));
}

/** Claims orders that Slack has to be told of and that no process is telling. */
export function claimTellingOrders(now: Date, leaseMs: number, limit: number): Statement {
  return named(
    'claim orders to tell of',
    Prisma.sql`
      WITH due AS (
        SELECT id AS due_id, tell_due_at AS since FROM orders o
        WHERE tell_due_at IS NOT NULL AND ${isTellingDue(now)}
          AND ${isLeaseOver(Prisma.sql`notification_lease_until`)}
        ORDER BY tell_due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ), claimed AS (
        UPDATE orders SET notification_lease_until = ${leaseOf(leaseMs)} FROM due WHERE id = due_id RETURNING id, since
      )
      SELECT id FROM claimed ORDER BY since`,
  );
}
