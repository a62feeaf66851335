import { z } from 'zod';
import { type EventLog, NOTIFIED_EVENT_KINDS, type TeamEvent, teamEventSchema } from '../ledger/events.ts';
import { SEND_LIMITING_EVENT_KINDS } from '../orders/log-limits.ts';
import { DECISION_KINDS, type OrderLogEntry, orderLogEntrySchema } from '../orders/order-events.ts';
import { defineRow, insertRows } from './columns.ts';
import { type Database, Prisma, type RunStatement, type Statement, withStoreError } from './database.ts';
import { orderRow, readOrders, selectOrders, toOrder } from './order-rows.ts';

/*
 * The log. An event is written in the transaction of the change that it records. A trigger prevents later changes.
 */

class UnreadableEventError extends Error {
  override readonly name = 'UnreadableEventError';

  constructor(seq: string, cause: unknown) {
    super(`event ${seq} of the log can’t be read`, { cause });
  }
}

type NewOrderEvent = OrderLogEntry & { readonly subject: { readonly kind: 'order'; readonly id: string } };

function toEventRow({ subject, kind, actor, at, ...data }: TeamEvent | NewOrderEvent) {
  return { subjectKind: subject.kind, subjectId: subject.id, kind, actor, at, data };
}

export function toOrderEvents(orderId: string, log: readonly OrderLogEntry[]): NewOrderEvent[] {
  return log.map((entry) => ({ ...entry, subject: { kind: 'order', id: orderId } }));
}

/** Returns events in the format of the column `draft_events`. */
export function toDraftEvents(events: readonly NewOrderEvent[]) {
  return events.map(toEventRow);
}

/** @param teamId default: the installation's team */
export function insertEvents(
  run: RunStatement,
  events: readonly (TeamEvent | NewOrderEvent)[],
  teamId?: string,
): Promise<unknown> {
  const teamColumn = teamId === undefined ? {} : { teamId };
  return insertRows(
    run,
    'events',
    events.map((event) => ({ ...teamColumn, ...toEventRow(event) })),
    Prisma.sql`RETURNING team_id AS "teamId", seq::text, kind, at`,
  );
}

const insertedRowsSchema = z.array(
  z.object({ teamId: z.string(), seq: z.string(), kind: z.string(), at: z.date() }),
);

/**
 * Writes events in the transaction of the change that they record, and queues notifications for
 * {@link NOTIFIED_EVENT_KINDS}.
 */
export async function insertEventsAndNotify(
  run: RunStatement,
  events: readonly TeamEvent[],
  teamId?: string,
): Promise<void> {
  const insertedRows = insertedRowsSchema.parse(await insertEvents(run, events, teamId));
  const notifiedRows = insertedRows.filter(({ kind }) =>
    NOTIFIED_EVENT_KINDS.some((notifiedKind) => notifiedKind === kind),
  );
  await insertRows(
    run,
    'notifications',
    notifiedRows.map((event) => ({
      teamId: event.teamId,
      ...{ subjectKind: 'event', subjectId: event.seq, purpose: 'plan', version: 1, dueAt: event.at },
    })),
  );
}

/** Writes a draft's events to the log when the draft becomes an order. */
export async function publishDraftEvents(run: RunStatement, orderId: string): Promise<void> {
  await run(Prisma.sql`
    INSERT INTO events (subject_kind, subject_id, kind, actor, at, data)
    SELECT e."subjectKind", e."subjectId", e.kind, e.actor, e.at, e.data
    FROM orders o, ROWS FROM (jsonb_to_recordset(o.draft_events) AS (
      "subjectKind" text, "subjectId" text, kind text, actor text, at timestamptz, data jsonb
    )) WITH ORDINALITY AS e ("subjectKind", "subjectId", kind, actor, at, data, position)
    WHERE o.id = ${orderId} ORDER BY e.position`);
  await run(Prisma.sql`UPDATE orders SET draft_events = NULL WHERE id = ${orderId}`);
}

const compiledOrderLogEntrySchema = z.compile(orderLogEntrySchema);

function parseEvent<Schema extends z.ZodType>(schema: Schema, seq: string, event: unknown): z.output<Schema> {
  const parsed = schema.safeParse(event);
  if (!parsed.success) throw new UnreadableEventError(seq, parsed.error);
  return parsed.data;
}

/** The events of an order, as returned by {@link buildHistoryColumn}. */
export const historyRowsSchema = z.array(z.looseObject({ seq: z.string() }));

/**
 * A column with the events of the order (alias `o`), oldest first. For a draft, these are the events in its row.
 * @param where selects among the events (alias `e`)
 */
export function buildHistoryColumn(where: Prisma.Sql = Prisma.sql`true`): Prisma.Sql {
  return Prisma.sql`
    CASE WHEN o.draft_events IS NULL THEN (
      SELECT coalesce(jsonb_agg(e.data || jsonb_build_object(
        'seq', e.seq::text, 'kind', e.kind, 'actor', e.actor, 'at', e.at) ORDER BY e.seq), '[]')
      FROM events e WHERE e.subject_kind = 'order' AND e.subject_id = o.id AND ${where}
    ) ELSE (
      SELECT jsonb_agg((e.event->'data') || (e.event - 'data') || '{"seq": "of a draft"}' ORDER BY e.position)
      FROM jsonb_array_elements(o.draft_events) WITH ORDINALITY AS e (event, position)
    ) END AS history`;
}

