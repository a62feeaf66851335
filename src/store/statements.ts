import type { Sealed } from '../accounts/vault.ts';
import { FARTHEST_MS } from '../orders/clock.ts';
import { DUE_LANES, dueAt, notificationDueAt } from '../orders/due.ts';
import { isOpen, type Order, type OrderItem, type OrderState } from '../orders/order.ts';
import type { DueLane, OrderCommit, OrderCreation } from '../orders/ports.ts';
import type { WebhookEvent } from '../outbox/webhooks/messages.ts';
import { storableJson } from './columns.ts';
import { Prisma, type Statement } from './database.ts';
import { eventsOf, insertEvents, keptEvents } from './events.ts';
import { isLeaseOver, leaseOf } from './leases.ts';
import { insertPlans } from './notifications.ts';
import { insertReservations } from './reservations.ts';
import { LOG_POSITION } from './session-settings.ts';
import { queueWebhooks } from './webhooks.ts';

/*
 * Changing orders: all changes of a moment are one SQL statement, and so one round trip and one transaction. Calls of
 * Prisma for each table would take much more processor time.
 */

/** The states in which the sealed input may still be sent; in all others it is wiped. */
const STATES_WITH_INPUT: ReadonlySet<OrderState> = new Set(['DRAFT', 'PENDING', 'APPROVED', 'EXECUTING']);

/** Whether an item holds its task and name: while its order is open, unless it was stopped and is free again. */
function holdsKey(order: Order, item: OrderItem): boolean {
  return isOpen(order.state) && !(item.state === 'FAILED' && item.result?.stoppedBy !== undefined);
}

/** The key that an item holds while its order is open. It is unique, so that a task and name have one open order. */
export function openKey(task: string, name: string): string {
  return `${task}:${name}`;
}

/**
 * Inserts a new order, or one that the database has lost. Answers with a row, or fails by a unique key that another order
 * holds. All orders take their open keys in the same sequence, so that two orders for the same names cannot deadlock.
 */
