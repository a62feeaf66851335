import { z } from 'zod';
import type { TeamEvent } from '../ledger/events.ts';
import type { LedgerKeyStore, LedgerStore, SealedBlock, SealedEvent } from '../ledger/ports.ts';
import { hashSeal, type Seal, toEventLine, toForgottenLine } from '../ledger/seal.ts';
import type { WebhookEvent } from '../outbox/webhooks/messages.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import { defineRow, optional, optionalText, toStorableJson } from './columns.ts';
import { type Database, Prisma, withStoreError, wrapStore } from './database.ts';
import { insertEventsAndNotify } from './events.ts';
import { IS_SIGNING_EVENT } from './signing-rows.ts';
import { queueWebhooks } from './webhooks.ts';

/** PostgreSQL's 64-bit integers are returned as text. */
const integerSchema = z.coerce.number().pipe(z.int());
const bytesSchema = z.instanceof(Uint8Array);

const sealRow = defineRow(
  z.object({
    n: z.int(),
    from: integerSchema,
    to: integerSchema,
    root: z.string(),
    prev: z.string(),
    at: z.date(),
    signature: z.string(),
  }),
  '',
  { from: Prisma.sql`"from"`, to: Prisma.sql`"to"` },
);

function readSeals(rows: unknown): Seal[] {
  return sealRow.read(rows).map(({ at, ...seal }) => ({ type: 'seal', ...seal, at: at.toISOString() }));
}

const eventFieldsSchema = z.object({
  at: z.date(),
  subjectKind: z.string(),
  subjectId: z.string(),
  kind: z.string(),
  actor: z.string(),
  data: z.unknown(),
});

const unsealedRow = defineRow(
  eventFieldsSchema.extend({ seq: z.string(), leaf: optional(bytesSchema) }),
  'e.',
  {
    seq: Prisma.sql`e.seq::text`,
    leaf: Prisma.sql`e.forgotten_leaf`,
  },
);

const ledgerEntryRow = defineRow(z.object({ seq: integerSchema, leaf: bytesSchema }), 'l.');
const eventRow = defineRow(
  eventFieldsSchema.extend({
    event: z.string(),
    forgottenAt: optional(z.date()),
    forgottenBy: optionalText,
  }),
  'e.',
  { event: Prisma.sql`e.seq::text` },
);
/** Sealed events. If an event's row was deleted, `event` is null. */
const sealedRowsSchema = z.array(
  z
    .union([
      ledgerEntryRow.schema.extend({ event: z.null() }),
      ledgerEntryRow.schema.extend(eventRow.schema.shape),
    ])
    .transform((entry): SealedEvent => {
      const { seq, leaf } = entry;
      if (entry.event === null) return { seq, leaf, line: undefined };
      const { forgottenAt, forgottenBy: by, at, subjectKind, subjectId, kind, actor, data } = entry;
      if (forgottenAt !== undefined && by !== undefined)
        return { seq, leaf, line: toForgottenLine(seq, { at: forgottenAt, by }, leaf) };
      const subject = { kind: subjectKind, id: subjectId };
      return { seq, leaf, line: toEventLine(seq, { at, kind, subject, actor, data }) };
    }),
);

const anchorRow = defineRow(z.object({ n: z.int(), hash: z.string(), at: z.date() }), 'a.');
const signingRowsSchema = z.tuple([
  z.object({ seqs: z.array(z.int().nullable()), lastSeq: integerSchema, hasMissingEvents: z.boolean() }),
]);
const leavesRowsSchema = z.tuple([z.object({ leaves: bytesSchema })]);
const HASH_BYTES = 32;

const forgottenRowsSchema = z.array(
  z.object({
    data: z.object({ seqs: z.array(z.tuple([z.int(), z.int()])), leaves: z.array(z.string()) }),
  }),
);

/**
 * Merges overlapping ranges.
 * @param ranges sorted by their first number
 */
function mergeRanges(ranges: readonly (readonly [number, number])[]): (readonly [number, number])[] {
  const mergedRanges: [number, number][] = [];
  for (const [from, to] of ranges) {
    const lastRange = mergedRanges.at(-1);
    if (lastRange !== undefined && from <= lastRange[1]) lastRange[1] = Math.max(lastRange[1], to);
    else mergedRanges.push([from, to]);
  }
  return mergedRanges;
}

const MAX_EVENTS_PER_READ = 5_000;
/** Seals are read in batches, so that many small seals take no longer than one large seal. */
const MAX_SEALS_PER_READ = 1_000;
/** The id of the sealer's advisory lock: “LEDG” in ASCII. */
const SEALER_LOCK_ID = 0x4c454447;

