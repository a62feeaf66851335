import type { Sealed } from '../accounts/vault.ts';
import { isOpen, type LogEntry, type Order, type OrderItem, type OrderState } from '../orders/order.ts';
import type { OrderCommit } from '../orders/ports.ts';
import { Prisma } from './database.ts';

/*
 * Changing orders: each change is one SQL statement, so one round trip and, where no jobs go with it, one
 * transaction by itself. With a call of Prisma's a table it takes three times the processor time.
 */

/** In these states the sealed input may still be sent; in all others it is wiped. */
const STATES_WITH_INPUT: ReadonlySet<OrderState> = new Set(['DRAFT', 'PENDING', 'APPROVED', 'EXECUTING']);

/** What an item holds while its order is open: unique, so that a task and name have one open order. */
export function openKey(order: Pick<Order, 'task'>, item: Pick<OrderItem, 'name'>): string {
  return `${order.task}:${item.name}`;
}

/**
 * Keeps a new order: answers with a row, or fails by a unique key that another order holds. All orders take
 * their open keys in the same sequence, so that of two for the same names one waits for the other, and not
 * each for each.
 */
export function insertOrder(
  order: Order,
  sealedInput: Sealed | undefined,
  log: readonly LogEntry[],
): Prisma.Sql {
  const names = order.items.map((item) => item.name);
  return Prisma.sql`
    WITH changed AS (
      INSERT INTO orders (
        id, task, state, version, requester_id, account_id, account_login, account_method, context, names,
        input, has_secret_input, sealed_input, sealed_input_key_id, reason, channel_id, thread_ts,
        approvals_required, retry_of, delivery_id, expires_at, nudge_at, created_at, updated_at
      ) VALUES (
        ${order.id}, ${order.task}, ${order.state}, ${order.version}, ${order.requesterId},
        ${order.account.id}, ${order.account.login}, ${order.account.method}, ${order.account.context ?? null},
        ${names}, ${JSON.stringify(order.input ?? null)}::jsonb, ${order.hasSecretInput},
        ${sealedInput?.bytes ?? null}, ${sealedInput?.keyId ?? null}, ${order.reason ?? null},
        ${order.channelId}, ${order.threadTs ?? null}, ${order.approvalsRequired}, ${order.retryOf ?? null},
        ${order.deliveryId}, ${order.expiresAt ?? null}, ${order.nudgeAt ?? null}, ${order.createdAt},
        ${order.createdAt}
      ) RETURNING id
    ), kept_items AS (
      INSERT INTO order_items (order_id, n, name, client_tid, state, open_key, attempts)
      SELECT changed.id, i.n, i.name, i.ctid, i.state, i.open_key, i.attempts
      FROM changed, ${itemRows(order, order.items)}
      ORDER BY i.open_key
    ), ${insertEvents(log)}
    SELECT id FROM changed`;
}

/**
 * Commits a change: answers with a row, or without one when somebody else changed the order since it was read.
 * Of the order itself only what a transition changes is written, and the claim only where it changes: its
 * lease is extended beside all this.
 * @throws when the change has no line in the audit log
 */
export function updateOrder({ before, after, log, revealable }: OrderCommit): Prisma.Sql {
  const at = log.at(-1)?.at;
  if (at === undefined) throw new Error('a change needs a line in the audit log');
  const opensOrCloses = isOpen(before.state) !== isOpen(after.state);
  const items = after.items.filter((item, index) => opensOrCloses || item !== before.items[index]);
  const approvals = after.approvals.filter((approval) => !before.approvals.includes(approval));

  const columns = [
    Prisma.sql`state = ${after.state}, version = ${after.version}, expires_at = ${after.expiresAt ?? null},
      nudge_at = ${after.nudgeAt ?? null}, closed_at = ${after.closedAt ?? null}, updated_at = ${at}`,
  ];
  if (before.claim !== after.claim) {
    const { workerId = null, leaseUntil = null } = after.claim ?? {};
    columns.push(Prisma.sql`worker_id = ${workerId}, lease_until = ${leaseUntil}`);
  }
  if (!STATES_WITH_INPUT.has(after.state)) {
    columns.push(Prisma.sql`sealed_input = NULL, sealed_input_key_id = NULL`);
  }

  const parts = [
    Prisma.sql`changed AS (
      UPDATE orders SET ${Prisma.join(columns)} WHERE id = ${before.id} AND version = ${before.version}
      RETURNING id
    )`,
    insertEvents(log),
  ];
  if (items.length > 0) {
    parts.push(Prisma.sql`kept_items AS (
      UPDATE order_items AS kept SET state = i.state, open_key = i.open_key, attempts = i.attempts,
        not_before = i.not_before, sent_at = i.sent_at, answered_at = i.answered_at, result = i.result
      FROM changed, ${itemRows(after, items)}
      WHERE kept.order_id = changed.id AND kept.n = i.n
    )`);
  }
  if (approvals.length > 0) {
    const rows = JSON.stringify(approvals.map(({ userId, at }) => ({ user_id: userId, at })));
    parts.push(Prisma.sql`kept_approvals AS (
      INSERT INTO approvals (order_id, user_id, at)
      SELECT changed.id, a.user_id, a.at
      FROM changed, jsonb_to_recordset(${rows}::jsonb) AS a(user_id text, at timestamptz)
    )`);
  }
  if (revealable !== undefined) {
    const { n, sealed, expiresAt } = revealable;
    parts.push(Prisma.sql`kept_secret AS (
      INSERT INTO revealable_secrets (order_id, n, sealed, key_id, expires_at)
      SELECT id, ${n}::int, ${sealed.bytes}::bytea, ${sealed.keyId}, ${expiresAt}::timestamptz FROM changed
      ON CONFLICT (order_id, n) DO UPDATE SET sealed = excluded.sealed, key_id = excluded.key_id,
        expires_at = excluded.expires_at, revealed_at = NULL
    )`);
  }
  return Prisma.sql`WITH ${Prisma.join(parts)} SELECT id FROM changed`;
}

