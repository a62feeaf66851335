import { z } from 'zod';
import { MINUTE_MS } from '../lib/duration.ts';
import type { Heartbeat, HeartbeatReading } from '../orders/restore-guard.ts';
import { optional } from './columns.ts';
import { type Database, DatabaseUnverifiedError, Prisma, wrapStore } from './database.ts';
import { SERVER_ID_SQL } from './session-settings.ts';

const HEARTBEAT_ID = 1;
/** A process that writes nothing for this long, while others do, counts as killed. */
const SILENCE_MS = MINUTE_MS;

const SERVER_ID = Prisma.raw(SERVER_ID_SQL);

export function createHeartbeat({ run, server }: Database): Heartbeat {
  return {
    ...wrapStore<Pick<Heartbeat, 'read' | 'write' | 'verify'>>('heartbeat', {
      read: async () => {
        const [{ checkpoint, ...reading }] = readingRowsSchema.parse(await run(SELECT_READING));
        return { ...reading, isBehind: server.isBehind(reading.server, checkpoint) };
      },

      write: async ({ at, reading, processId, isLast }) => {
        const [row] = beatRowsSchema.parse(await run(upsertBeat(at, reading, processId, isLast)));
        if (row === undefined) throw new DatabaseUnverifiedError();
        return row.beat;
      },

      verify: async (reading) => server.markVerified(reading.server, reading.position),
    }),

    suspend: () => server.suspend(),

    onUnverifiedServer: (listener) => server.onUnverifiedServer(listener),
  };
}

/**
 * The timeline is read from the WAL, because the last checkpoint's timeline is outdated for a while after a
 * promotion. A server writes a checkpoint at each clean stop and at each start after a crash, so the last
 * checkpoint shows where the WAL ended when the server last stopped.
 */
const SELECT_READING = Prisma.sql`
  SELECT
    concat_ws('/', s.system_identifier, d.oid,
      ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int) AS database,
    ${SERVER_ID} AS server, pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::float8 AS position,
    pg_wal_lsn_diff(c.checkpoint_lsn, '0/0')::float8 AS checkpoint,
    CASE WHEN h.id IS NOT NULL THEN json_build_object(
      'seenAt', h.seen_at, 'database', h.database, 'server', h.server, 'count', h.beat,
      'isOriginal', coalesce(h.xact_id::numeric % 4294967296 = h.xmin::text::numeric, true),
      'activeProcesses', ARRAY(SELECT jsonb_object_keys(h.at_work)), 'version', h.xmin::text
    ) END AS last
  FROM pg_control_system() s CROSS JOIN pg_control_checkpoint() c
    JOIN pg_database d ON d.datname = current_database()
    LEFT JOIN heartbeats h ON h.id = ${HEARTBEAT_ID}`;

const readingRowsSchema = z.tuple([
  z.object({
    database: z.string(),
    server: z.string(),
    position: z.number(),
    checkpoint: z.number(),
    last: optional(
      z.object({
        seenAt: z.coerce.date(),
        database: z.string(),
        server: z.string(),
        count: z.number(),
        isOriginal: z.boolean(),
        activeProcesses: z.array(z.string()),
        version: z.string(),
      }),
    ),
  }),
]);

/** Returns the new `beat`, or no row if the heartbeat or the server has changed since the reading. */
function upsertBeat(at: Date, reading: HeartbeatReading, processId: string, isLast: boolean): Prisma.Sql {
  const ownEntry = isLast ? {} : { [processId]: at };
  return Prisma.sql`
    INSERT INTO heartbeats AS h (id, seen_at, database, server, beat, xact_id, at_work)
    VALUES (${HEARTBEAT_ID}, ${at}, ${reading.database}, ${reading.server}, 1, pg_current_xact_id()::text, ${JSON.stringify(ownEntry)}::jsonb)
    ON CONFLICT (id) DO UPDATE SET
      seen_at = excluded.seen_at, database = excluded.database, server = excluded.server, beat = h.beat + 1,
      xact_id = excluded.xact_id,
      at_work = excluded.at_work || (
        SELECT coalesce(jsonb_object_agg(other.key, other.value), '{}') FROM jsonb_each_text(h.at_work) other
        WHERE other.key <> ${processId} AND other.value::timestamptz > ${new Date(at.getTime() - SILENCE_MS)}
      )
    WHERE excluded.server = ${SERVER_ID} AND h.xmin::text = ${reading.last?.version ?? null}
    RETURNING beat`;
}

const beatRowsSchema = z.array(z.object({ beat: z.number() })).max(1);