function buildAnchorWebhook(seal: Seal, at: Date): WebhookEvent {
  return {
    type: 'seal.created',
    at,
    data: { code: 'sealed', anchor: `${seal.n}:${hashSeal(seal)}`, seal: { ...seal } },
  };
}

const LEDGER_SUBJECT = { kind: 'ledger', id: 'ledger' } as const;

export function createLedgerStore({ run, transaction }: Database, teamId: string): LedgerStore {
  const readSealsWhere = async (where: Prisma.Sql) =>
    readSeals(
      await run(Prisma.sql`SELECT ${sealRow.columns} FROM seals WHERE team_id = ${teamId} AND ${where}`),
    );
  const findNewestSeal = async () => (await readSealsWhere(Prisma.sql`true ORDER BY n DESC LIMIT 1`))[0];
  const readEventsWhere = async (where: Prisma.Sql) =>
    sealedRowsSchema.parse(
      await run(Prisma.sql`
        SELECT ${ledgerEntryRow.columns}, ${eventRow.columns} FROM ledger_entries l LEFT JOIN events e ON e.seq = l.event_seq
        WHERE l.team_id = ${teamId} AND ${where} ORDER BY l.seq`),
    );
  const readAnchors = async (clauses: Prisma.Sql) =>
    anchorRow.read(
      await run(
        Prisma.sql`SELECT ${anchorRow.columns} FROM anchors a WHERE a.team_id = ${teamId} ${clauses}`,
      ),
    );

  /** Reads the next seals whose events fit into one query. */
  async function readNextSeals(lastSealNumber: number, where: Prisma.Sql) {
    const seals = await readSealsWhere(
      Prisma.sql`n > ${lastSealNumber} AND ${where} ORDER BY n LIMIT ${MAX_SEALS_PER_READ}`,
    );
    const [firstSeal] = seals;
    return firstSeal === undefined
      ? []
      : seals.filter(({ to }) => to < firstSeal.from + MAX_EVENTS_PER_READ || to === firstSeal.to);
  }

  async function* readBlocksWhere(where: Prisma.Sql): AsyncGenerator<SealedBlock> {
    for (let lastSealNumber = 0; ; ) {
      const seals = await withStoreError('reading the ledger', () => readNextSeals(lastSealNumber, where));
      const [firstSeal, lastSeal] = [seals[0], seals.at(-1)];
      if (firstSeal === undefined || lastSeal === undefined) return;
      const events = await withStoreError('reading the ledger', () =>
        readEventsWhere(Prisma.sql`l.seq BETWEEN ${firstSeal.from} AND ${lastSeal.to}`),
      );
      let nextIndex = 0;
      for (const seal of seals) {
        // Skips events that have no seal.
        while ((events[nextIndex]?.seq ?? seal.from) < seal.from) nextIndex += 1;
        const startIndex = nextIndex;
        while ((events[nextIndex]?.seq ?? Number.POSITIVE_INFINITY) <= seal.to) nextIndex += 1;
        yield { seal, events: events.slice(startIndex, nextIndex) };
      }
      lastSealNumber = lastSeal.n;
    }
  }

  const logEventIf = (event: TeamEvent, condition: Prisma.Sql) =>
    transaction(async (tx) => {
      const rows = await tx(Prisma.sql`SELECT 1 AS found WHERE ${condition}`);
      if (z.array(z.unknown()).parse(rows).length > 0) await insertEventsAndNotify(tx, [event], teamId);
    });

  const methods = wrapStore<Omit<LedgerStore, 'read'>>('ledger', {
    seal: (limit, buildSeal) =>
      transaction(async (tx) => {
        const [lock] = z
          .array(z.object({ locked: z.boolean() }))
          .parse(
            await tx(
              Prisma.sql`SELECT pg_try_advisory_xact_lock(${SEALER_LOCK_ID}::int, hashtext(${teamId})) AS locked`,
            ),
          );
        if (lock?.locked !== true) return 0;
        const rows = unsealedRow.read(
          await tx(Prisma.sql`
            SELECT ${unsealedRow.columns}
            FROM unsealed_events u JOIN events e ON e.seq = u.event_seq
            WHERE u.team_id = ${teamId} ORDER BY u.event_seq LIMIT ${limit}`),
        );
        if (rows.length === 0) return 0;
        const [lastSeal] = readSeals(
          await tx(
            Prisma.sql`SELECT ${sealRow.columns} FROM seals WHERE team_id = ${teamId} ORDER BY n DESC LIMIT 1`,
          ),
        );
        const { seal, leaves } = buildSeal(
          lastSeal,
          rows.map(({ seq: _, subjectKind: kind, subjectId: id, leaf, ...event }) =>
            leaf === undefined ? { ...event, subject: { kind, id } } : { leaf },
          ),
        );
        const eventSeqs = rows.map(({ seq }) => seq);
        await tx(Prisma.sql`
          WITH entries AS (
            INSERT INTO ledger_entries (team_id, seq, event_seq, leaf)
            SELECT ${teamId}, ${seal.from}::bigint + e.position - 1, e.event_seq, e.leaf
            FROM unnest(${eventSeqs}::bigint[], ${leaves.map((leaf) => Buffer.from(leaf))}::bytea[])
              WITH ORDINALITY AS e (event_seq, leaf, position)
          ), deleted AS (
            DELETE FROM unsealed_events WHERE event_seq = ANY(${eventSeqs}::bigint[])
          )
          INSERT INTO seals (team_id, n, "from", "to", root, prev, at, signature)
          VALUES (${teamId}, ${seal.n}, ${seal.from}, ${seal.to}, ${seal.root}, ${seal.prev}, ${new Date(seal.at)}, ${seal.signature})`);
        return rows.length;
      }),

    findNewestSeal,

    loadUnsealedSeconds: async () =>
      z.tuple([z.object({ seconds: z.number() })]).parse(
        await run(Prisma.sql`
          SELECT coalesce(extract(epoch FROM now() - min(since)), 0)::float8 AS seconds
          FROM unsealed_events WHERE team_id = ${teamId}`),
      )[0].seconds,

    loadSigningBlocks: async () => {
      const [{ seqs, lastSeq, hasMissingEvents }] = signingRowsSchema.parse(
        await run(Prisma.sql`
          SELECT coalesce(json_agg(l.seq ORDER BY e.seq), '[]') AS seqs,
            (SELECT coalesce(max(seq), 0) FROM ledger_entries WHERE team_id = ${teamId}) AS "lastSeq",
            EXISTS (SELECT FROM unsealed_events u WHERE u.team_id = ${teamId}
              AND NOT EXISTS (SELECT FROM events e WHERE e.seq = u.event_seq)) AS "hasMissingEvents"
          FROM events e LEFT JOIN ledger_entries l ON l.event_seq = e.seq
          WHERE e.team_id = ${teamId} AND ${IS_SIGNING_EVENT}`),
      );
      const sealedSeqs = seqs.filter((number) => number !== null);
      const containsSigningEvents = Prisma.sql`n IN (
        SELECT (SELECT s.n FROM seals s WHERE s.team_id = ${teamId} AND s."to" >= number ORDER BY s."to" LIMIT 1)
        FROM unnest(${sealedSeqs}::bigint[]) AS number)`;
      const where = Prisma.sql`("to" >= ${Math.max(0, ...sealedSeqs)} OR ${containsSigningEvents})`;
      return { seqs, lastSeq, hasMissingEvents, blocks: readBlocksWhere(where) };
    },

    listOrderEvents: (orderId) =>
      readEventsWhere(Prisma.sql`e.subject_kind = 'order' AND e.subject_id = ${orderId}`),

    listRevocations: (keys) =>
      readEventsWhere(
        Prisma.sql`e.subject_kind = 'key' AND e.kind = 'key_revoked' AND e.subject_id = ANY(${keys})`,
      ),

    listSeals: (from, to) => readSealsWhere(Prisma.sql`n BETWEEN ${from} AND ${to} ORDER BY n`),

    findSeal: async (seq) => (await readSealsWhere(Prisma.sql`"to" >= ${seq} ORDER BY "to" LIMIT 1`))[0],

    loadLeaves: async ({ from, to }) => {
      // Returned as one value instead of a thousand rows, because a receipt may read many seals.
      const [{ leaves }] = leavesRowsSchema.parse(
        await run(Prisma.sql`
          SELECT coalesce(string_agg(leaf, '' ORDER BY seq), '') AS leaves FROM ledger_entries
          WHERE team_id = ${teamId} AND seq BETWEEN ${from} AND ${to}`),
      );
      return Array.from({ length: leaves.length / HASH_BYTES }, (_, index) =>
        leaves.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES),
      );
    },

    countStrayEvents: async () =>
      z.tuple([z.object({ count: integerSchema })]).parse(
        await run(Prisma.sql`
          SELECT count(*) FROM events e WHERE e.team_id = ${teamId}
            AND NOT EXISTS (SELECT FROM ledger_entries l WHERE l.event_seq = e.seq)
            AND NOT EXISTS (SELECT FROM unsealed_events u WHERE u.event_seq = e.seq)`),
      )[0].count,

    loadForgottenEvents: async () => {
      const rows = forgottenRowsSchema.parse(
        await run(Prisma.sql`
          SELECT data FROM events WHERE team_id = ${teamId} AND subject_kind = 'ledger' AND subject_id = 'events'
            AND kind = 'events_forgotten'`),
      );
      const ranges = rows.flatMap(({ data }) => data.seqs).sort(([a], [b]) => a - b);
      return { seqs: mergeRanges(ranges), leaves: new Set(rows.flatMap(({ data }) => data.leaves)) };
    },

    anchor: async (seal, at) => {
      // Anchors in the future are ignored, because the clock may have been set back.
      const lastAnchorAt = Prisma.sql`coalesce(
        (SELECT max(at) FROM anchors WHERE team_id = ${teamId} AND at <= ${at}::timestamptz),
        (SELECT e.at FROM ledger_entries l JOIN events e ON e.seq = l.event_seq WHERE l.team_id = ${teamId} AND l.seq = 1))`;
      return transaction(async (tx) => {
        const rows = await tx(Prisma.sql`
          INSERT INTO anchors (team_id, n, hash, at) SELECT ${teamId}, ${seal.n}, ${hashSeal(seal)}, ${at}
          WHERE date_trunc('hour', ${at}::timestamptz) > ${lastAnchorAt}
          ON CONFLICT DO NOTHING RETURNING n`);
        if (z.array(z.unknown()).parse(rows).length === 0) return false;
        await tx(Prisma.sql`
          INSERT INTO notifications AS p (team_id, subject_kind, subject_id, purpose, version, due_at)
          VALUES (${teamId}, 'anchors', ${getUtcDay(at)}, 'plan', 1, ${at})
          ON CONFLICT (team_id, subject_kind, subject_id, purpose)
            DO UPDATE SET version = p.version + 1, due_at = LEAST(p.due_at, excluded.due_at)`);
        await queueWebhooks(tx, [buildAnchorWebhook(seal, at)], teamId);
        return true;
      });
    },

    listAnchors: () => readAnchors(Prisma.sql`ORDER BY a.n`),

    findNewestAnchor: async () => (await readAnchors(Prisma.sql`ORDER BY a.n DESC LIMIT 1`))[0],

    listAnchorsBetween: (from, to) =>
      readAnchors(Prisma.sql`AND a.at >= ${from} AND a.at < ${to} ORDER BY a.n`),

    findAnchor: async (n) => (await readAnchors(Prisma.sql`AND a.n >= ${n} ORDER BY a.n LIMIT 1`))[0],

    recordDifferences: (differences, at) =>
      logEventIf(
        { kind: 'ledger_differs', subject: LEDGER_SUBJECT, actor: 'system', at, differences },
        Prisma.sql`${toStorableJson({ differences })}::jsonb IS DISTINCT FROM (
          SELECT data FROM events WHERE subject_kind = 'ledger' AND subject_id = ${LEDGER_SUBJECT.id} AND team_id = ${teamId}
            AND kind = 'ledger_differs' ORDER BY seq DESC LIMIT 1)`,
      ),

    recordRestore: async (takenAt, at) => {
      const newestSeal = await findNewestSeal();
      const data = { takenAt: takenAt.toISOString(), seal: newestSeal?.n ?? 0 };
      await logEventIf(
        { kind: 'database_restored', subject: LEDGER_SUBJECT, actor: 'operator', at, ...data },
        Prisma.sql`true`,
      );
      return newestSeal;
    },

    recordSealingStalled: (at) =>
      logEventIf(
        { kind: 'sealing_stalled', subject: LEDGER_SUBJECT, actor: 'system', at },
        Prisma.sql`NOT EXISTS (
          SELECT FROM unsealed_events u JOIN events s ON s.seq = u.event_seq
          WHERE u.team_id = ${teamId} AND s.kind = 'sealing_stalled')`,
      ),
  });
  return {
    ...methods,
    read: (period) =>
      readBlocksWhere(
        period === undefined ? Prisma.sql`true` : Prisma.sql`at >= ${period.from} AND at < ${period.to}`,
      ),
  };
}

export async function listLedgerTeamIds({ run }: Database): Promise<readonly string[]> {
  const rows = await run(Prisma.sql`SELECT DISTINCT team_id AS "teamId" FROM seals`);
  return z
    .array(z.object({ teamId: z.string() }))
    .parse(rows)
    .map(({ teamId }) => teamId);
}

export function createLedgerKeyStore({ prisma }: Database, teamId: string): LedgerKeyStore {
  return wrapStore('ledgerKey', {
    find: async () => {
      const row = await prisma.ledgerKey.findUnique({ where: { teamId } });
      return row === null ? undefined : { keyId: row.keyId, bytes: row.sealed };
    },

    add: async ({ keyId, bytes: sealed }) => {
      await prisma.ledgerKey.createMany({ data: [{ teamId, sealed, keyId }], skipDuplicates: true });
    },

    replace: async ({ keyId, bytes: sealed }) => {
      await prisma.ledgerKey.updateMany({ where: { teamId }, data: { sealed, keyId } });
    },
  });
}