export function insertOrder({
  order,
  sealedInput,
  log,
  sealedItems = new Map(),
  reservation,
}: OrderCreation): Statement {
  const names = order.items.map((item) => item.name);
  const at = log.at(-1)?.at ?? order.createdAt;
  const events = eventsOf(order.id, log);
  // Nobody was asked for anything yet. A draft that is forgotten leaves nothing in the log.
  const isDraft = order.state === 'DRAFT';
  return Prisma.sql`
    WITH changed AS (
      INSERT INTO orders (
        id, task, state, version, requester_id, account_id, account_login, account_method,
        uses_team_account, context, names, input, statement_hash, secret_hash, sealed_input, sealed_input_key_id, reason, channel_id, thread_ts,
        approvals_required, policy_version, demand, retry_of, earlier_requesters, delivery_id, expires_at, remind_at,
        escalate_at, is_private, emergency_approved_by, signed_off_by, created_at, updated_at, due_at, bulk, draft_events,
        mandate_id, send_after, mandate_end
      ) VALUES (
        ${order.id}, ${order.task}, ${order.state}, ${order.version}, ${order.requesterId},
        ${order.account.id}, ${order.account.login}, ${order.account.method},
        ${order.account.isTeamAccount ?? false}, ${order.account.context ?? null}, ${names}, ${JSON.stringify(order.input ?? null)}::jsonb, ${order.statementHash}, ${order.secretHash ?? null},
        ${sealedInput?.bytes ?? null}, ${sealedInput?.keyId ?? null}, ${order.reason ?? null},
        ${order.channelId}, ${order.threadTs ?? null}, ${order.approvalsRequired},
        ${order.policyVersion}, ${JSON.stringify(order.demand)}::jsonb,
        ${order.retryOf ?? null}, ${[...order.earlierRequesters]}, ${order.deliveryId}, ${order.expiresAt ?? null},
        ${order.remindAt ?? null}, ${order.escalateAt ?? null}, ${order.isPrivate}, ${order.emergencyApprovedBy ?? null},
        ${order.signedOffBy ?? null}, ${order.createdAt}, ${order.createdAt}, ${dueAt(order, at) ?? null},
        ${order.bulk === undefined ? null : JSON.stringify(order.bulk)}::jsonb,
        ${isDraft ? keptEvents(events) : null}::jsonb, ${order.mandated?.id ?? null}, ${order.mandated?.sendAfter ?? null},
        ${order.mandateEnd === undefined ? null : JSON.stringify(order.mandateEnd)}::jsonb
      ) RETURNING id, team_id
    ), plans AS (
      ${insertPlans(Prisma.sql`
        SELECT team_id, 'order'::text AS subject_kind, id AS subject_id,
          ${notificationDueAt(order, at) ?? null}::timestamptz AS due_at FROM changed`)}
    ), kept_items AS (
      INSERT INTO order_items (
        order_id, n, name, client_tid, state, open_key, attempts, not_before, sent_at, answered_at, result, input,
        secret_hash, sealed_input, sealed_input_key_id
      )
      SELECT changed.id, i.n, i.name, i.ctid, i.state, ${OPEN_KEY}, i.attempts, i.not_before, i.sent_at,
        i.answered_at, i.result, own.input, own.secret_hash, decode(own.sealed, 'base64'), own.key_id
      FROM changed JOIN ${asItems(itemRows(order, order.items))}
        ON i.order_id = changed.id
      LEFT JOIN jsonb_to_recordset(${storableJson(ownInputRows(order, sealedItems))}::jsonb)
        AS own (n int, input jsonb, secret_hash text, sealed text, key_id text) ON own.n = i.n
      ORDER BY i.open_key
    ), kept_events AS (${insertEvents(isDraft ? [] : events, { where: OF_CHANGED })}),
    ${insertApprovals(approvalRows(order.id, order.approvals))},
    ${insertReservations(reservation === undefined ? [] : [{ orderId: order.id, reservation }])}${tellOfUnknown([order], at)}
    SELECT id FROM changed`;
}

/**
 * Commits changes of different orders. Answers with a row for each, except for those that somebody else has changed
 * since they were read, and with the end of the server's log. Only the columns that a transition can change are
 * written. A change ends the order's lease; a change by its worker extends it. Its notifications are due since the first
 * change that they do not show; while Slack is away, no change brings the next try forward.
 * @throws when a change has no line in the audit log
 */