/** Answers with a row for each draft that it forgot, with all that belongs to it. */
export function deleteDrafts(now: Date): Prisma.Sql {
  return Prisma.sql`
    WITH gone AS (
      SELECT id FROM orders WHERE state = 'DRAFT' AND expires_at <= ${now} FOR UPDATE SKIP LOCKED
    ), gone_items AS (
      DELETE FROM order_items USING gone WHERE order_id = gone.id
    ), gone_events AS (
      DELETE FROM order_events USING gone WHERE order_id = gone.id
    )
    DELETE FROM orders USING gone WHERE orders.id = gone.id RETURNING orders.id`;
}

/** Answers with what was sealed to exactly one of all who ask, and wipes it. */
export function takeSecret(orderId: string, n: number, now: Date): Prisma.Sql {
  return Prisma.sql`
    WITH kept AS (
      SELECT sealed, key_id FROM revealable_secrets
      WHERE order_id = ${orderId} AND n = ${n} AND sealed IS NOT NULL AND expires_at > ${now}
      FOR UPDATE
    )
    UPDATE revealable_secrets SET sealed = NULL, key_id = NULL, revealed_at = ${now}
    FROM kept WHERE order_id = ${orderId} AND n = ${n}
    RETURNING kept.sealed, kept.key_id`;
}

/** The last part of a `FROM`: items as rows of `i`. */
function itemRows(order: Order, items: readonly OrderItem[]): Prisma.Sql {
  const rows = items.map((item) => ({
    n: item.n,
    name: item.name,
    ctid: item.ctid,
    state: item.state,
    attempts: item.attempts,
    not_before: item.notBefore,
    sent_at: item.sentAt,
    answered_at: item.answeredAt,
    result: item.result,
    open_key: isOpen(order.state) ? openKey(order, item) : undefined,
  }));
  return Prisma.sql`jsonb_to_recordset(${storableJson(rows)}::jsonb) AS i(
    n int, name text, ctid text, state text, attempts int, not_before timestamptz, sent_at timestamptz,
    answered_at timestamptz, result jsonb, open_key text
  )`;
}

/** A part of a `WITH`: the lines of the audit log, in their order. */
function insertEvents(log: readonly LogEntry[]): Prisma.Sql {
  return Prisma.sql`kept_events AS (
      INSERT INTO order_events (order_id, version, at, actor, kind, state, detail)
      SELECT changed.id, e.version, e.at, e.actor, e.kind, e.state, e.detail
      FROM changed, ROWS FROM (jsonb_to_recordset(${storableJson(log)}::jsonb) AS (
        version int, at timestamptz, actor text, kind text, state text, detail jsonb
      )) WITH ORDINALITY AS e(version, at, actor, kind, state, detail, position)
      ORDER BY e.position
    )`;
}

/**
 * JSON that PostgreSQL keeps. It cannot hold NUL and lone surrogates, which a service's answer may bring: they
 * become U+FFFD, for an outcome that could not be kept would be lost.
 */
function storableJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' ? part.replace(/[\0\p{Surrogate}]/gu, '\uFFFD') : part,
  );
}