/** Selects the events that limit what items may still send, as rows of `id` and `history`. */
export function selectSendLimitingEvents(
  items: readonly { readonly id: string; readonly n: number }[],
): Prisma.Sql {
  return Prisma.sql`
    SELECT w.id, (
      SELECT coalesce(jsonb_agg(e.data || jsonb_build_object(
        'seq', e.seq::text, 'kind', e.kind, 'actor', e.actor, 'at', e.at) ORDER BY e.seq), '[]')
      FROM events e WHERE e.subject_kind = 'order' AND e.subject_id = w.id AND e.kind IN (${SEND_LIMITING_KINDS_SQL})
        AND coalesce(e.data->>'n', '') = ANY (ARRAY['', w.n::text])
    ) AS history
    FROM jsonb_to_recordset(${JSON.stringify(items)}::jsonb) AS w (id text, n int)`;
}

const SEND_LIMITING_KINDS_SQL = Prisma.raw(SEND_LIMITING_EVENT_KINDS.map((kind) => `'${kind}'`).join(', '));

/** @throws {UnreadableEventError} */
export function parseHistory(rows: z.output<typeof historyRowsSchema>): readonly OrderLogEntry[] {
  return rows.map(({ seq, ...entry }) => parseEvent(compiledOrderLogEntrySchema, seq, entry));
}

/** Rows of `id` and `history`, as pairs. */
export const orderHistoriesSchema = z.array(
  z
    .object({ id: z.string(), history: historyRowsSchema })
    .transform(({ id, history }) => [id, parseHistory(history)] as const),
);

/** Columns of events (alias `e`). */
const eventRow = defineRow(
  z.object({
    seq: z.string(),
    at: z.date(),
    subjectKind: z.string(),
    subjectId: z.string(),
    kind: z.string(),
    actor: z.string(),
    data: z.record(z.string(), z.unknown()),
  }),
  'e.',
  { seq: Prisma.sql`e.seq::text` },
);

function toTeamEvent(row: z.output<typeof eventRow.schema>): TeamEvent {
  const { seq, subjectKind, subjectId, data, ...event } = row;
  return parseEvent(teamEventSchema, seq, {
    ...data,
    ...event,
    subject: { kind: subjectKind, id: subjectId },
  });
}

/** Rows of {@link selectOrderWithHistory}. */
export const orderWithHistorySchema = z.compile(
  z.array(
    orderRow.schema
      .extend({ history: historyRowsSchema })
      .transform((row) => ({ order: toOrder(row), history: parseHistory(row.history) })),
  ),
);

/** Selects an order with its events, oldest first. Leaves out the per-item events of bulk orders. */
export function selectOrderWithHistory(id: string): Statement {
  const eventFilter = Prisma.sql`(o.bulk IS NULL OR e.kind NOT IN ('sending', 'answered'))`;
  return Prisma.sql`SELECT ${orderRow.columns}, ${buildHistoryColumn(eventFilter)} FROM orders o WHERE o.id = ${id}`;
}

/** Events per query. Limits the memory that an export needs. */
const PAGE_SIZE = 500;

export function createEventLog({ run }: Database, teamId: string, pageSize = PAGE_SIZE): EventLog {
  const readPage = (from: Date, to: Date, cursor: { readonly at: Date; readonly seq: string } | undefined) =>
    withStoreError('reading the log', async () => {
      const afterCursor =
        cursor === undefined
          ? Prisma.empty
          : Prisma.sql`AND (at, seq) > (${cursor.at}, ${cursor.seq}::bigint)`;
      const rows = eventRow.read(
        await run(Prisma.sql`
          SELECT ${eventRow.columns} FROM events e
          WHERE team_id = ${teamId} AND subject_kind <> 'forgotten' AND at >= ${cursor?.at ?? from} AND at < ${to} ${afterCursor}
          ORDER BY e.at, e.seq LIMIT ${pageSize}`),
      );
      const orderIds = [
        ...new Set(rows.flatMap(({ subjectKind, subjectId }) => (subjectKind === 'order' ? subjectId : []))),
      ];
      const orders = readOrders(
        await run(selectOrders(Prisma.sql`WHERE o.id = ANY(${orderIds}) AND o.state <> 'DRAFT'`)),
      );
      const decisions = new Map(
        orderHistoriesSchema.parse(
          await run(Prisma.sql`
            SELECT o.id, ${buildHistoryColumn(Prisma.sql`e.kind = ANY(${[...DECISION_KINDS]})`)} FROM orders o
            WHERE o.id = ANY(${orderIds})`),
        ),
      );
      return { rows, orders: new Map(orders.map((order) => [order.id, order])), decisions };
    });

  return {
    find: (seq) =>
      withStoreError('reading an event', async () => {
        const [row] = eventRow.read(
          await run(Prisma.sql`
            SELECT ${eventRow.columns} FROM events e
            WHERE e.seq = ${seq}::bigint AND e.team_id = ${teamId} AND e.subject_kind <> 'order'`),
        );
        return row && toTeamEvent(row);
      }),

    async *read(from, to) {
      for (let cursor: { at: Date; seq: string } | undefined; ; ) {
        const { rows, orders, decisions } = await readPage(from, to, cursor);
        for (const row of rows) {
          const { seq, subjectKind, subjectId, data, ...event } = row;
          const order = orders.get(subjectId);
          if (subjectKind !== 'order') {
            yield { event: toTeamEvent(row) };
          } else if (order !== undefined) {
            const entry = parseEvent(compiledOrderLogEntrySchema, seq, { ...data, ...event });
            yield { order, entry, decisions: decisions.get(subjectId) ?? [] };
          }
        }
        cursor = rows.at(-1);
        if (cursor === undefined || rows.length < pageSize) return;
      }
    },
  };
}