export function updateOrders(commits: readonly OrderCommit[]): Statement {
  const orders = commits.map(orderChangeRow);
  const events = commits.flatMap(({ after, log }) => eventsOf(after.id, log));
  const drafts = commits.flatMap(({ before }) => (before.state === 'DRAFT' ? before.id : []));
  const kept = Prisma.sql`COALESCE((
    SELECT jsonb_agg(d.event ORDER BY o.id, d.position)
    FROM orders o, jsonb_array_elements(o.draft_events) WITH ORDINALITY AS d (event, position)
    WHERE o.id = ANY(${drafts})), '[]')`;
  const items = commits.flatMap(({ before, after }) => itemRows(after, changedItems(before, after)));
  const approvals = commits.flatMap(({ before, after }) =>
    approvalRows(
      after.id,
      after.approvals.filter((approval) => !before.approvals.includes(approval)),
    ),
  );
  const secrets = commits.flatMap(secretRows);
  const at = orders.reduce(
    (latest, { updated_at }) => (updated_at > latest ? updated_at : latest),
    new Date(0),
  );
  const answers = commits.flatMap(answerRows);
  const reservations = commits.flatMap(({ after, reservation, mandated }) => {
    // Of an order of a mandate the day counts on which it is sent.
    const reserved = mandated?.reservation ?? (after.state === 'APPROVED' ? reservation : undefined);
    return reserved === undefined ? [] : [{ orderId: after.id, reservation: reserved }];
  });
  return Prisma.sql`
      WITH changed AS (
        UPDATE orders SET state = c.state, version = c.version, expires_at = c.expires_at, remind_at = c.remind_at,
          approvals_required = COALESCE(c.approvals_required, orders.approvals_required),
          policy_version = COALESCE(c.policy_version, orders.policy_version),
          demand = COALESCE(c.demand, orders.demand),
          emergency_approved_by = COALESCE(c.emergency_approved_by, orders.emergency_approved_by),
          signed_off_by = COALESCE(c.signed_off_by, orders.signed_off_by), escalate_at = c.escalate_at,
          closed_at = c.closed_at, updated_at = c.updated_at, due_at = c.due_at, failed_attempts = 0,
          worker_id = c.worker_id,
          lease_until = CASE WHEN c.worker_id IS NOT NULL
            THEN COALESCE(now() + c.lease_ms * interval '1 ms', orders.lease_until) END,
          sealed_input = CASE WHEN c.keeps_input THEN sealed_input END,
          sealed_input_key_id = CASE WHEN c.keeps_input THEN sealed_input_key_id END,
          bulk = COALESCE(c.bulk, orders.bulk), draft_events = NULL,
          mandate_end = COALESCE(c.mandate_end, orders.mandate_end)
        FROM jsonb_to_recordset(${JSON.stringify(orders)}::jsonb) AS c (
          id text, was int, was_state text, was_worker text, version int, state text, expires_at timestamptz,
          remind_at timestamptz, escalate_at timestamptz, approvals_required int, policy_version int, demand jsonb,
          emergency_approved_by text, signed_off_by text, closed_at timestamptz, updated_at timestamptz, due_at timestamptz,
          notify_at timestamptz, worker_id text, lease_ms float8, keeps_input boolean, bulk jsonb, mandate_end jsonb)
        WHERE orders.id = ANY(${orders.map(({ id }) => id)}) AND orders.id = c.id AND orders.version = c.was
          AND orders.state = c.was_state AND orders.worker_id IS NOT DISTINCT FROM c.was_worker
        RETURNING orders.id, orders.team_id, c.notify_at
      ), plans AS (
        UPDATE notifications n SET version = n.version + 1, is_background = false,
          due_at = CASE WHEN n.attempts > 0 THEN GREATEST(n.due_at, notify_at) ELSE LEAST(n.due_at, notify_at) END
        FROM changed WHERE n.team_id = changed.team_id AND n.subject_kind = 'order' AND n.subject_id = changed.id
          AND n.purpose = 'plan'
      ), kept_events AS (${insertEvents(events, { where: OF_CHANGED, kept })}), kept_items AS (
        UPDATE order_items AS kept SET state = i.state, open_key = ${OPEN_KEY}, attempts = i.attempts,
          not_before = i.not_before, sent_at = i.sent_at, answered_at = i.answered_at, result = i.result,
          sealed_input = CASE WHEN i.keeps_input THEN kept.sealed_input END,
          sealed_input_key_id = CASE WHEN i.keeps_input THEN kept.sealed_input_key_id END
        FROM changed JOIN ${asItems(items)} ON i.order_id = changed.id
        WHERE kept.order_id = i.order_id AND kept.n = i.n
      ), ${insertApprovals(approvals)}, ${insertReservations(reservations)}, kept_answers AS (
        INSERT INTO order_answers (order_id, n, version, at, answer)
        SELECT changed.id, a.n, a.version, a.at, a.answer::json
        FROM changed JOIN jsonb_to_recordset(${JSON.stringify(answers)}::jsonb)
          AS a (order_id text, n int, version int, at timestamptz, answer text) ON a.order_id = changed.id
      ), kept_secrets AS (
        INSERT INTO revealable_secrets (order_id, n, sealed, key_id, expires_at)
        SELECT changed.id, s.n, decode(s.sealed, 'base64'), s.key_id, s.expires_at
        FROM changed JOIN jsonb_to_recordset(${JSON.stringify(secrets)}::jsonb)
          AS s (order_id text, n int, sealed text, key_id text, expires_at timestamptz) ON s.order_id = changed.id
        ON CONFLICT (order_id, n) DO UPDATE SET sealed = excluded.sealed, key_id = excluded.key_id,
          expires_at = excluded.expires_at, revealed_at = NULL
      )${tellOfUnknown(
        commits.filter(({ before }) => before.state !== 'UNKNOWN').map(({ after }) => after),
        at,
      )}
      SELECT id, (SELECT ${Prisma.raw(LOG_POSITION)}) AS position FROM changed`;
}

/** Parts of a `WITH` that tell besides Slack of orders whose outcome is not known any more; nothing for all others. */
function tellOfUnknown(orders: readonly Order[], at: Date): Prisma.Sql {
  const unknown = orders.filter(({ state }) => state === 'UNKNOWN');
  if (unknown.length === 0) return Prisma.empty;
  const events = unknown.map(
    ({ id, task, items, isPrivate }): WebhookEvent => ({
      type: 'order.unknown',
      at,
      data: {
        order_id: id,
        code: 'unknown',
        task,
        ...(isPrivate ? {} : { names: items.map(({ name }) => name) }),
      },
    }),
  );
  return Prisma.sql`, ${queueWebhooks(events, { where: Prisma.sql`w.subject IN (SELECT 'order:' || id FROM changed)` })}`;
}

/**
 * A change of an order as a row of `c`.
 * @throws when the change has no line in the audit log
 */
function orderChangeRow({ before, after, log, leaseMs }: OrderCommit) {
  const at = log.at(-1)?.at;
  if (at === undefined) throw new Error('a change needs a line in the audit log');
  return {
    id: before.id,
    was: before.version,
    was_state: before.state,
    was_worker: before.claim?.workerId,
    version: after.version,
    state: after.state,
    expires_at: after.expiresAt,
    remind_at: after.remindAt,
    escalate_at: after.escalateAt,
    closed_at: after.closedAt,
    // Decided when it is asked for, and again when it is confirmed.
    ...(after.demand === before.demand
      ? {}
      : {
          approvals_required: after.approvalsRequired,
          policy_version: after.policyVersion,
          demand: after.demand,
        }),
    emergency_approved_by: after.emergencyApprovedBy,
    signed_off_by: after.signedOffBy,
    updated_at: at,
    worker_id: after.claim?.workerId,
    lease_ms: leaseMs,
    due_at: dueAt(after, at),
    notify_at: notificationDueAt(after, at),
    keeps_input: STATES_WITH_INPUT.has(after.state),
    bulk: after.bulk === before.bulk ? undefined : after.bulk,
    mandate_end: after.mandateEnd,
  };
}

/** The items that a change has to write: all of them when the order opens or closes, because of their open keys. */
function changedItems(before: Order, after: Order): readonly OrderItem[] {
  const opensOrCloses = isOpen(before.state) !== isOpen(after.state);
  // A draft that ends has items with secrets that nothing else changes.
  const wipes =
    after.bulk !== undefined && STATES_WITH_INPUT.has(before.state) && !STATES_WITH_INPUT.has(after.state);
  return after.items.filter((item, index) => opensOrCloses || wipes || item !== before.items[index]);
}

function secretRows({ after, revealable }: OrderCommit) {
  if (revealable === undefined) return [];
  return {
    order_id: after.id,
    n: revealable.n,
    sealed: Buffer.from(revealable.sealed.bytes).toString('base64'),
    key_id: revealable.sealed.keyId,
    expires_at: revealable.expiresAt,
  };
}

function answerRows({ after, log, answer }: OrderCommit) {
  if (answer === undefined) return [];
  return {
    order_id: after.id,
    n: answer.n,
    version: after.version,
    at: log.at(-1)?.at,
    answer: storableJson(answer.answer),
  };
}

/**
 * Locks an order and all orders that it asks for again, directly or through others, until the transaction ends. Answers
 * with their ids. All such statements lock in the same sequence, so that two of them cannot deadlock.
 */
export function lockRetried(orderId: string): Prisma.Sql {
  return Prisma.sql`
    WITH RECURSIVE retried AS (
      SELECT ${orderId}::text AS id
      UNION
      SELECT o.retry_of FROM retried JOIN orders o ON o.id = retried.id WHERE o.retry_of IS NOT NULL
    )
    SELECT o.id FROM orders o WHERE o.id IN (SELECT id FROM retried) ORDER BY o.id FOR NO KEY UPDATE OF o`;
}

/**
 * Except for orders that wait for people, nothing is due later: a later moment is from a clock that was set back since.
 */
const FARTHEST_DUE_MS: Readonly<Record<DueLane, number>> = {
  deadlines: FARTHEST_MS,
  execution: FARTHEST_MS,
  observation: 2 * 60 * 60_000,
};

/**
 * Claims orders of a lane that are due by `until` and have no lease, or whose lease is over.
 * @param except ids that are not claimed
 */
export function claimDueOrders(
  lane: DueLane,
  until: Date,
  leaseMs: number,
  limit: number,
  except: string[],
): Statement {
  const farthest = new Date(until.getTime() + FARTHEST_DUE_MS[lane]);
  return Prisma.sql`
      WITH due AS (
        SELECT id AS due_id, due_at AS since FROM orders
        WHERE due_at IS NOT NULL AND state IN (${Prisma.raw(DUE_LANES[lane].map((state) => `'${state}'`).join(', '))})
          AND (due_at <= ${until} OR (due_at > ${farthest} AND expires_at IS NULL))
          AND ${isLeaseOver(Prisma.sql`lease_until`)} AND id <> ALL(${except})
        ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ), claimed AS (
        UPDATE orders SET lease_until = ${leaseOf(leaseMs)}, worker_id = NULL FROM due WHERE id = due_id
        RETURNING id, since
      )
      SELECT id FROM claimed ORDER BY since`;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** Puts an order off that has no worker. The pause doubles with each try. */
export function putOffOrder(id: string): Prisma.Sql {
  return Prisma.sql`
    UPDATE orders SET failed_attempts = failed_attempts + 1,
      lease_until = now() + LEAST(${LONGEST_PAUSE_MS}, ${FIRST_PAUSE_MS} * 2 ^ LEAST(failed_attempts, 10)) * interval '1 ms'
    WHERE id = ${id} AND worker_id IS NULL`;
}

/** Ends the lease of an order that has no worker. */
export const endLease = (id: string): Prisma.Sql => Prisma.sql`
    UPDATE orders SET lease_until = NULL WHERE id = ${id} AND worker_id IS NULL`;

/** Sets when an order is due next, unless it has changed, and ends the lease of the process that looked at it. */
export function rescheduleOrder(id: string, version: number, due: Date | undefined): Statement {
  return Prisma.sql`
      UPDATE orders SET due_at = ${due ?? null}, lease_until = NULL, failed_attempts = 0
      WHERE id = ${id} AND version = ${version} AND worker_id IS NULL`;
}

/** Deletes expired drafts with all that belongs to them. Answers with a row for each. */
export function deleteExpiredDrafts(now: Date): Prisma.Sql {
  return deleteDrafts(Prisma.sql`expires_at <= ${now} FOR UPDATE SKIP LOCKED`);
}

export function deleteDraftsOf(requesterId: string): Prisma.Sql {
  return deleteDrafts(Prisma.sql`requester_id = ${requesterId} FOR UPDATE`);
}

/** Deletes a draft that is not asked for after all. */
export function deleteDraft(id: string): Prisma.Sql {
  return deleteDrafts(Prisma.sql`id = ${id} FOR UPDATE`);
}

function deleteDrafts(which: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    WITH gone AS (
      SELECT id, team_id FROM orders WHERE state = 'DRAFT' AND ${which}
    ), gone_items AS (
      DELETE FROM order_items USING gone WHERE order_id = gone.id
    ), gone_notifications AS (
      DELETE FROM notifications n USING gone
      WHERE n.team_id = gone.team_id AND n.subject_kind = 'order' AND n.subject_id = gone.id
    )
    DELETE FROM orders USING gone WHERE orders.id = gone.id RETURNING orders.id`;
}

/** Wipes a secret and answers with it. Of several that ask at once, exactly one gets it. */
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

/** Wipes secrets that nobody has been shown. Answers with a row for each. @param which of them */
export function wipeSecrets(which: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    UPDATE revealable_secrets SET sealed = NULL, key_id = NULL WHERE sealed IS NOT NULL AND ${which}
    RETURNING order_id AS id`;
}

/** Items as rows of {@link asItems}. */
function itemRows(order: Order, items: readonly OrderItem[]) {
  return items.map((item) => ({
    order_id: order.id,
    n: item.n,
    name: item.name,
    ctid: item.ctid,
    state: item.state,
    attempts: item.attempts,
    not_before: item.notBefore,
    sent_at: item.sentAt,
    answered_at: item.answeredAt,
    result: item.result,
    open_key: holdsKey(order, item) ? openKey(order.task, item.name) : undefined,
    // A draft, or an order that was lost, may turn out to have been sent. Another order may hold the name by then.
    yields: order.state === 'UNKNOWN',
    keeps_input: STATES_WITH_INPUT.has(order.state) && (item.state === 'WAITING' || item.state === 'SENT'),
  }));
}

/** What items ask for themselves, and their secrets: written once, with the order. */
function ownInputRows(order: Order, sealed: ReadonlyMap<number, Sealed>) {
  return order.items.flatMap(({ n, input, secretHash }) => {
    const secret = sealed.get(n);
    if (input === undefined && secretHash === undefined) return [];
    return {
      n,
      input,
      secret_hash: secretHash,
      sealed: secret && Buffer.from(secret.bytes).toString('base64'),
      key_id: secret?.keyId,
    };
  });
}

/** Events of the orders that were changed. */
const OF_CHANGED = Prisma.sql`e."subjectId" IN (SELECT id FROM changed)`;

/** The open key of an item of {@link asItems}; none when it yields to another order that holds it. */
const OPEN_KEY = Prisma.sql`CASE WHEN i.yields AND EXISTS (
  SELECT FROM order_items other WHERE other.open_key = i.open_key AND other.order_id <> i.order_id
) THEN NULL ELSE i.open_key END`;

function approvalRows(orderId: string, approvals: Order['approvals']) {
  return approvals.map(({ userId, at, agreedExcess, signed }) => ({
    order_id: orderId,
    user_id: userId,
    at,
    agreed_excess: agreedExcess,
    signature: signed,
  }));
}

/** A part of a `WITH`: who approved. */
function insertApprovals(approvals: ReturnType<typeof approvalRows>): Prisma.Sql {
  return Prisma.sql`kept_approvals AS (
      INSERT INTO approvals (order_id, user_id, at, agreed_excess, signature)
      SELECT changed.id, a.user_id, a.at, a.agreed_excess, a.signature
      FROM changed JOIN jsonb_to_recordset(${JSON.stringify(approvals)}::jsonb)
        AS a (order_id text, user_id text, at timestamptz, agreed_excess jsonb, signature jsonb) ON a.order_id = changed.id
      ON CONFLICT (order_id, user_id) DO UPDATE SET at = excluded.at, agreed_excess = excluded.agreed_excess,
        signature = excluded.signature
    )`;
}

/** A part of a `FROM`: items as rows of `i`. */
function asItems(items: ReturnType<typeof itemRows>): Prisma.Sql {
  return Prisma.sql`jsonb_to_recordset(${storableJson(items)}::jsonb) AS i(
    order_id text, n int, name text, ctid text, state text, attempts int, not_before timestamptz,
    sent_at timestamptz, answered_at timestamptz, result jsonb, open_key text, yields boolean, keeps_input boolean
  )`;
}
